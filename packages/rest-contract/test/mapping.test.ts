import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  body,
  bytes,
  connect,
  contract,
  cookie,
  del,
  field,
  get,
  group,
  header,
  httpBody,
  operation,
  param,
  patch,
  path,
  post,
  put,
  query,
  rawResponse,
  serve,
  text,
  textBody,
  unit,
} from '../src/index.js';
import { jsonText, outcome, recorder, request } from './support/wire.js';

const s = z.string();

describe('the minimal interface', () => {
  const UserApi = contract('UserApi', { createUser: operation({ name: s, birthYear: z.int() }, s) });

  test('a POST with a JSON object, answered by 200 and JSON', async () => {
    const { handle, last } = recorder({ status: 200, body: textBody('"u1"', 'application/json;charset=utf-8') });
    expect(await connect(UserApi, handle).createUser({ name: 'Fred', birthYear: 1990 })).toBe('u1');
    expect(last()).toEqual({
      method: 'POST',
      path: ['createUser'],
      query: [],
      headers: [],
      cookies: [],
      body: { kind: 'text', mediaType: 'application/json;charset=utf-8', content: '{"name":"Fred","birthYear":1990}' },
    });
    const served = serve(UserApi, { createUser: async ({ name, birthYear }) => `${name} ${birthYear + 1}` });
    expect(await served(request('POST', '/createUser', { body: jsonText({ birthYear: 1990, name: 'Fred' }) }))).toEqual(
      {
        status: 200,
        headers: [],
        body: { kind: 'text', mediaType: 'application/json;charset=utf-8', content: '"Fred 1991"' },
      },
    );
  });
});

describe('methods and paths', () => {
  const Api = contract('Api', {
    unsaid: operation({}, unit),
    read: get({}, unit),
    send: post({}, unit),
    change: patch({}, unit),
    store: put({}, unit),
    remove: del({}, unit),
    renamed: get({}, unit, { path: 'other' }),
    deep: get({}, unit, { path: 'a/b/c' }),
    empty: get({}, unit, { path: '' }),
  });
  test.each([
    ['unsaid', 'POST', ['unsaid']],
    ['read', 'GET', ['read']],
    ['send', 'POST', ['send']],
    ['change', 'PATCH', ['change']],
    ['store', 'PUT', ['store']],
    ['remove', 'DELETE', ['remove']],
    ['renamed', 'GET', ['other']],
    ['deep', 'GET', ['a', 'b', 'c']],
    ['empty', 'GET', []],
  ] as const)('%s is %s %j', async (name, method, segments) => {
    const { handle, last } = recorder();
    await connect(Api, handle)[name]();
    expect(last()).toMatchObject({ method, path: segments, body: { kind: 'empty' } });
  });
});

