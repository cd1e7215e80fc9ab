import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Document, Operation, Schema } from '../contract/document.js';
import { Schemas } from '../contract/document.js';
import { Installation } from './support/product.js';
import { createDatabase } from '../support/test-database.js';

interface Limited extends Schema {
  readOnly?: boolean;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  maxItems?: number;
  maxProperties?: number;
}

/** These take a body for the sake of older clients, and do not look at it. */
const withoutLook = ['delete /api/slaves/dead', 'delete /api/inactive/all'];
const parameters: Readonly<Record<string, string>> = { taskId: 'a-b-1700000000000-1-host-rack' };

/** Names of times, and the longest of each kind: ten years, and points in time that have four digits of year. */
const longestTimes: [RegExp, number][] = [
  [/(Millis|Ms)$|Millis[A-Z]\w*$/, 315_360_000_000],
  [/Seconds$/, 315_360_000],
  [/Minutes$/, 5_256_000],
  [/Hours$/, 87_600],
  [/Days$/, 3_650],
  [/(At|^start|^end|[tT]imestamp|Before|After)$/, 253_402_300_799_999],
];

/** A field of what callers send: where it stands, and how a body that holds this value there looks. */
interface Field {
  path: string;
  schema: Limited;
  bodyWith(value: unknown): unknown;
}

/** The built product: the plugin that completes the document runs in the build only. */
describe('what callers send', () => {
  const installation = new Installation({
    database: createDatabase,
    settings: { objstore: { objstoreBucket: 'logs' } },
  });
  let url: string;
  let document: Document;
  let schemas: Schemas;
  beforeAll(async () => {
    const { api } = await installation.start();
    url = api.url;
    document = await api.document();
    schemas = new Schemas(document.components.schemas);
  }, 90_000);
  afterAll(() => installation.dispose(), 90_000);

  const operations = (): [string, string, Operation][] =>
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]): [string, string, Operation] => [method, path, operation]),
    );
  const bodyOf = ({ requestBody }: Operation): Schema | undefined => requestBody?.content?.['application/json']?.schema;

  /** The field itself and all fields below it. */
  function* fields(path: string, given: Schema, bodyWith: Field['bodyWith']): Generator<Field> {
    const schema = schemas.resolve(given).schema as Limited;
    yield { path, schema, bodyWith };
    if (schema.items) yield* fields(`${path}[]`, schema.items, (value) => bodyWith([value]));
    if (typeof schema.additionalProperties === 'object')
      yield* fields(`${path}{}`, schema.additionalProperties, (value) => bodyWith({ key: value }));
    for (const [name, member] of Object.entries(schema.properties ?? {}))
      if (!(member as Limited).readOnly)
        yield* fields(path === '' ? name : `${path}.${name}`, member, (value) => bodyWith({ [name]: value }));
  }
  const bodyFields = (operation: Operation): Field[] => {
    const schema = bodyOf(operation);
    return schema ? [...fields('', schema, (value) => value)] : [];
  };

  test('has a limit in every field of every body and in every parameter', () => {
    const all = operations().flatMap(([method, path, operation]) => [
      ...bodyFields(operation).map(({ path: field, schema }) => ({ name: `${method} ${path}: ${field}`, schema })),
      ...(operation.parameters ?? []).map(({ name, schema = {} }) => ({
        name: `${method} ${path}?${name}`,
        schema: schemas.resolve(schema).schema as Limited,
      })),
    ]);
    expect(all.length).toBeGreaterThan(500);
    expect(all.filter(({ schema }) => !isLimited(schema)).map(({ name }) => name)).toEqual([]);
  });

  test('is a date where it is a time, added to the present one as well', () => {
    const times = operations().flatMap(([method, path, operation]) =>
      bodyFields(operation).flatMap(({ path: field, schema }) => {
        const isNumber = schema.type === 'integer' || schema.type === 'number';
        const [, most] = (isNumber && longestTimes.find(([name]) => name.test(field))) || [];
        return most === undefined ? [] : [{ name: `${method} ${path}: ${field}`, maximum: schema.maximum!, most }];
      }),
    );
    expect(times.length).toBeGreaterThan(50);
    expect(times.filter(({ maximum, most }) => maximum > most)).toEqual([]);
  });

  test('is refused with 400 where a single field is beyond its limit, quickly, and the field is named', async () => {
    const wrong: string[] = [];
    let tried = 0;
    for (const [method, path, operation] of operations()) {
      if (method === 'get' || withoutLook.includes(`${method} ${path}`)) continue;
      for (const { path: field, schema, bodyWith } of bodyFields(operation)) {
        const value = field === '' ? undefined : beyond(schema);
        if (value === undefined) continue;
        tried++;
        const begun = performance.now();
        const answer = await fetch(url + path.replaceAll(/\{(\w+)\}/g, (_, name: string) => parameters[name] ?? 'x'), {
          method: method.toUpperCase(),
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(bodyWith(value)),
        });
        const { errors = [] } = JSON.parse((await answer.text()) || '{}') as {
          errors?: { field: string; rule: string }[];
        };
        const millis = performance.now() - begun;
        // What is in a list or a map kept as it was sent is told of by the name of the whole.
        const [named = ''] = field.split(/[[{]/);
        const told = errors.some((error) => error.field.replaceAll(/\.\d+(?=\.|$)/g, '').startsWith(named));
        if (answer.status !== 400 || !told || millis > 2_000)
          wrong.push(
            `${method} ${path} ${field}: ${answer.status} in ${Math.round(millis)} ms, ${JSON.stringify(errors)}`,
          );
      }
    }
    expect(wrong).toEqual([]);
    expect(tried).toBeGreaterThan(300);
  }, 120_000);
});

function isLimited(schema: Limited): boolean {
  const { type, enum: words, additionalProperties } = schema;
  if (words) return true;
  if (type === 'string') return schema.maxLength !== undefined;
  if (type === 'array') return schema.maxItems !== undefined;
  if (type === 'integer' || type === 'number') return schema.minimum !== undefined && schema.maximum !== undefined;
  return !additionalProperties || schema.maxProperties !== undefined;
}

/** A value of the right type and just beyond the limit; undefined: its type knows none. */
function beyond({ type, enum: words, items, ...schema }: Limited): unknown {
  if (words) return undefined;
  if (type === 'string') return schema.maxLength! > 1_000_000 ? undefined : 'x'.repeat(schema.maxLength! + 1);
  if (type === 'integer' || type === 'number')
    return schema.maximum! + (schema.maximum === Number.MAX_SAFE_INTEGER ? 2 : 1);
  if (type === 'array')
    return Array.from({ length: schema.maxItems! + 1 }, () => (items?.type === 'string' ? 'x' : {}));
  if (!schema.additionalProperties) return undefined;
  return Object.fromEntries(Array.from({ length: schema.maxProperties! + 1 }, (_, index) => [`k${index}`, 'x']));
}
