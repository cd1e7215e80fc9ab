import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  codec,
  connect,
  contract,
  cookie,
  field,
  get,
  group,
  header,
  path,
  post,
  query,
  serve,
  textBody,
  unit,
} from '../src/index.js';
import { fetchBackend } from '../src/fetch.js';
import { nodeListener } from '../src/node.js';
import { transientDefault, whenAbsent, zodCodecs } from '../src/zod.js';
import { listen } from './support/http.js';
import { recorder, request } from './support/wire.js';

const s = z.string();

/** A codec that writes nothing. */
const never = codec('json', { encode: (_n: number) => undefined as never, decode: Number });
const Api = contract('Api', {
  absent: post(
    {
      q: query(z.int()).whenAbsent(1),
      h: header('H', s).whenAbsent('h'),
      c: cookie(s).whenAbsent('c'),
      f: field(z.boolean()).whenAbsent(true),
    },
    unit,
  ),
  optional: post({ q: query(z.int()).optional(1), f: field(s).optional('f') }, unit),
  both: get({ q: query(z.int()).optional(1).whenAbsent(2) }, unit),
  schema: post({ q: query(z.int().default(7)), f: s.optional(), g: field(s.default('g')) }, unit),
  transient: post(
    { q: query(z.int()).whenAbsent(1).transientDefault(), f: field(z.array(s)).optional([]).transientDefault() },
    unit,
  ),
  transientBoth: get({ q: query(z.int()).optional(1).whenAbsent(2).transientDefault() }, unit),
  form: post({ f: field(z.int()).whenAbsent(3) }, unit, { form: true }),
  transientForm: post({ f: field(z.int()).whenAbsent(3).transientDefault() }, unit, { form: true }),
  noneWritten: post({ f: field(never).optional(0) }, unit),
});
const seen: unknown[] = [];
const keep = async (args: unknown) => void seen.push(args);
const served = serve(Api, {
  absent: keep,
  optional: keep,
  both: keep,
  schema: keep,
  transient: keep,
  transientBoth: keep,
  form: keep,
  transientForm: keep,
  noneWritten: keep,
});
const { handle, last } = recorder();
const client = connect(Api, async (asked) => (await handle(asked), served(asked)));
const read = async (method: string, where: string) => {
  expect(await served(request(method, where))).toMatchObject({ status: 204 });
  return seen.at(-1);
};

describe('on reading', () => {
  test('whenAbsent stands in for query, header, cookie and field', async () => {
    expect(await read('POST', '/absent')).toEqual({ q: 1, h: 'h', c: 'c', f: true });
    expect(await read('POST', '/form')).toEqual({ f: 3 });
  });
  test('optional does too', async () => expect(await read('POST', '/optional')).toEqual({ q: 1, f: 'f' }));
  test('whenAbsent wins where both are given', async () => expect(await read('GET', '/both')).toEqual({ q: 2 }));
  test("a schema's own default, and an optional schema", async () =>
    expect(await read('POST', '/schema')).toEqual({ q: 7, g: 'g' }));
  test('a value that is there is never replaced', async () => {
    await client.absent({ q: 5, h: '', c: 'x', f: false });
    expect(seen.at(-1)).toEqual({ q: 5, h: '', c: 'x', f: false });
  });
});

