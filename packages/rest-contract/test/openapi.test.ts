import { Validator } from '@seriousme/openapi-schema-validator';
import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import {
  adjustSchema,
  body,
  byteStream,
  bytes,
  codec,
  contract,
  cookie,
  del,
  describe as described,
  field,
  get,
  group,
  header,
  jsonArray,
  named,
  ndjson,
  patch,
  path,
  post,
  prefix,
  put,
  query,
  rawResponse,
  text,
  unit,
  withSchema,
} from '../src/index.js';
import { type DocumentOptions, openapi } from '../src/openapi.js';
import { transientDefault, whenAbsent, zodCodecs } from '../src/zod.js';

const s = z.string();
const info = { title: 'T', version: '1' };
const onUnnamed = () => {};
const documentOf = (operations: Parameters<typeof contract>[1], options: Partial<DocumentOptions> = {}) =>
  openapi(contract('Api', operations as never) as never, { info, onUnnamed, ...options });
const operationOf = (operations: Parameters<typeof contract>[1], name: string, method = 'get') =>
  documentOf(operations).paths[`/${name}`]?.[method];

const Address = named(z.object({ street: s, zip: s.optional() }), 'Address');
const Author = z.object({ name: s, address: Address.optional() }).meta({ id: 'Author', description: 'Who wrote it' });
interface Folder {
  name: string;
  folders: Folder[];
}
const Folder: z.ZodType<Folder> = named(z.object({ name: s, folders: z.lazy(() => Folder.array()) }), 'Folder');

describe('schemas', () => {
  test('records with a name are written once and referred to, from inside other records too', () => {
    const { components, paths } = documentOf({ a: get({}, Address), b: post({ x: Author }, z.array(Author)) });
    expect(Object.keys(components?.schemas ?? {}).sort()).toEqual(['Address', 'Author']);
    expect(paths['/a']?.get?.responses[200]?.content).toEqual({
      'application/json': { schema: { $ref: '#/components/schemas/Address' } },
    });
    expect(components?.schemas?.Author).toMatchObject({
      description: 'Who wrote it',
      properties: { address: { allOf: [{ $ref: '#/components/schemas/Address' }] } },
    });
  });
  test('a type that contains itself', () => {
    expect(documentOf({ a: get({}, Folder) }).components?.schemas).toEqual({
      Folder: {
        type: 'object',
        properties: {
          name: { type: 'string' },
          folders: { type: 'array', items: { $ref: '#/components/schemas/Folder' } },
        },
        required: ['name', 'folders'],
      },
    });
    interface Loop {
      next?: Loop | undefined;
    }
    const Loop: z.ZodType<Loop> = z.object({ next: z.lazy(() => Loop).optional() });
    expect(Object.keys(documentOf({ a: get({}, Loop), b: get({}, Loop) }).components?.schemas ?? {})[0]).toBe(
      'Anonymous1',
    );
  });
  test('dates, bigints and codecs of your own', () => {
    const hex = codec('json', {
      encode: (n: number) => n.toString(16),
      decode: (json) => parseInt(String(json), 16),
      schema: { type: 'string', format: 'hex' },
    });
    const schemaOf = (type: Parameters<typeof get>[1]) =>
      operationOf({ a: get({}, type as never) }, 'a')?.responses[200]?.content?.['application/json']?.schema;
    expect(schemaOf(z.date())).toEqual({ type: 'string', format: 'date-time' });
    expect(schemaOf(z.object({ n: z.bigint() }))).toMatchObject({
      properties: { n: { type: 'integer', format: 'int64' } },
    });
    expect(schemaOf(hex)).toEqual({ type: 'string', format: 'hex' });
    expect(schemaOf(type({ 'b?': 'number > 1' }))).toEqual({
      type: 'object',
      properties: { b: { type: 'number', minimum: 1, exclusiveMinimum: true } },
    });
    expect(
      schemaOf(withSchema(v.object({ a: v.string() }), { type: 'object', properties: { a: { type: 'string' } } })),
    ).toMatchObject({ type: 'object' });
  });
  test.each([
    [
      'two types of one name',
      () => documentOf({ a: get({}, named(z.object({ a: s }), 'X')), b: get({}, named(z.object({ b: s }), 'X')) }),
      "Two types are named 'X' in one document",
    ],
    [
      'of which one stands inside another',
      () =>
        documentOf({
          a: get({}, named(z.object({ a: z.object({ q: s }).meta({ id: 'Y' }) }), 'X')),
          b: get({}, named(z.object({ b: s }), 'Y')),
        }),
      "Two types are named 'Y' in one document",
    ],
    [
      'a schema that tells nothing',
      () => documentOf({ a: get({}, v.string()) }),
      'The result of Api.a has a schema that tells no JSON Schema: say what it is with withSchema',
    ],
    [
      'a codec that tells nothing',
      () => documentOf({ a: post({ m: field(codec('json', { encode: (n: number) => n, decode: Number })) }, unit) }),
      "'m' of Api.a has a codec without a schema: give it one, or call withSchema",
    ],
  ])('refused: %s', (_name, make, message) => expect(make).toThrow(message));
  test('the contract itself does not mind two types of one name', () => {
    contract('Api', { a: get({}, named(z.object({ a: s }), 'X')), b: get({}, named(z.object({ b: s }), 'X')) });
  });
});

