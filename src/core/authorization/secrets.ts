/** Stands where a value was. */
export const secretMask = '********';

/** Members that map names of environment variables to their values. */
const maps = new Set(['env', 'envOverrides']);
/** Members that hold one such map per instance. */
const mapsByInstance = new Set(['taskEnv']);
/** Members that list variables as {name, value}. */
const lists = new Set(['variables']);

type Members = Readonly<Record<string, unknown>>;
/** Not what writes itself as something else than its members, such as a date. */
const isRecord = (value: unknown): value is Members =>
  value !== null && typeof value === 'object' && !Array.isArray(value) && !('toJSON' in value);

/**
 * The same answer without the values of environment variables whose names contain one of these words, in capital or small
 * letters. Parts without any are handed over as they are.
 */
export function maskSecrets(answer: unknown, words: readonly string[]): unknown {
  const lower = words.map((word) => word.toLowerCase());
  const isSecret = (name: unknown): boolean =>
    typeof name === 'string' && lower.some((word) => name.toLowerCase().includes(word));

  const maskMap = (map: unknown): unknown =>
    isRecord(map) ? mapValues(map, (value, name) => (isSecret(name) ? secretMask : value)) : map;
  const maskList = (list: unknown): unknown =>
    Array.isArray(list)
      ? list.map((entry: unknown) =>
          isRecord(entry) && isSecret(entry['name']) ? { ...entry, value: secretMask } : entry,
        )
      : list;
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk);
    if (!isRecord(value)) return value;
    return mapValues(value, (member, name) => {
      if (maps.has(name)) return maskMap(member);
      if (mapsByInstance.has(name)) return isRecord(member) ? mapValues(member, maskMap) : member;
      return lists.has(name) ? maskList(member) : walk(member);
    });
  };
  return words.length === 0 ? answer : walk(answer);
}

const mapValues = (record: Members, change: (value: unknown, name: string) => unknown): Members =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value, name)]));
