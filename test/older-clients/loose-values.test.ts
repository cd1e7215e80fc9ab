import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Document, type Operation, type Schema, Schemas } from '../contract/document.js';
import { Installation } from '../e2e/support/product.js';
import { createDatabase } from '../support/test-database.js';

/* Every field of every body, as the served document lists them: what it holds may come as text under compatibility 1.5, and not else. */

type Simple = Schema & { minimum?: number; readOnly?: boolean };
interface Field {
  name: string;
  method: string;
  path: string;
  field: string;
  schema: Simple;
  bodyWith(value: unknown): unknown;
}

const objstore = { objstoreBucket: 'logs' };
const lenient = new Installation({
  database: createDatabase,
  settings: { objstore, compatibility: '1.5', http: { contextPath: '/singularity' } },
});
const strict = new Installation({ database: createDatabase, settings: { objstore } });
let urls: { lenient: string; strict: string };
let fields: Field[];
beforeAll(async () => {
  const [one, other] = [await lenient.start(), await strict.start()];
  urls = { lenient: one.api.url, strict: other.api.url };
  const document = await one.api.document<Document>();
  fields = [...simpleFields(document)];
}, 180_000);
afterAll(() => Promise.all([lenient.dispose(), strict.dispose()]), 90_000);

function* simpleFields(document: Document): Generator<Field> {
  const schemas = new Schemas(document.components.schemas);
  function* below(
    field: string,
    given: Schema,
    bodyWith: Field['bodyWith'],
  ): Generator<Omit<Field, 'name' | 'method' | 'path'>> {
    const schema = schemas.resolve(given).schema as Simple;
    if (['integer', 'number', 'boolean'].includes(schema.type ?? '')) yield { field, schema, bodyWith };
    if (schema.items) yield* below(`${field}[]`, schema.items, (value) => bodyWith([value]));
    if (typeof schema.additionalProperties === 'object')
      yield* below(`${field}{}`, schema.additionalProperties, (value) => bodyWith({ key: value }));
    for (const [name, member] of Object.entries(schema.properties ?? {}))
      if (!(member as Simple).readOnly)
        yield* below(field === '' ? name : `${field}.${name}`, member, (value) => bodyWith({ [name]: value }));
  }
  for (const [path, methods] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(methods)) {
      const schema = bodyOf(operation);
      if (method === 'get' || schema === undefined || withoutLook.includes(`${method} ${path}`)) continue;
      for (const found of below('', schema, (value) => value))
        // Of what the page before answered, nothing is changed.
        if (!found.field.startsWith('continuationTokens'))
          yield { ...found, name: `${method} ${path} ${found.field}`, method, path };
    }
}
/** These take a body for the sake of older clients, and do not look at it. */
const withoutLook = ['delete /api/slaves/dead', 'delete /api/inactive/all'];
const bodyOf = ({ requestBody }: Operation): Schema | undefined => requestBody?.content?.['application/json']?.schema;

const ids: Readonly<Record<string, string>> = { taskId: 'a-b-1700000000000-1-host-rack' };
/** True if the answer says that the field is not of its type. */
async function isRefused(url: string, { method, path, field, bodyWith }: Field, value: unknown): Promise<boolean> {
  const answer = await fetch(url + path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => ids[name] ?? 'x'), {
    method: method.toUpperCase(),
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(bodyWith(value)),
  });
  const { errors = [] } = JSON.parse((await answer.text()) || '{}') as { errors?: { field: string; rule: string }[] };
  const [named = ''] = field.split(/[[{]/);
  const about = errors.filter((error) => error.field.replaceAll(/\.\d+(?=\.|$)/g, '').startsWith(named));
  return about.some(({ rule }) => rule === 'type' || rule === 'integer');
}

const asSent = ({ type, minimum = 0 }: Simple): unknown[] =>
  type === 'boolean' ? ['true', 0] : [String(Math.max(1, minimum))];
const asNothing = ({ type }: Simple): unknown[] => (type === 'boolean' ? ['', 2] : ['', '1x']);

/** Fields for which the answer is not as expected. */
async function wrong(
  url: string,
  values: (schema: Simple) => unknown[],
  refused: boolean,
  of: (field: Field) => boolean = () => true,
): Promise<string[]> {
  const found: string[] = [];
  for (const field of fields.filter(of))
    for (const value of values(field.schema))
      if ((await isRefused(url, field, value)) !== refused) found.push(`${field.name}: ${JSON.stringify(value)}`);
  return found;
}

describe('every number and truth value', () => {
  test('may come as text, truth values as 0 and 1, where that is set', async () => {
    expect(fields.length).toBeGreaterThan(150);
    // No older client has a map of numbers.
    expect(await wrong(urls.lenient, asSent, false, ({ field }) => !field.endsWith('{}'))).toEqual([]);
  }, 120_000);

  test('may not otherwise', async () => {
    expect(await wrong(urls.strict, asSent, true)).toEqual([]);
  }, 120_000);

  test('is refused where it is none', async () => {
    expect(await wrong(urls.lenient, asNothing, true)).toEqual([]);
  }, 120_000);
});
