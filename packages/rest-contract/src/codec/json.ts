import { Unreadable } from '../raw/failures.js';
import type { Json } from './codec.js';
import { revive } from './revive.js';
import {
  isPromise,
  keysOf,
  type SchemaIssue,
  type SchemaResult,
  type StandardSchema,
  unreadable,
  validate,
} from './standard-schema.js';

/** Rounds of reviving: a union may complain about a date only once its other members are ruled out. */
const ROUNDS = 3;

/** Reads a value by its schema: as it stands, else with dates and bigints read where the schema wants them. */
export function readJson(schema: StandardSchema, raw: unknown): unknown {
  const result = validate(schema, raw);
  return isPromise(result)
    ? result.then((settled) => settle(schema, raw, settled, []))
    : settle(schema, raw, result, []);
}

function settle(
  schema: StandardSchema,
  raw: unknown,
  result: SchemaResult<unknown>,
  first: ReadonlyArray<SchemaIssue>,
  rounds = ROUNDS,
): unknown {
  if (!result.issues) return result.value;
  const reported = first.length > 0 ? first : result.issues;
  const revived = rounds > 0 ? revive(raw, result.issues) : undefined;
  if (!revived)
    throw unreadable(result.issues.map((issue) => reported.find((before) => isSameComplaint(before, issue)) ?? issue));
  const next = validate(schema, revived.value);
  return isPromise(next)
    ? next.then((settled) => settle(schema, revived.value, settled, reported, rounds - 1))
    : settle(schema, revived.value, next, reported, rounds - 1);
}

/**
 * True when the same rule is broken at the same place before and after a reading that did not help: then the message is
 * about the value that was sent. Libraries call the rule `code` or `type`.
 */
function isSameComplaint(before: SchemaIssue, after: SchemaIssue): boolean {
  const rule = (issue: SchemaIssue & { code?: unknown; type?: unknown }) => issue.code ?? issue.type;
  return rule(before) === rule(after) && keysOf(before).join('.') === keysOf(after).join('.');
}

/** JSON text of a value. A bigint is a number while that loses nothing, else text; undefined members are left out. */
export function writeJson(value: unknown): string {
  const text = stringify(value);
  // Only a text with a null in it can have lost a number.
  if (text.includes('null')) JSON.stringify(value, withoutLoss);
  return text;
}

function stringify(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'null';
  } catch (cause) {
    // Only a bigint makes a second try worth it: a circular value fails again.
    if (!(cause instanceof TypeError)) throw cause;
    return JSON.stringify(value, withoutBigInt) ?? 'null';
  }
}

/** Value as readers of its JSON see it. */
export const toJson = (value: unknown): Json => JSON.parse(writeJson(value)) as Json;

const withoutBigInt = (_key: string, value: unknown) => (typeof value === 'bigint' ? bigintToJson(value) : value);

function withoutLoss(_key: string, value: unknown): unknown {
  checkJsonNumber(value);
  return typeof value === 'bigint' ? null : value;
}

const bigintToJson = (value: bigint): number | string =>
  value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : String(value);

/** JSON has no NaN and no infinity: JSON.stringify would send null in their place. */
export function checkJsonNumber(value: unknown): void {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new TypeError(`${value} cannot be sent as JSON`);
}

export function parseJson(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    // The parser's own message quotes the input and differs between versions of the platform.
    throw new Unreadable('is not valid JSON');
  }
}