describe('parameters', () => {
  const Api = contract('Api', {
    paths: get({ first: path(s, 'of'), second: path(z.int()), third: path(z.boolean(), 'x/y') }, unit, { path: 'p' }),
    plainGet: get({ a: s, b: param(z.int(), 'B') }, unit),
    named: post({ q: query(s, 'wire-q'), h: header('X-H', s), c: cookie(s, 'wire-c'), f: field(s, 'wire-f') }, unit),
    mixed: post({ id: path(s), flag: query(z.boolean()), name: s, age: field(z.int()) }, unit),
    whole: put({ photo: body(bytes('image/png')), id: path(s) }, unit),
    record: post({ record: body(z.object({ a: z.int() })) }, unit),
    form: post({ user: field(s), age: z.int(), tags: z.array(s) }, unit, { form: true }),
    grouped: post({ id: path(s), name: group({ first: s, rest: group({ last: s, nick: field(s, 'alias') }) }) }, unit),
    list: get({ ids: z.array(z.int()) }, unit),
    none: post({}, unit),
  });
  const { handle, last } = recorder();
  const client = connect(Api, handle);

  test('path parameters follow the path in declaration order, each with its suffix', async () => {
    await client.paths({ third: true, second: 7, first: 'a/b' });
    expect(last().path).toEqual(['p', 'a/b', 'of', '7', 'true', 'x', 'y']);
  });
  test('parameters of GET are query parameters by default', async () => {
    await client.plainGet({ a: 'x y', b: 2 });
    expect(last()).toMatchObject({
      query: [
        ['a', 'x y'],
        ['B', '2'],
      ],
      body: { kind: 'empty' },
    });
  });
  test('names on the wire are as stated', async () => {
    await client.named({ q: '1', h: '2', c: '3', f: '4' });
    expect(last()).toMatchObject({
      query: [['wire-q', '1']],
      headers: [['X-H', '2']],
      cookies: [['wire-c', '3']],
      body: { content: '{"wire-f":"4"}' },
    });
  });
  test('other parameters of other methods are members of one JSON object', async () => {
    await client.mixed({ id: 'i', flag: false, name: 'n', age: 3 });
    expect(last()).toMatchObject({
      path: ['mixed', 'i'],
      query: [['flag', 'false']],
      body: { content: '{"name":"n","age":3}' },
    });
  });
  test('one body parameter is the whole body, of any media type', async () => {
    const photo = Uint8Array.of(1, 2);
    await client.whole({ photo, id: 'x' });
    expect(last()).toMatchObject({
      path: ['whole', 'x'],
      body: { kind: 'bytes', mediaType: 'image/png', content: photo },
    });
    await client.record({ record: { a: 1 } });
    expect(last().body).toEqual({ kind: 'text', mediaType: 'application/json;charset=utf-8', content: '{"a":1}' });
  });
  test('a form is encoded like a query', async () => {
    await client.form({ user: 'a b&c', age: 3, tags: ['x', 'ü'] });
    expect(last().body).toEqual({
      kind: 'text',
      mediaType: 'application/x-www-form-urlencoded',
      content: 'user=a+b%26c&age=3&tags=x&tags=%C3%BC',
    });
  });
  test('groups change nothing on the wire', async () => {
    await client.grouped({ name: { rest: { nick: 'n', last: 'l' }, first: 'f' }, id: 'i' });
    expect(last()).toMatchObject({ path: ['grouped', 'i'], body: { content: '{"first":"f","last":"l","alias":"n"}' } });
  });
  test('a list in a query repeats the name', async () => {
    await client.list({ ids: [1, 2] });
    expect(last().query).toEqual([
      ['ids', '1'],
      ['ids', '2'],
    ]);
  });
  test('without parameters there is no body', async () => {
    await client.none();
    expect(last().body).toEqual({ kind: 'empty' });
  });

  test('a server gets the same arguments back', async () => {
    const seen: unknown[] = [];
    const keep = async (args: unknown) => void seen.push(args);
    const server = serve(Api, {
      paths: keep,
      plainGet: keep,
      named: keep,
      mixed: keep,
      whole: keep,
      record: keep,
      form: keep,
      grouped: keep,
      list: keep,
      none: keep,
    });
    const near = connect(Api, server);
    const given = [
      ['paths', { first: 'a/b', second: 7, third: true }],
      ['plainGet', { a: '', b: -0.0 + 5 }],
      ['named', { q: '1', h: '2', c: '3', f: '4' }],
      ['mixed', { id: 'i', flag: false, name: 'n', age: 3 }],
      ['whole', { photo: Uint8Array.of(1, 2), id: 'x' }],
      ['record', { record: { a: 1 } }],
      ['form', { user: 'a b&c', age: 3, tags: ['x', 'ü'] }],
      ['grouped', { id: 'i', name: { first: 'f', rest: { last: 'l', nick: 'n' } } }],
      ['list', { ids: [1] }],
      ['none', {}],
    ] as const;
    for (const [name, args] of given) await (near[name] as (args: unknown) => Promise<void>)(args);
    expect(seen).toEqual(given.map(([, args]) => args));
  });
});

describe('results', () => {
  const Api = contract('Api', {
    nothing: get({}, unit),
    maybe: get({}, s.optional()),
    csv: get({}, text('text/csv')),
    raw: get({}, rawResponse),
    any: get({}, httpBody),
  });
  const served = serve(Api, {
    nothing: async () => {},
    maybe: async () => undefined,
    csv: async () => 'a,b',
    raw: async () => ({ status: 207, headers: [['X-A', '1']], body: textBody('multi', 'text/x') }),
    any: async () => textBody('<a/>', 'application/xml'),
  });
  test('unit is 204 and an empty body', async () => {
    expect(await served(request('GET', '/nothing'))).toEqual({ status: 204, headers: [], body: { kind: 'empty' } });
  });
  test('unit ignores any body when read', async () => {
    const { handle } = recorder({ status: 200, body: textBody('ignore me') });
    expect(await connect(Api, handle).nothing()).toBeUndefined();
  });
  test('a value that is not there is an empty body, and comes back as undefined', async () => {
    expect(await outcome(served(request('GET', '/maybe')))).toEqual({ status: 204, text: 'empty' });
    expect(await connect(Api, served).maybe()).toBeUndefined();
  });
  test('bodies of other media types and whole responses', async () => {
    expect(await served(request('GET', '/csv'))).toMatchObject({
      status: 200,
      body: { mediaType: 'text/csv', content: 'a,b' },
    });
    expect(await connect(Api, served).csv()).toBe('a,b');
    expect(await connect(Api, served).raw()).toMatchObject({ status: 207, headers: [['X-A', '1']] });
    expect(await connect(Api, served).any()).toEqual(textBody('<a/>', 'application/xml'));
  });
});

test('header names compare without case', async () => {
  const Api = contract('Api', { read: get({ token: header('Authorization', s) }, s) });
  const served = serve(Api, { read: async ({ token }) => token });
  for (const name of ['authorization', 'AUTHORIZATION', 'Authorization']) {
    expect(await outcome(served(request('GET', '/read', { headers: [[name, 'x']] })))).toEqual({
      status: 200,
      text: '"x"',
    });
  }
});

test('input the contract does not name is ignored', async () => {
  const Api = contract('Api', { read: post({ a: s }, s) });
  const served = serve(Api, { read: async (args) => JSON.stringify(args) });
  const extra = {
    query: [['x', '1']],
    headers: [['X-Y', '2']],
    cookies: [['z', '3']],
    body: jsonText({ a: 'A', b: 1 }),
  } as const;
  expect(await outcome(served(request('POST', '/read', extra)))).toEqual({ status: 200, text: '"{\\"a\\":\\"A\\"}"' });
});
