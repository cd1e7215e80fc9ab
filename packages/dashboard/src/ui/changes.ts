import type { FieldChange } from 'muster-client';

/** Members that are others by nature in each version. */
const ownOfEach = new Set(['id', 'timestamp', 'user', 'version']);

/** Field by field what is another in the second document. Lists are compared as a whole. */
export function changesBetween(from: unknown, to: unknown, path = ''): FieldChange[] {
  if (!isRecord(from) || !isRecord(to))
    return JSON.stringify(from) === JSON.stringify(to) ? [] : [{ path, from, to } as FieldChange];
  const names = [...new Set([...Object.keys(from), ...Object.keys(to)])].sort();
  return names
    .filter((name) => path !== '' || !ownOfEach.has(name))
    .flatMap((name) => changesBetween(from[name], to[name], path === '' ? name : `${path}.${name}`));
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
