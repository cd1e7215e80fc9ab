import type { Response } from 'express';

/** JSON is UTF-8 by definition, so its type names no character set, and clients compare the type as a whole. */
export const jsonType = 'application/json';

/** Sends a value past the handlers of the framework, as bytes: Express adds a character set to text. */
export function sendJson(response: Response, value: unknown): void {
  response.setHeader('Content-Type', jsonType);
  response.send(Buffer.from(toJson(value)));
}

/** Members without a value are left out, in answers as in the database. */
export const withoutNulls = (_name: string, value: unknown): unknown => (value === null ? undefined : value);

/** JSON of a record that never changes, each form made when it was first needed. */
interface SerializedJson {
  text?: string;
  bytes?: Buffer;
  /** Names the text for callers who have it already. */
  tag?: string;
}
const written = Symbol('written');

/**
 * Says of a record that nothing of it will ever change: its JSON is written once, alone or within a list. For records that
 * are answered again and again. What is written is a part of the record, which no copy of it has.
 */
export function neverChanges<Value extends object>(record: Value): Value {
  if (!writtenOf(record)) Object.defineProperty(record, written, { value: {} });
  return Object.freeze(record) as Value;
}

/** undefined: it may change, so that nothing is kept of it. */
export const writtenOf = (value: unknown): SerializedJson | undefined =>
  typeof value === 'object' && value !== null ? (value as { [written]?: SerializedJson })[written] : undefined;

const isKept = (value: unknown): value is object => writtenOf(value) !== undefined;

export function toJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return write(value);
  const kept = writtenOf(value);
  if (kept?.text !== undefined) return kept.text;
  const text = isListOfKept(value)
    ? `[${value.map(toJson).join(',')}]`
    : hasKept(value)
      ? byMember(value)
      : write(value);
  if (kept) kept.text = text;
  return text;
}

const isListOfKept = (value: object): value is object[] => Array.isArray(value) && value.every(isKept);

/** Records with a form of their own for JSON say that themselves. */
const hasKept = (value: object): boolean =>
  !Array.isArray(value) && !('toJSON' in value) && Object.values(value).some(isKept);

function byMember(value: object): string {
  const members = Object.entries(value).flatMap(([name, member]) => {
    const text = member === null ? undefined : (toJson(member) as string | undefined);
    return text === undefined ? [] : [`${JSON.stringify(name)}:${text}`];
  });
  return `{${members.join(',')}}`;
}

/** Asking a function about every member of megabytes costs more than all the rest, and there is hardly ever a null. */
function write(value: unknown): string {
  const text = JSON.stringify(value);
  return text?.includes('":null') ? JSON.stringify(value, withoutNulls) : text;
}
