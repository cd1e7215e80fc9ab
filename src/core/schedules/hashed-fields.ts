import { textHash } from '../text-hash.js';

/** Names and values of the fields of a cron expression with seconds; the days of a month are those that each month has. */
const fields = [
  { name: 'seconds', first: 0, last: 59 },
  { name: 'minutes', first: 0, last: 59 },
  { name: 'hours', first: 0, last: 23 },
  { name: 'day of month', first: 1, last: 28 },
  { name: 'month', first: 1, last: 12 },
  { name: 'day of week', first: 0, last: 6 },
] as const;

const hashed = /^H(?:\((\d{1,2})-(\d{1,2})\))?(?:\/(\d{1,2}))?$/i;

/** Whether a field has an `H` in the place of a value. */
export const hasHash = (field: string): boolean => field.split(',').some((item) => /^H(?![A-Z])/i.test(item));

/**
 * The six fields with each `H` replaced by a value that depends on the id of the request: `H` is one value of the field, `H(9-17)`
 * one of these, `H/15` each 15th from one of the first 15 on.
 */
export function resolveHashes(given: readonly string[], id: string | undefined): string[] | { error: string } {
  const resolved: string[] = [];
  for (const [index, field] of given.entries()) {
    if (!hasHash(field)) {
      resolved.push(field);
      continue;
    }
    if (id === undefined) return { error: `'H' in '${field}' stands for a value by the id of the request: say its id` };
    const items = field.split(',').map((item) => (hasHash(item) ? resolveItem(item, index, id) : item));
    if (items.includes(undefined)) {
      const { name, first, last } = fields[index]!;
      return {
        error: `${name}: cannot read '${field}': H, H(${first}-${last}), H/5 or H(${first}-${last})/5, within ${first} to ${last}`,
      };
    }
    resolved.push(items.join(','));
  }
  return resolved;
}

function resolveItem(item: string, index: number, id: string): string | undefined {
  const match = hashed.exec(item);
  if (!match) return undefined;
  const { name, first, last } = fields[index]!;
  const from = match[1] === undefined ? first : Number(match[1]);
  const to = match[2] === undefined ? last : Number(match[2]);
  const values = to - from + 1;
  if (from < first || to > last || values < 1) return undefined;
  const key = `${id} ${name}`;
  if (match[3] === undefined) return String(from + (textHash(key) % values));
  const step = Number(match[3]);
  if (step < 1 || step > values) return undefined;
  const start = from + (textHash(key) % step);
  return start === to ? String(start) : `${start}-${to}/${step}`;
}