describe('names', () => {
  const User = z.object({ id: s, home: z.object({ street: s }) });
  const Users = z.array(User);
  const namesOf = (options: Partial<DocumentOptions>) =>
    Object.keys(documentOf({ a: get({}, Users), b: post({ user: User }, Author) }, options).components?.schemas ?? {});
  test('types given by their names in the program become components, a name of their own comes first', () => {
    expect(namesOf({ types: { User, Users, Writer: Author, helper: () => 1, VERSION: '1' } }).sort()).toEqual([
      'Address',
      'Author',
      'User',
      'Users',
    ]);
    const Renamed = named(z.object({ a: s }), 'Stated');
    expect(Object.keys(documentOf({ a: get({}, Renamed) }, { types: { Renamed } }).components?.schemas ?? {})).toEqual([
      'Stated',
    ]);
    const document = documentOf({ a: get({}, z.object({ of: User })) }, { types: { User } });
    expect(document.components?.schemas).toHaveProperty('User');
  });
  test('a type that is a class has its name', () => {
    class Point {
      static readonly '~standard' = z.object({ x: z.int() })['~standard'];
    }
    expect(Object.keys(documentOf({ a: get({}, Point) }).components?.schemas ?? {})).toEqual(['Point']);
  });
  test('a type that contains itself, named by the program', () => {
    interface Node {
      next?: Node | undefined;
    }
    const Node: z.ZodType<Node> = z.object({ next: z.lazy(() => Node).optional() });
    expect(documentOf({ a: get({}, Node) }, { types: { Node } }).components?.schemas).toEqual({
      Node: { type: 'object', properties: { next: { allOf: [{ $ref: '#/components/schemas/Node' }] } } },
    });
  });
  test('records without a name are told of, with the places where they stand', () => {
    const told = (operations: Parameters<typeof contract>[1], types = {}) => {
      const hook = vi.fn<(places: readonly string[]) => void>();
      documentOf(operations, { types, onUnnamed: hook });
      return hook.mock.calls.flatMap(([places]) => places);
    };
    const operations = { a: get({ q: s }, Users), b: post({ user: User, flag: z.boolean() }, unit) };
    expect(told(operations)).toEqual([
      'The result of Api.a',
      'The result of Api.a.home',
      "'user' of Api.b",
      "'user' of Api.b.home",
    ]);
    expect(told(operations, { User })).toEqual(['User.home']);
    expect(told({ a: get({}, Author), b: get({}, z.record(s, z.int())) })).toEqual([]);
    const Written = withSchema(v.object({ a: v.string() }), { type: 'object', properties: { a: {} } });
    expect(told({ a: get({}, ndjson(Written)) })).toEqual(['The result of Api.a']);
    const Pets = z.discriminatedUnion('kind', [z.object({ kind: z.literal('a') }), z.object({ kind: z.literal('b') })]);
    expect(told({ a: get({}, Pets) })).toEqual(['The result of Api.a']);
    interface Loop {
      next?: Loop | undefined;
    }
    const Loop: z.ZodType<Loop> = z.object({ next: z.lazy(() => Loop).optional() });
    expect(told({ a: get({}, Loop) })).toEqual(['The result of Api.a']);
  });
  test('by a warning, unless there is an ear for it', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    openapi(contract('Api', { a: get({}, User) }), { info });
    expect(warn.mock.calls).toEqual([[expect.stringContaining('The result of Api.a\n  The result of Api.a.home')]]);
    warn.mockRestore();
  });
});

