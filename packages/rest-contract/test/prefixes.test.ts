import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  connect,
  contract,
  cookie,
  get,
  header,
  HttpErrorException,
  path,
  post,
  prefix,
  query,
  serve,
  unit,
} from '../src/index.js';
import { outcome, recorder, request } from './support/wire.js';

const s = z.string();
const Inner = contract('Inner', { act: post({ id: path(s), name: s }, s), list: get({}, s) });
const Middle = contract('Middle', { inner: prefix({ room: s }, Inner), flag: get({}, s) });
const Outer = contract('Outer', {
  house: prefix({ no: z.int(), lang: query(s), key: header('X-Key', s), sid: cookie(s) }, Middle),
  auth: prefix({ token: header('Authorization', s) }, Inner, { path: '' }),
  transparent: prefix({}, contract('More', { more: get({}, s) }), { path: '' }),
  bare: Inner,
});

describe('on the client', () => {
  const { handle, last } = recorder({
    status: 200,
    body: { kind: 'text', mediaType: 'application/json', content: '""' },
  });
  const client = connect(Outer, handle);

  test('path and parameters come first, path parameters by default, nested', async () => {
    await client.house({ no: 5, lang: 'en', key: 'k', sid: 'c' }).inner({ room: 'r' }).act({ id: 'i', name: 'n' });
    expect(last()).toMatchObject({
      path: ['house', '5', 'inner', 'r', 'act', 'i'],
      query: [['lang', 'en']],
      headers: [['X-Key', 'k']],
      cookies: [['sid', 'c']],
    });
  });
  test('an empty path with a header adds the header to all inner operations', async () => {
    const as = client.auth({ token: 't' });
    await as.list();
    expect(last()).toMatchObject({ path: ['list'], headers: [['Authorization', 't']] });
    await as.act({ id: 'i', name: 'n' });
    expect(last()).toMatchObject({ path: ['act', 'i'], headers: [['Authorization', 't']] });
  });
  test('without path and parameters it is transparent', async () => {
    await client.transparent().more();
    expect(last()).toMatchObject({ path: ['more'], query: [], headers: [] });
  });
  test('a contract as a member is a prefix of its name', async () => {
    await client.bare().list();
    expect(last()).toMatchObject({ path: ['bare', 'list'] });
  });
  test('a client of a prefix is a plain object that can be awaited', async () => {
    const inner = await client.bare();
    expect(Object.getPrototypeOf(inner)).toBe(Object.prototype);
    expect(Object.keys(inner)).toEqual(['act', 'list']);
  });
});

describe('on the server', () => {
  const inner = (where: string) => ({
    act: async ({ id, name }: { id: string; name: string }) => `${where} ${id} ${name}`,
    list: async () => where,
  });
  const served = serve(Outer, {
    house: ({ no, lang, key, sid }) => ({
      inner: ({ room }) => inner(`${no} ${lang} ${key} ${sid} ${room}`),
      flag: async () => lang,
    }),
    auth: async ({ token }) => {
      if (token !== 'good') throw new HttpErrorException(401, 'Who are you?');
      return inner(token);
    },
    transparent: () => ({ more: async () => 'more' }),
    bare: () => inner('bare'),
  });
  const client = connect(Outer, served);

  test('each prefix gets its own arguments', async () => {
    const house = client.house({ no: 5, lang: 'en', key: 'k', sid: 'c' });
    expect(await house.inner({ room: 'r' }).act({ id: 'i', name: 'n' })).toBe('5 en k c r i n');
    expect(await house.flag()).toBe('en');
    expect(await client.bare().list()).toBe('bare');
    expect(await client.transparent().more()).toBe('more');
  });
  test('a prefix may be asynchronous and may turn a caller away before the body is looked at', async () => {
    expect(await client.auth({ token: 'good' }).list()).toBe('good');
    const bad = request('POST', '/act/i', {
      headers: [['authorization', 'bad']],
      body: { kind: 'text', mediaType: 'application/json', content: '{' },
    });
    expect(await outcome(served(bad))).toEqual({ status: 401, text: 'Who are you?' });
  });
  test('a missing parameter of a prefix is named with the operation', async () => {
    expect(await outcome(served(request('GET', '/list')))).toEqual({
      status: 400,
      text: "The header 'Authorization' of operation 'Outer.auth.list' is missing",
    });
  });
});

test('a client may be made of a contract that contains itself', async () => {
  interface Tree {
    readonly here: () => Promise<void>;
    readonly child: (args: { name: string }) => Tree;
  }
  const Node: { name: string } = contract('Node', {
    here: get({}, unit),
    child: prefix({ name: s }, () => Node as never),
  });
  const { handle, last } = recorder();
  const client = connect(Node as never, handle) as unknown as Tree;
  await client.child({ name: 'a' }).child({ name: 'b' }).here();
  expect(last().path).toEqual(['child', 'a', 'child', 'b', 'here']);
});
