import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  body,
  codec,
  codecFor,
  connect,
  contract,
  cookie,
  field,
  float,
  get,
  header,
  type Json,
  lowPriority,
  ndjson,
  path,
  post,
  query,
  serve,
  textBody,
  unit,
  withCodec,
} from '../src/index.js';
import { overTheWire } from '../src/memory.js';
import { openapi } from '../src/openapi.js';
import { zodCodecs, zodFloat } from '../src/zod.js';
import { all, outcome, recorder, request } from './support/wire.js';

const s = z.string();
const tagged = (tag: string) =>
  codec('json', {
    encode: (value: Map<string, number>) => [tag, ...value] as unknown as Json,
    decode: () => new Map([[tag, 1]]),
  });
const Counts = z.map(s, z.int());

describe('where a codec is looked up', () => {
  const sent = async (api: Parameters<typeof connect>[0]) => {
    const { handle, last } = recorder();
    await (connect(api as never, handle) as { a(args: unknown): Promise<void> }).a({ m: new Map() });
    return JSON.parse((last().body as { content: string }).content) as unknown;
  };
  const own = withCodec(Counts, tagged('own'));
  const set = [codecFor(own, tagged('set') as never)];
  const low = [lowPriority(codecFor(own, tagged('low') as never))];
  test('on the parameter before everything', async () => {
    expect(
      await sent(contract('X', { a: post({ m: field(own).via(tagged('given')) }, unit) }, { codecs: set })),
    ).toEqual({ m: ['given'] });
  });
  test("in the contract's set before the schema's own", async () => {
    expect(await sent(contract('X', { a: post({ m: own }, unit) }, { codecs: set }))).toEqual({ m: ['set'] });
  });
  test("the schema's own before rules of low priority", async () => {
    expect(await sent(contract('X', { a: post({ m: own }, unit) }, { codecs: low }))).toEqual({ m: ['own'] });
  });
  test('rules of low priority before the defaults', async () => {
    const rule = lowPriority(codecFor(Counts, tagged('low')));
    expect(await sent(contract('X', { a: post({ m: Counts }, unit) }, { codecs: [rule] }))).toEqual({ m: ['low'] });
  });
  test('a rule may cover all schemas a guard accepts', async () => {
    const isMap = (schema: unknown): schema is typeof Counts => schema instanceof z.ZodMap;
    const rule = codecFor(isMap, 'json', () => tagged('guard'));
    expect(await sent(contract('X', { a: post({ m: z.map(s, z.int()) }, unit) }, { codecs: [rule] }))).toEqual({
      m: ['guard'],
    });
  });
  test('a set belongs to its contract, not to the contracts behind its prefixes', async () => {
    const Inner = contract('Inner', { a: post({ n: z.int() }, unit) });
    const shout = codecFor(
      (schema): schema is z.ZodInt => schema['~standard'].vendor === 'zod',
      'json',
      () => codec('json', { encode: (n: number) => `<${n}>`, decode: () => 0 }),
    );
    const Outer = contract('Outer', { inner: Inner, own: post({ n: z.int() }, unit) }, { codecs: [shout] });
    const { handle, last } = recorder();
    const client = connect(Outer, handle);
    await client.own({ n: 1 });
    expect(last().body).toMatchObject({ content: '{"n":"<1>"}' });
    await client.inner().a({ n: 1 });
    expect(last().body).toMatchObject({ content: '{"n":1}' });
  });
});