describe('unions that a member tells apart', () => {
  const Cat = named(z.object({ kind: z.literal('cat'), lives: z.int() }), 'Cat');
  const Dog = z.object({ kind: z.literal(['dog', 'wolf']) }).meta({ id: 'Dog' });
  const pets = {
    cat: '#/components/schemas/Cat',
    dog: '#/components/schemas/Dog',
    wolf: '#/components/schemas/Dog',
  };
  const schemaOf = (type: unknown, types = {}) =>
    documentOf({ a: get({}, type as never) }, { types }).paths['/a']?.get?.responses[200]?.content?.['application/json']
      ?.schema;
  test('say which, and which value means which type', () => {
    expect(schemaOf(z.discriminatedUnion('kind', [Cat, Dog]))).toEqual({
      oneOf: [{ $ref: pets.cat }, { $ref: pets.dog }],
      discriminator: { propertyName: 'kind', mapping: pets },
    });
  });
  test('wherever they stand: inside records, lists and other unions, with a name or without', () => {
    const Pet = named(z.discriminatedUnion('kind', [Cat, Dog]), 'Pet');
    const Any = z.discriminatedUnion('kind', [Pet, z.object({ kind: z.literal('fish') })]);
    const document = documentOf({ a: get({}, z.object({ all: z.array(Any), one: Pet.optional() })) });
    expect(document.components?.schemas?.Pet).toMatchObject({ discriminator: { propertyName: 'kind', mapping: pets } });
    const whole = document.paths['/a']?.get?.responses[200]?.content?.['application/json']?.schema;
    const { all } = (whole?.properties ?? {}) as Record<string, { items: { discriminator: object } }>;
    expect(all?.items.discriminator).toEqual({
      propertyName: 'kind',
      mapping: { cat: '#/components/schemas/Pet', dog: '#/components/schemas/Pet', wolf: '#/components/schemas/Pet' },
    });
  });
  test('a union that contains itself', () => {
    type Expr = { op: 'one' } | { op: 'not'; of: Expr };
    const One = z.object({ op: z.literal('one') });
    const Not: z.ZodObject = z.object({ op: z.literal('not'), of: z.lazy(() => Expr) });
    const Expr: z.ZodType<Expr> = z.discriminatedUnion('op', [One, Not as never]) as never;
    expect(
      documentOf({ a: get({}, Not as never) }, { types: { One, Not, Expr } }).components?.schemas?.Expr,
    ).toMatchObject({
      discriminator: {
        propertyName: 'op',
        mapping: { one: '#/components/schemas/One', not: '#/components/schemas/Not' },
      },
    });
  });
  test('of any library, and written without saying so', () => {
    expect(schemaOf(type({ kind: '"a"', n: 'number' }).or({ kind: '"b"' }))).toMatchObject({
      discriminator: { propertyName: 'kind' },
    });
    expect(schemaOf(z.union([Cat, Dog]))).toEqual({
      oneOf: [{ $ref: pets.cat }, { $ref: pets.dog }],
      discriminator: { propertyName: 'kind', mapping: pets },
    });
  });
  test.each([
    ['one value in two members', z.union([Cat, z.object({ kind: z.literal('cat') })])],
    ['a member that may be missing', z.union([Cat, z.object({ kind: z.literal('x').optional() })])],
    ['texts', z.union([z.literal('a'), z.literal('b')])],
    ['something else beside it', z.union([Cat, s])],
  ])('none is made up: %s', (_name, union) => expect(schemaOf(union)).not.toHaveProperty('discriminator'));
  test('one that is written by hand stays', () => {
    const hand = { propertyName: 'kind', mapping: { cat: 'elsewhere' } };
    expect(schemaOf(adjustSchema(z.union([Cat, Dog]), (schema) => ({ ...schema, discriminator: hand })))).toMatchObject(
      { discriminator: hand },
    );
  });
});

test('members may be called like keywords', () => {
  const Odd = z.object({ const: s, default: z.date(), enum: z.literal('x'), definitions: s, properties: s, anyOf: s });
  const { components } = documentOf({ a: get({}, Odd) }, { types: { Odd } });
  expect(components?.schemas?.Odd).toMatchObject({
    properties: {
      const: { type: 'string' },
      default: { type: 'string', format: 'date-time' },
      enum: { enum: ['x'] },
      definitions: { type: 'string' },
      properties: { type: 'string' },
      anyOf: { type: 'string' },
    },
  });
});

