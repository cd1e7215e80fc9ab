import { keysOf, type SchemaIssue } from './standard-schema.js';

// JSON and text have no dates and no bigints. Both travel as text (a small bigint as a number), and come back only where
// the schema said no to what arrived: so a schema for strings keeps its strings, whatever they look like.

const TIMESTAMP = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d))?$/;
const INTEGER = /^-?\d{1,4096}$/;

/** The date or bigint that a raw scalar may stand for, likeliest first. */
export function* readings(raw: unknown): Generator<Date | bigint> {
  if (typeof raw === 'string') {
    if (TIMESTAMP.test(raw)) {
      const date = new Date(raw);
      if (!Number.isNaN(date.getTime())) yield date;
    } else if (INTEGER.test(raw)) yield BigInt(raw);
  } else if (typeof raw === 'number' && Number.isSafeInteger(raw)) {
    // A larger number lost digits when it was parsed: refused rather than wrong.
    yield BigInt(raw);
  }
}

/** A copy of `raw` with every value that an issue points at replaced by its other reading; undefined when none has one. */
export function revive(raw: unknown, issues: ReadonlyArray<SchemaIssue>): { readonly value: unknown } | undefined {
  let root: { value: unknown } | undefined;
  const copies = new Map<unknown, Container>();
  for (const issue of issues) {
    const keys = keysOf(issue);
    const reading = readings(valueAt(raw, keys)).next();
    if (reading.done) continue;
    root ??= { value: raw };
    replaceAt(root, ['value', ...keys], reading.value, copies);
  }
  return root;
}

type Container = Record<PropertyKey, unknown>;

function valueAt(root: unknown, keys: readonly PropertyKey[]): unknown {
  let at = root;
  for (const key of keys) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as Container)[key];
  }
  return at;
}

/** Copies each container on the way once, so the input stays as it was. */
function replaceAt(
  root: { value: unknown },
  keys: readonly PropertyKey[],
  value: unknown,
  copies: Map<unknown, Container>,
): void {
  let at = root as unknown as Container;
  for (const key of keys.slice(0, -1)) {
    const child = at[key];
    let copy = copies.get(child);
    if (!copy) {
      copy = (Array.isArray(child) ? [...child] : { ...(child as Container) }) as Container;
      copies.set(child, copy);
      copies.set(copy, copy);
    }
    at[key] = copy;
    at = copy;
  }
  const last = keys[keys.length - 1];
  if (last !== undefined) at[last] = value;
}