describe('raw kinds fall back', () => {
  const point = codec('json', {
    encode: ([x, y]: [number, number]) => `${x}/${y}`,
    decode: (json) => String(json).split('/').map(Number) as [number, number],
  });
  const csv = codec('body', {
    encode: (rows: string[]) => textBody(rows.join(','), 'text/csv'),
    decode: (raw) => (raw.kind === 'text' ? raw.content.split(',') : []),
    mediaTypes: ['text/csv'],
  });
  const created = codec('response', {
    encode: (id: string) => ({
      status: 201,
      headers: [['Location', `/things/${id}`] as const],
      body: { kind: 'empty' as const },
    }),
    decode: ({ headers }) => headers[0]?.[1].slice(8) ?? '',
  });
  const Api = contract('Api', {
    json: post({ p: body(point) }, point),
    csv: post({ rows: body(csv) }, csv),
    create: post({}, created),
  });
  const served = serve(Api, { json: async ({ p }) => p, csv: async ({ rows }) => rows, create: async () => 'x1' });
  const client = connect(Api, served);
  test('a body and a response from JSON', async () => {
    expect(await served(request('POST', '/json', { body: textBody('"1/2"', 'application/json') }))).toEqual({
      status: 200,
      headers: [],
      body: { kind: 'text', mediaType: 'application/json;charset=utf-8', content: '"1/2"' },
    });
    expect(await client.json({ p: [1, 2] })).toEqual([1, 2]);
  });
  test('a response from a body', async () => {
    expect(await client.csv({ rows: ['a', 'b'] })).toEqual(['a', 'b']);
  });
  test('a response of its own', async () => {
    expect(await served(request('POST', '/create'))).toMatchObject({
      status: 201,
      headers: [['Location', '/things/x1']],
    });
    expect(await client.create()).toBe('x1');
  });
  test('a codec of the wrong kind is named when server or client are made', () => {
    const wrong = contract('Wrong', { a: get({ p: path(point as never) }, unit) });
    expect(() => connect(wrong, recorder().handle)).toThrow(
      "Wrong.a: 'p' has a codec to json, but needs one to path or text",
    );
  });
  test('and so is a direction that is missing', () => {
    const OneWay = contract('OneWay', { a: post({ m: field(codec('json', { encode: (n: number) => n })) }, unit) });
    connect(OneWay, recorder().handle);
    expect(() => serve(OneWay as never, { a: async () => {} } as never)).toThrow(
      "OneWay.a: 'm' needs a codec with 'decode', its codec has only 'encode'",
    );
    expect(() => codec('json', {} as never)).toThrow('A codec needs encode, decode or both');
  });
});

describe('text', () => {
  const Num = z.number().or(z.nan()).or(z.literal(Infinity)).or(z.literal(-Infinity));
  enum Color {
    red = 'RED',
  }
  const round = async (schema: z.ZodType, value: unknown) => {
    const Api = contract('Api', {
      a: get({ p: path(schema), q: query(schema), h: header('H', schema), c: cookie(schema) }, unit),
    } as never);
    let seen: unknown;
    const { handle, requests } = recorder();
    const served = serve(Api, { a: async (args: unknown) => void (seen = args) } as never);
    const client = connect(Api, async (asked) => (await handle(asked), served(asked))) as never as {
      a(args: unknown): Promise<void>;
    };
    await client.a({ p: value, q: value, h: value, c: value });
    expect(seen).toEqual({ p: value, q: value, h: value, c: value });
    return requests[0]?.path[1];
  };
  test.each([
    ['a string', s, 'x', 'x'],
    ['a string of digits stays one', s, '10', '10'],
    ['a string that reads true', s, 'true', 'true'],
    ['an empty string', s, '', ''],
    ['an integer', z.int(), 10, '10'],
    ['a negative fraction', z.number(), -1.5, '-1.5'],
    ['a large number', z.number(), 1e21, '1e+21'],
    ['negative zero', z.number(), -0, '-0'],
    ['NaN', Num, Number.NaN, 'NaN'],
    ['infinity', Num, Infinity, 'Infinity'],
    ['negative infinity', Num, -Infinity, '-Infinity'],
    ['a boolean', z.boolean(), false, 'false'],
    ['null', z.int().nullable(), null, 'null'],
    ['a bigint', z.bigint(), 2n ** 80n, '1208925819614629174706176'],
    ['a date', z.date(), new Date(86_400_000), '1970-01-02T00:00:00.000Z'],
    ['an enumeration', z.enum(Color), Color.red, 'RED'],
    ['a literal number', z.literal([1, 2]), 2, '2'],
    ['text before other readings', z.union([z.int(), s]), 'x', 'x'],
  ])('%s', async (_name, schema, value, text) => {
    expect(await round(schema, value)).toBe(text);
  });

  const Api = contract('Api', { a: get({ q: query(z.int()), l: query(z.array(s).optional()) }, unit) });
  const served = serve(Api, { a: async () => {} });
  const ask = (...query: [string, string][]) => outcome(served(request('GET', '/a', { query })));
  test.each([['x'], ['1.5'], [' 1'], ['0x10'], ['01'], ['1e999'], [''], ['NaN'], ['"1"']])(
    '%j is not an integer',
    async (text) => {
      const { status, text: message } = await ask(['q', text]);
      expect(status).toBe(400);
      expect(message).toMatch(/^The query parameter 'q' of operation 'Api.a' is not readable: /);
    },
  );
  test('a value given twice is refused, a list takes one or more', async () => {
    expect(await ask(['q', '1'], ['q', '2'])).toEqual({
      status: 400,
      text: "The query parameter 'q' of operation 'Api.a' is given more than once",
    });
    expect(await ask(['q', '1'], ['l', 'a'])).toMatchObject({ status: 204 });
    expect(await ask(['q', '1'], ['l', 'a'], ['l', 'b'])).toMatchObject({ status: 204 });
  });
  test('what is no scalar cannot be sent as text', async () => {
    const Odd = contract('Odd', { a: get({ q: query(z.any()) }, unit) });
    await expect(connect(Odd, served).a({ q: { x: 1 } })).rejects.toThrow(
      "'q' of 'Odd.a' cannot be sent: only text, numbers, booleans, dates and null can be sent as text; give this type a codec",
    );
  });
});