describe('operations', () => {
  test('defaults of whenAbsent are shown, those of the language are not', () => {
    const parameters = operationOf(
      {
        a: get(
          {
            w: query(z.int()).whenAbsent(5),
            o: query(z.int()).optional(5),
            d: z.int().min(0).max(9).default(5),
            since: query(z.date()).whenAbsent(new Date(0)),
            r: s,
          },
          unit,
        ),
      },
      'a',
    )?.parameters;
    expect(parameters?.map(({ name, required, schema }) => [name, required ?? false, schema?.default])).toEqual([
      ['w', false, 5],
      ['o', false, undefined],
      ['d', false, undefined],
      ['since', false, '1970-01-01T00:00:00.000Z'],
      ['r', true, undefined],
    ]);
    const Search = z.object({
      page: whenAbsent(z.int(), 1),
      sort: transientDefault(s, 'name'),
      size: z.int().default(9),
    });
    const document = openapi(
      contract('Api', { a: post({ search: Search, f: field(s).whenAbsent('x') }, unit) }, { codecs: zodCodecs }),
      { info, onUnnamed },
    );
    const fields = document.paths['/a']?.post?.requestBody?.content['application/json']?.schema as {
      properties: Record<string, { properties: object }>;
      required: string[];
    };
    expect(fields.required).toEqual(['search']);
    expect(fields.properties.f).toEqual({ type: 'string', default: 'x' });
    expect(fields.properties.search?.properties).toMatchObject({ page: { default: 1 }, sort: { default: 'name' } });
    expect(fields.properties.search).not.toHaveProperty('required');
    expect(fields.properties.search?.properties).not.toHaveProperty('size.default');
  });
  test('a reference is adjusted around it, the type itself stays', () => {
    const document = documentOf({
      a: post(
        { x: field(Address).adjustSchema((schema) => ({ ...schema, description: 'where to' })), y: Address },
        unit,
      ),
    });
    const fields = document.paths['/a']?.post?.requestBody?.content['application/json']?.schema;
    expect(fields?.properties).toEqual({
      x: { allOf: [{ $ref: '#/components/schemas/Address' }], description: 'where to' },
      y: { $ref: '#/components/schemas/Address' },
    });
    expect(document.components?.schemas?.Address).not.toHaveProperty('description');
  });
  test('adjusters of types, of fields inside records, of whole bodies, parameters and operations', () => {
    const Inner = adjustSchema(z.int(), (schema) => ({ ...schema, format: 'int32' }));
    const Named = named(described(z.object({ inner: Inner }), 'adjusted itself'), 'Named');
    const document = documentOf({
      a: post(
        {
          b: body(Named).adjustSchema((schema) => ({ ...schema, title: 'T' })),
          q: query(s)
            .describe('the q')
            .adjust((parameter) => ({ ...parameter, deprecated: true })),
        },
        unit,
        {
          summary: 'sum',
          adjust: (operation) => ({ ...operation, description: `${operation.summary} adjusted` }),
        },
      ),
    });
    expect(document.components?.schemas?.Named).toMatchObject({
      description: 'adjusted itself',
      properties: { inner: { format: 'int32' } },
    });
    expect(document.paths['/a']?.post).toMatchObject({
      description: 'sum adjusted',
      parameters: [{ name: 'q', in: 'query', description: 'the q', deprecated: true }],
      requestBody: {
        content: { 'application/json': { schema: { allOf: [{ $ref: '#/components/schemas/Named' }], title: 'T' } } },
      },
    });
  });
  test.each([
    ['zod', z.object({ a: s })],
    ['valibot', withSchema(v.object({ a: v.string() }), { type: 'object', properties: { a: { type: 'string' } } })],
    ['arktype', type({ a: 'string' })],
    [
      'a codec',
      codec('json', { encode: (n: number) => n, decode: Number, schema: { type: 'object', properties: { a: {} } } }),
    ],
  ])('an adjusted type is a copy: the type itself is described as before (%s)', (_name, of) => {
    const Plain = named(of as z.ZodObject, 'Plain');
    const Other = adjustSchema(Plain, (schema) => ({ ...schema, description: 'other' }));
    const document = documentOf({ a: post({ x: body(Plain) }, Other as never), b: get({}, Plain) });
    const result = document.paths['/a']?.post?.responses[200]?.content?.['application/json']?.schema;
    expect(result).toEqual({ description: 'other', allOf: [{ $ref: '#/components/schemas/Plain' }] });
    expect(document.components?.schemas?.Plain).not.toHaveProperty('description');
    expect(Object.keys(document.components?.schemas ?? {})).toEqual(['Plain']);
  });
  test('a copy inside of a record refers to its type, too', () => {
    const Wide = z.object({ to: described(Address, 'where to'), from: Address });
    expect(documentOf({ a: get({}, named(Wide, 'Wide')) }).components?.schemas?.Wide).toMatchObject({
      properties: {
        to: { description: 'where to', allOf: [{ $ref: '#/components/schemas/Address' }] },
        from: { $ref: '#/components/schemas/Address' },
      },
    });
  });
  test('tags by prefix, unless said otherwise', () => {
    const Inner = contract('Inner', { a: get({}, unit), b: get({}, unit, { tags: ['own'] }) });
    const document = documentOf({
      p: prefix({}, Inner),
      q: prefix({}, Inner, { tags: ['Q'] }),
      t: prefix({}, contract('T', { c: get({}, unit) }), { path: '' }),
    });
    const tagsOf = (where: string) => document.paths[where]?.get?.tags;
    expect([tagsOf('/p/a'), tagsOf('/p/b'), tagsOf('/q/a'), tagsOf('/c')]).toEqual([['p'], ['own'], ['Q'], undefined]);
  });
  test('responses: defaults, several statuses, media types and headers', () => {
    const found = codec('response', {
      encode: (_value: string | undefined) => ({ status: 200, headers: [], body: { kind: 'empty' as const } }),
      decode: () => undefined,
      responses: {
        200: {
          description: 'Found',
          headers: { ETag: { schema: { type: 'string' } } },
          content: { 'text/csv': { schema: { type: 'string' } } },
        },
        304: { description: 'Still the same' },
      },
    });
    const responsesOf = (result: Parameters<typeof get>[1], more = {}) =>
      operationOf({ a: get({}, result as never, more) }, 'a')?.responses;
    expect(responsesOf(s)).toEqual({
      200: { description: 'Success', content: { 'application/json': { schema: { type: 'string' } } } },
    });
    expect(responsesOf(unit)).toEqual({ 204: { description: 'Success, without content' } });
    expect(Object.keys(responsesOf(s.optional()) ?? {})).toEqual(['200', '204']);
    expect(Object.keys(responsesOf(text('text/csv'))?.[200]?.content ?? {})).toEqual(['text/csv']);
    expect(responsesOf(found)).toMatchObject({ 200: { headers: { ETag: {} } }, 304: {} });
    expect(responsesOf(s, { responses: { 404: { description: 'Nobody' } } })).toMatchObject({
      200: {},
      404: { description: 'Nobody' },
    });
    expect(responsesOf(jsonArray(Address))?.[200]?.content?.['application/json']?.schema).toEqual({
      type: 'array',
      items: { $ref: '#/components/schemas/Address' },
    });
  });
  test('paths that differ only in the names of their parameters are one path', () => {
    const document = documentOf({
      read: get({ id: path(s) }, s, { path: 'a' }),
      drop: del({ key: path(s) }, unit, { path: 'a' }),
    });
    expect(Object.keys(document.paths)).toEqual(['/a/{id}']);
    expect(document.paths['/a/{id}']?.delete?.parameters).toMatchObject([{ name: 'id', in: 'path', required: true }]);
  });
});