describe('on writing', () => {
  test('whenAbsent leaves the argument required, and sends it', async () => {
    await client.absent({ q: 1, h: 'h', c: 'c', f: true });
    expect(last()).toMatchObject({
      query: [['q', '1']],
      headers: [['H', 'h']],
      cookies: [['c', 'c']],
      body: { content: '{"f":true}' },
    });
  });
  test('an optional argument that is left out is sent as its default', async () => {
    await client.optional();
    expect(last()).toMatchObject({ query: [['q', '1']], body: { content: '{"f":"f"}' } });
    await client.both({});
    expect(seen.at(-1)).toEqual({ q: 1 });
  });
  test('what a schema may do without is not sent', async () => {
    await client.schema();
    expect(last()).toMatchObject({ query: [], body: { kind: 'empty' } });
    expect(seen.at(-1)).toEqual({ q: 7, g: 'g' });
  });
  test('transientDefault leaves a value equal to its default out', async () => {
    await client.transient({ q: 1, f: [] });
    expect(last()).toMatchObject({ query: [], body: { kind: 'empty' } });
    expect(seen.at(-1)).toEqual({ q: 1, f: [] });
    await client.transient({ q: 2, f: ['x'] });
    expect(last()).toMatchObject({ query: [['q', '2']], body: { content: '{"f":["x"]}' } });
  });
  test('a body none of whose members is written is no body, of JSON and of forms', async () => {
    await client.transientForm({ f: 3 });
    expect(last().body).toEqual({ kind: 'empty' });
    expect(seen.at(-1)).toEqual({ f: 3 });
    await client.transientForm({ f: 4 });
    expect(last().body).toMatchObject({ content: 'f=4' });
    await client.noneWritten({ f: 1 });
    expect(last().body).toEqual({ kind: 'empty' });
    const server = await listen(nodeListener(served));
    await connect(Api, fetchBackend(server)).transientForm({ f: 3 });
    expect(seen.at(-1)).toEqual({ f: 3 });
    let sent: { body?: unknown; headers?: unknown } = {};
    const spy = async (_url: unknown, init: object) => ((sent = init), new Response(null, { status: 204 }));
    await connect(Api, fetchBackend(server, { fetch: spy as never })).schema();
    expect([sent.body, JSON.stringify(sent.headers)]).toEqual([undefined, '[]']);
  });
  test('and compares with the default the reader will use', async () => {
    await client.transientBoth({ q: 2 });
    expect(last().query).toEqual([]);
    await client.transientBoth({});
    expect(last().query).toEqual([['q', '1']]);
  });
});

describe('of record fields, through the schema', () => {
  const Search = z.object({
    text: s,
    page: whenAbsent(z.int(), 1),
    sort: transientDefault(s, 'name'),
    since: transientDefault(z.date(), new Date(0)),
  });
  const Records = contract('Records', { find: post({ search: Search }, Search) }, { codecs: zodCodecs });
  const echo = serve(Records, { find: async ({ search }) => search });
  const full = { text: 't', page: 1, sort: 'name', since: new Date(0) };
  test('absent ones are filled in', async () => {
    const body = textBody('{"search":{"text":"t"}}', 'application/json');
    expect(await echo(request('POST', '/find', { body }))).toMatchObject({
      status: 200,
      body: { content: '{"text":"t","page":1}' },
    });
  });
  test('the signature stays, transient ones are left out', async () => {
    const recording = recorder();
    const records = connect(Records, async (asked) => (await recording.handle(asked), echo(asked)));
    expect(await records.find({ search: full })).toEqual(full);
    expect(recording.last().body).toMatchObject({ content: '{"search":{"text":"t","page":1}}' });
    const other = { text: 't', page: 2, sort: 'age', since: new Date(5) };
    expect(await records.find({ search: other })).toEqual(other);
  });
});

describe('the context of a connection', () => {
  const TenantApi = contract('TenantApi', {
    find: get({ tenant: header('X-Tenant', s), id: path(s) }, unit),
    nested: post({ where: group({ tenant: query(s), x: s }) }, unit),
  });
  test('fills in what callers leave out, on the wire as before', async () => {
    const recording = recorder();
    let asked = 0;
    const tenants = connect(TenantApi, recording.handle, { context: { tenant: () => `t${(asked += 1)}` } });
    await tenants.find({ id: '1' });
    expect(recording.last().headers).toEqual([['X-Tenant', 't1']]);
    await tenants.nested({ where: { x: 'x' } });
    expect(recording.last().query).toEqual([['tenant', 't2']]);
    await tenants.find({ id: '1', tenant: 'mine' });
    expect(recording.last().headers).toEqual([['X-Tenant', 'mine']]);
  });
});
