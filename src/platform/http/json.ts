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

/** Texts of records that do not change, as long as the records are there. */
const texts = new WeakMap<object, string>();

/**
 * Says of a record that nothing of it will ever change: its JSON is written once, alone or within a list. For records that
 * are answered again and again.
 */
export function neverChanges<Value extends object>(record: Value): Value {
  if (!texts.has(record)) texts.set(record, '');
  Object.freeze(record);
  return record;
}

export const isKept = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && texts.has(value);

export function toJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return write(value);
  const kept = texts.get(value);
  if (kept) return kept;
  const text = isListOfKept(value)
    ? `[${value.map(toJson).join(',')}]`
    : hasKept(value)
      ? byMember(value)
      : write(value);
  if (kept === '') texts.set(value, text);
  return text;
}

const isListOfKept = (value: object): value is object[] => Array.isArray(value) && value.every(isKept);

/** Records with a form of their own for JSON say that themselves. */
const hasKept = (value: object): boolean =>
  !Array.isArray(value) && !('toJSON' in value) && Object.values(value).some(isKept);

function byMember(value: object): string {
  const written = Object.entries(value).flatMap(([name, member]) => {
    const text = member === null ? undefined : (toJson(member) as string | undefined);
    return text === undefined ? [] : [`${JSON.stringify(name)}:${text}`];
  });
  return `{${written.join(',')}}`;
}

/** Asking a function about every member of megabytes costs more than all the rest, and there is hardly ever a null. */
function write(value: unknown): string {
  const text = JSON.stringify(value);
  return text?.includes('":null') ? JSON.stringify(value, withoutNulls) : text;
}