test('a service may prefer fixed segments to parameters: both are documented; what is alike altogether is refused', () => {
  const page = get({ at: path(s) }, unit, { path: '' });
  const beside = contract('Beside', { page, health: get({}, unit) });
  expect(Object.keys(openapi(beside, { info }).paths)).toEqual(['/{at}', '/health']);
  const alike = contract('Alike', { page, other: get({ name: path(s) }, unit, { path: '' }) });
  expect(() => openapi(alike, { info })).toThrow('Alike.other: another operation is GET /{at}, too');
});

test('a document of every feature passes a public validator', async () => {
  const Inner = contract('Inner', { read: get({ id: path(s) }, Author), again: get({ id: path(s, 'x') }, unit) });
  const Everything = contract('Everything', {
    create: post({ name: s, author: Author, when: z.date(), size: field(z.bigint()).whenAbsent(1n) }, Address, {
      path: 'things',
      description: 'd',
      responses: { 409: { description: 'Taken' } },
    }),
    list: get(
      {
        q: s.optional(),
        tags: z.array(s).optional(),
        page: query(z.int().min(1)).whenAbsent(1),
        lang: header('Accept-Language', s).optional('en'),
        sid: cookie(s),
      },
      z.array(Author),
      { path: 'things' },
    ),
    patch: patch({ id: path(s), changes: body(z.record(s, z.union([s, z.null(), z.tuple([z.int(), s])]))) }, unit, {
      path: 'things',
    }),
    upload: put({ data: body(byteStream('image/*')), id: path(s, 'photo') }, unit, { path: 'things' }),
    photo: get({ id: path(s, 'photo') }, bytes('image/png'), { path: 'things' }),
    login: post({ user: s, age: field(z.int()).whenAbsent(3) }, text(), { form: true }),
    follow: get({}, ndjson(Author), { deprecated: true, tags: ['streams'] }),
    import: post({ rows: body(jsonArray(Folder)) }, z.int().nullable()),
    raw: get({}, rawResponse),
    grouped: post(
      { g: group({ a: s, b: group({ c: query(z.boolean()) }) }) },
      z.discriminatedUnion('kind', [
        z.object({ kind: z.literal('a') }),
        z.object({ kind: z.literal('b'), n: z.number().gt(1) }),
      ]),
    ),
    house: prefix({ id: s, key: header('X-Key', s).describe('the key') }, Inner),
    ark: get({ a: type('number.integer > 0') }, type({ a: 'string', 'b?': 'number[]' })),
    inner: Inner,
  });
  const document = openapi(Everything, {
    info,
    onUnnamed,
    servers: [{ url: 'https://example.org' }],
    tags: [{ name: 'house', description: 'Prefix' }],
    securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
    security: [{ bearer: [] }],
  });
  const result = await new Validator().validate(JSON.parse(JSON.stringify(document)) as Record<string, unknown>);
  expect(result.errors ?? []).toEqual([]);
  expect(result.valid).toBe(true);
  expect(Object.keys(document.paths)).toContain('/house/{id}/read/{id2}');
  const ids = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  );
  expect(new Set(ids).size).toBe(ids.length);
});