describe('JSON', () => {
  const Deep = z.object({ at: z.date(), n: z.bigint(), list: z.array(z.object({ d: z.date().nullable() })), s });
  const Api = contract('Api', { a: post({ v: Deep }, Deep), n: post({ n: z.number() }, z.number()) });
  const served = serve(Api, { a: async ({ v: value }) => value, n: async () => Number.NaN }, { onError: () => {} });
  const client = connect(Api, served);
  const at = new Date('2020-02-03T04:05:06.789Z');
  test('dates and bigints inside records', async () => {
    const value = { at, n: 2n ** 64n, list: [{ d: at }, { d: null }], s: '2020-02-03T04:05:06Z' };
    expect(await client.a({ v: value })).toEqual(value);
    expect(await client.a({ v: { ...value, n: 5n } })).toEqual({ ...value, n: 5n });
  });
  test('a small bigint is a number on the wire, a large one text', async () => {
    const { handle, last } = recorder({ status: 500 });
    await connect(Api, handle)
      .a({ v: { at, n: 2n ** 64n, list: [], s: '' } })
      .catch(() => {});
    expect(last().body).toMatchObject({
      content: '{"v":{"at":"2020-02-03T04:05:06.789Z","n":"18446744073709551616","list":[],"s":""}}',
    });
    await connect(Api, handle)
      .a({ v: { at, n: -7n, list: [], s: '' } })
      .catch(() => {});
    expect(last().body).toMatchObject({ content: expect.stringContaining('"n":-7') as string });
  });
  test('a number that lost digits is no bigint', async () => {
    const body = textBody(
      '{"v":{"at":"2020-02-03T04:05:06Z","n":18446744073709551616,"list":[],"s":""}}',
      'application/json',
    );
    expect(await outcome(served(request('POST', '/a', { body })))).toMatchObject({ status: 400 });
  });
  test('NaN is refused rather than sent as null', async () => {
    await expect(client.n({ n: Number.NaN })).rejects.toThrow('NaN cannot be sent as JSON');
    await expect(client.n({ n: 1 })).rejects.toMatchObject({ status: 500 });
  });
});

