import type { StandardSchema } from 'rest-contract/client';

// What the contract is made of. A client sends what its caller gave it, and answers of a newer service may hold more than
// is known here: so a schema looks at the kind of a value and never inside it. What is inside says the type of the record.

/** A whole number of 32 bits. */
export type Int32 = number;
/** A whole number of 64 bits. Times are milliseconds since 1970. */
export type Int64 = number;
/** Bytes as Base64. */
export type Base64 = string;

export type Schema<T> = StandardSchema<T>;
type JsonSchema = Record<string, unknown>;

function schema<T>(kind: string, json: JsonSchema, isOne: (value: unknown) => boolean): Schema<T> {
  const tell = () => json;
  return {
    '~standard': {
      version: 1,
      vendor: 'muster',
      validate: (value) =>
        isOne(value) ? { value: value as T } : { issues: [{ message: `must be ${kind}, not ${kindOf(value)}` }] },
      jsonSchema: { input: tell, output: tell },
    },
  };
}

const jsonOf = (inner: Schema<never>): JsonSchema =>
  inner['~standard'].jsonSchema?.input({ target: 'openapi-3.0' }) ?? {};

function kindOf(value: unknown): string {
  if (value === undefined) return 'empty';
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a list' : typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isNumber = (value: unknown) => typeof value === 'number';
const isString = (value: unknown) => typeof value === 'string';

export const string: Schema<string> = schema('a text', { type: 'string' }, isString);
export const boolean: Schema<boolean> = schema(
  'true or false',
  { type: 'boolean' },
  (value) => typeof value === 'boolean',
);
export const int32: Schema<Int32> = schema('a number', { type: 'integer', format: 'int32' }, isNumber);
export const int64: Schema<Int64> = schema('a number', { type: 'integer', format: 'int64' }, isNumber);

/** One of these words. A newer service may answer others. */
export const words = <const W extends string>(...all: readonly W[]): Schema<W> =>
  schema('a word', { type: 'string', enum: all }, isString);
export type WordOf<S> = S extends Schema<infer W> ? W : never;

/** A record: the interface of this name. */
export const record = <T extends object>(name: string): Schema<T> =>
  schema(`a ${name}`, { $ref: `#/components/schemas/${name}` }, isObject);

export const list = <T>(element: Schema<T>): Schema<T[]> =>
  schema('a list', { type: 'array', items: jsonOf(element as Schema<never>) }, Array.isArray);

/** Values by their names, such as the ids of requests. */
export const map = <T>(value: Schema<T>): Schema<Record<string, T>> =>
  schema('an object', { type: 'object', additionalProperties: jsonOf(value as Schema<never>) }, isObject);

/** May be left out. */
export const optional = <T>(inner: Schema<T>): Schema<T | undefined> =>
  schema('left out or right', jsonOf(inner as Schema<never>), (value) => {
    if (value === undefined) return true;
    const checked = inner['~standard'].validate(value);
    return !('then' in checked) && !checked.issues;
  });