test('a document holds no specification extensions', () => {
  const document = openapi(contract('Api', { a: get({ q: s }, Author) }), { info });
  const keys: string[] = [];
  JSON.stringify(document, (key, value: unknown) => (keys.push(key), value));
  expect(keys.filter((key) => key.startsWith('x-'))).toEqual([]);
});

describe('OpenAPI 3.1', () => {
  const Pet = named(
    z.discriminatedUnion('kind', [z.object({ kind: z.literal('a') }), z.object({ kind: z.literal('b') })]),
    'Pet',
  );
  const All = z.object({
    text: s.nullable(),
    word: z.enum(['x', 'y']).nullable(),
    none: z.null(),
    above: z.number().gt(3).lt(9),
    pet: Pet.nullable(),
    address: Address.nullable(),
    either: z.union([s, z.number()]).nullable(),
    nullable: z.boolean(),
  });
  const operations = { a: get({ q: query(z.number().gt(1)) }, named(All, 'All'), { errors: { 409: Address } }) };
  test('says null as a type and exclusive bounds as numbers', async () => {
    const document = documentOf(operations, { version: '3.1' });
    expect(document.openapi).toBe('3.1.0');
    expect(document.components?.schemas?.All).toMatchObject({
      properties: {
        text: { type: ['string', 'null'] },
        word: { type: ['string', 'null'], enum: ['x', 'y', null] },
        none: { type: 'null' },
        above: { exclusiveMinimum: 3, exclusiveMaximum: 9 },
        nullable: { type: 'boolean' },
      },
    });
    expect(JSON.stringify(document)).not.toMatch(/"nullable":true|"exclusive\w+":true/);
    expect(document.paths['/a']?.get?.parameters?.[0]?.schema).toMatchObject({ exclusiveMinimum: 1 });
    expect(await new Validator().validate(structuredClone(document) as never)).toMatchObject({ valid: true });
  });
  test('errors by their status stand in documents of either version', () => {
    for (const version of ['3.0', '3.1'] as const) {
      const { responses } = documentOf(operations, { version }).paths['/a']!.get!;
      expect(responses[409]?.content?.['application/json']?.schema).toEqual({ $ref: '#/components/schemas/Address' });
    }
  });
});