describe('numbers that JSON has not', () => {
  const Point = z.object({ x: zodFloat, more: z.array(zodFloat) });
  const Api = contract(
    'Api',
    {
      json: post({ n: float }, float),
      text: get({ p: path(float), q: query(float), h: header('H', float) }, float),
      form: post({ n: float }, float, { form: true }),
      stream: get({ n: query(float) }, ndjson(float)),
      absent: post({ n: field(float).whenAbsent(Number.NaN) }, float),
      record: post({ point: Point, q: query(zodFloat) }, Point),
      whole: post({ point: body(z.object({ n: z.unknown() })) }, z.unknown()),
    },
    { codecs: zodCodecs },
  );
  const served = serve(
    Api,
    {
      json: async ({ n }) => n,
      text: async ({ p, q, h }) => (Object.is(p, q) && Object.is(q, h) ? p : 0),
      form: async ({ n }) => n,
      stream: async function* ({ n }) {
        yield n;
        yield n;
      },
      absent: async ({ n }) => n,
      record: async ({ point }) => point,
      whole: async ({ point }) => point,
    },
    { onError: () => {} },
  );
  const client = connect(Api, overTheWire(served));
  test.each([Number.NaN, Infinity, -Infinity, 1.5, 0, 1e308])('%d goes wherever a number goes', async (n) => {
    expect(await client.json({ n })).toBe(n);
    expect(await client.text({ p: n, q: n, h: n })).toBe(n);
    expect(await client.form({ n })).toBe(n);
    expect(await client.stream({ n }).then(all)).toEqual([n, n]);
    const point = { x: n, more: [n, 1] };
    expect(await client.record({ point, q: n })).toEqual(point);
  });
  test('as words in JSON, numbers as numbers', async () => {
    const { handle, last } = recorder({ status: 500 });
    for (const [n, text] of [
      [Number.NaN, '{"n":"NaN"}'],
      [-Infinity, '{"n":"-Infinity"}'],
      [1.5, '{"n":1.5}'],
    ] as const) {
      await connect(Api, handle)
        .json({ n })
        .catch(() => {});
      expect(last().body).toMatchObject({ content: text });
    }
    expect(await client.absent({ n: Number.NaN })).toBe(Number.NaN);
  });
  test.each(['"nan"', '"1"', 'null', 'true', '"+Infinity"'])('%s is none', async (text) => {
    const given = textBody(`{"n":${text}}`, 'application/json');
    expect(await outcome(served(request('POST', '/json', { body: given })))).toEqual({
      status: 400,
      text: "The body field 'n' of operation 'Api.json' must be a number or one of the words NaN, Infinity, -Infinity",
    });
  });
  test('a document says both', () => {
    const { paths } = openapi(Api, { info: { title: 'T', version: '1' }, onUnnamed: () => {} });
    const both = { oneOf: [{ type: 'number' }, { type: 'string', enum: ['NaN', 'Infinity', '-Infinity'] }] };
    expect(paths['/json']?.post?.requestBody?.content['application/json']?.schema?.properties).toMatchObject({
      n: both,
    });
    expect(paths['/absent']?.post?.requestBody?.content['application/json']?.schema?.properties).toMatchObject({
      n: { default: 'NaN' },
    });
  });
  test('without the codec one deep inside is refused as well, rather than sent as null', async () => {
    await expect(client.whole({ point: { n: [null, { deep: Number.NaN }] } })).rejects.toThrow(
      'NaN cannot be sent as JSON',
    );
    expect(await client.whole({ point: { n: [null, 'null'] } })).toEqual({ n: [null, 'null'] });
  });
});

describe('any Standard Schema', () => {
  test.each([
    ['zod', z.object({ a: z.int(), b: s.optional() }), z.int()],
    [
      'valibot',
      v.object({ a: v.pipe(v.number(), v.integer()), b: v.optional(v.string()) }),
      v.pipe(v.number(), v.integer()),
    ],
    ['arktype', type({ a: 'number.integer', 'b?': 'string' }), type('number.integer')],
  ])('%s', async (_name, record, integer) => {
    const Api = contract('Api', { a: post({ q: query(integer), r: field(record) }, record) });
    const served = serve(Api, { a: async ({ q, r }) => ({ ...r, a: r.a + q }) });
    expect(await connect(Api, served).a({ q: 2, r: { a: 1, b: 'x' } })).toEqual({ a: 3, b: 'x' });
    const bad = await outcome(served(request('POST', '/a', { query: [['q', 'x']] })));
    expect(bad.text).toMatch(/^The query parameter 'q' of operation 'Api.a' /);
    expect(bad.status).toBe(400);
  });
  test('one that validates asynchronously', async () => {
    const Known = s.refine(async (name) => name === 'known', 'Nobody knows it');
    const Api = contract('Api', {
      a: post({ q: query(Known), f: Known, g: query(z.int().refine(async (n) => n > 1)) }, Known),
    });
    const served = serve(Api, { a: async ({ q }) => q });
    const client = connect(Api, served);
    expect(await client.a({ q: 'known', f: 'known', g: 5 })).toBe('known');
    await expect(client.a({ q: 'known', f: 'other', g: 5 })).rejects.toMatchObject({
      status: 400,
      message: "The body field 'f' of operation 'Api.a' is not readable: Nobody knows it",
    });
  });
});
