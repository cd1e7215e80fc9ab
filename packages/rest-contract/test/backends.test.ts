import { Readable } from 'node:stream';
import { Controller, Get, Injectable, Module, Post, Body } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import express from 'express';
import { afterAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  type Args,
  body,
  byteStream,
  bytes,
  type CallContext,
  connect,
  contract,
  cookie,
  field,
  get,
  header,
  path,
  post,
  prefix,
  put,
  query,
  serve,
  type Service,
  unit,
} from '../src/index.js';
import { expressHandler } from '../src/express.js';
import { fetchBackend, fetchHandler } from '../src/fetch.js';
import { inMemory, overTheWire } from '../src/memory.js';
import { ContractModule, mountContract } from '../src/nest.js';
import { nodeListener } from '../src/node.js';
import { listen, sendRaw, until } from './support/http.js';
import { all } from './support/wire.js';

const s = z.string();
const Inner = contract('Inner', { who: get({}, s) });
const Api = contract('Api', {
  mixed: post(
    { id: path(s), q: query(z.array(s)), h: header('X-H', s), c: cookie(s), name: field(s), at: z.date() },
    z.object({ echo: s, at: z.date() }),
  ),
  form: post({ user: s, tags: z.array(s) }, s, { form: true }),
  bytes: put({ data: body(bytes()) }, bytes('image/png')),
  stream: put({ data: body(byteStream()) }, byteStream()),
  nothing: post({}, unit),
  hang: get({}, unit),
  as: prefix({ token: header('Authorization', s) }, Inner, { path: '' }),
});

const hangs = { open: 0 };
class Implementation implements Service<typeof Api> {
  async mixed({ id, q, h, c, name, at }: Args<typeof Api, 'mixed'>) {
    return { echo: [id, ...q, h, c, name].join('|'), at };
  }
  async form({ user, tags }: Args<typeof Api, 'form'>) {
    return [user, ...tags].join('|');
  }
  async bytes({ data }: Args<typeof Api, 'bytes'>) {
    return data;
  }
  stream({ data }: Args<typeof Api, 'stream'>) {
    return data;
  }
  async nothing() {}
  async hang(_args: object, { signal }: CallContext) {
    hangs.open += 1;
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    hangs.open -= 1;
  }
  as({ token }: Args<typeof Api, 'as'>) {
    return { who: async () => token };
  }
}
Injectable()(Implementation);
const implementation = new Implementation();
const served = serve(Api, implementation);

class Plain {
  hello() {
    return 'from a controller';
  }
  twice(given: { n: number }) {
    return { n: given.n * 2 };
  }
}
Controller('plain')(Plain);
Get('hello')(Plain.prototype, 'hello', Object.getOwnPropertyDescriptor(Plain.prototype, 'hello') as PropertyDescriptor);
Post('twice')(
  Plain.prototype,
  'twice',
  Object.getOwnPropertyDescriptor(Plain.prototype, 'twice') as PropertyDescriptor,
);
Body()(Plain.prototype, 'twice', 0);

async function nest(root: object, before: (app: Awaited<ReturnType<typeof NestFactory.create>>) => void = () => {}) {
  class App {}
  Module({ controllers: [Plain], ...root })(App);
  const app = await NestFactory.create(App, { logger: false });
  before(app);
  await app.listen(0, '127.0.0.1');
  afterAll(() => app.close());
  return app.getUrl();
}

const expressApp = express();
expressApp.get('/plain/hello', (_message, out) => void out.send('from a controller'));
expressApp.use('/api/v1', expressHandler(served));
const parsedFirst = express();
parsedFirst.use(express.json(), express.urlencoded({ extended: false }), express.text({ type: 'text/*' }));
parsedFirst.use(expressHandler(served, { basePath: 'api/v1' }));

const nodeUrl = await listen(nodeListener(served));
const expressUrl = await listen(expressApp);
const mounted = await nest({}, (app) => mountContract(app, Api, implementation, { path: 'api/v1' }));
const asModule = await nest({
  imports: [
    ContractModule.register({ contract: Api, service: Implementation, providers: [Implementation], path: '/api/v1/' }),
  ],
});

/** As Bun, Deno and workers call it: a Request in, a Response out. */
const answers = fetchHandler(served, { basePath: 'api' });
const asPlatform = ((url: string, init: RequestInit) => {
  const answered = answers(new Request(url, init));
  const { signal } = init;
  if (!signal) return answered;
  const aborted = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
  return signal.aborted ? Promise.reject(signal.reason as Error) : Promise.race([answered, aborted]);
}) as typeof fetch;

describe.each([
  ['in memory', served],
  ['over the encodings of HTTP', overTheWire(served)],
  ['Node', fetchBackend(nodeUrl)],
  ['Node under a base path', fetchBackend(`${await listen(nodeListener(served, { basePath: '/base/' }))}/base`)],
  ['Express', fetchBackend(`${expressUrl}/api/v1/`)],
  ['Express behind body parsers', fetchBackend(`${await listen(parsedFirst)}/api/v1`)],
  ['Request and Response', fetchBackend('http://127.0.0.1:1/api', { fetch: asPlatform })],
  ['Nest, mounted', fetchBackend(`${mounted}/api/v1`)],
  ['Nest, as a module', fetchBackend(`${asModule}/api/v1`)],
])('%s', (_name, backend) => {
  const client = connect(Api, backend, { timeoutMs: 5_000 });
  test('every kind of parameter', async () => {
    const at = new Date(1234);
    const args = { id: 'a/b%2F ?', q: ['x&y', 'ä+'], h: 'é', c: 'c;=" ', name: '☃', at };
    expect(await client.mixed(args)).toEqual({ echo: 'a/b%2F ?|x&y|ä+|é|c;=" |☃', at });
  });
  test('forms', async () => expect(await client.form({ user: 'a b', tags: ['&', '='] })).toBe('a b|&|='));
  test('bytes', async () =>
    expect([...(await client.bytes({ data: Uint8Array.of(0, 255, 10) }))]).toEqual([0, 255, 10]));
  test('streams', async () => {
    const given = Readable.from([Buffer.alloc(100_000), Buffer.alloc(100_000)]);
    const sizes = (await all(await client.stream({ data: given }))).map((chunk) => chunk.byteLength);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(200_000);
  });
  test('no result', async () => expect(await client.nothing()).toBeUndefined());
  test('prefixes', async () => expect(await client.as({ token: 'Bearer x' }).who()).toBe('Bearer x'));
  test('a time-out rejects, and the server hears of it', async () => {
    await expect(client.hang({}, { timeoutMs: 50 })).rejects.toMatchObject({
      name: 'TimeoutError',
      message: 'GET /hang took longer than 50 ms',
    });
    await until(() => hangs.open === 0, 'the server to give up');
  });
  test('an abort rejects with its reason, and the server hears of it', async () => {
    const controller = new AbortController();
    const call = client.hang({}, { signal: controller.signal });
    await until(() => hangs.open === 1, 'the call to arrive');
    controller.abort(new Error('changed my mind'));
    await expect(call).rejects.toThrow('changed my mind');
    await until(() => hangs.open === 0, 'the server to give up');
    await expect(client.nothing({}, { signal: controller.signal })).rejects.toThrow('changed my mind');
  });
});

describe.each([
  ['Express', expressUrl, false],
  ['Nest, mounted', mounted, true],
  ['Nest, as a module', asModule, true],
])('%s beside others', (_name, url, hasPost) => {
  test('ordinary routes go on working', async () => {
    expect(await (await fetch(`${url}/plain/hello`)).text()).toBe('from a controller');
    if (!hasPost) return;
    const response = await fetch(`${url}/plain/twice`, {
      method: 'POST',
      body: '{"n":2}',
      headers: { 'content-type': 'application/json' },
    });
    expect(await response.json()).toEqual({ n: 4 });
  });
  test('an unknown path is answered by the framework, an unknown method by the contract', async () => {
    expect((await fetch(`${url}/api/v1/nobody`)).status).toBe(404);
    const response = await fetch(`${url}/api/v1/nothing`);
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST, OPTIONS']);
  });
});

test.each([
  ['Node', `${nodeUrl}`],
  ['Express', `${expressUrl}/api/v1`],
  ['Nest, mounted', `${mounted}/api/v1`],
  ['Nest, as a module', `${asModule}/api/v1`],
])('OPTIONS is answered alike by %s', async (_name, url) => {
  const answer = await fetch(`${url}/nothing`, { method: 'OPTIONS' });
  expect([answer.status, answer.headers.get('allow'), await answer.text()]).toEqual([204, 'POST, OPTIONS', '']);
  expect((await fetch(`${url}/nobody`, { method: 'OPTIONS' })).status).toBe(404);
});

test('OPTIONS about a Node server as a whole', async () => {
  const ask = (method: string) => sendRaw(nodeUrl, `${method} * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  expect(await ask('OPTIONS')).toMatch(/^HTTP\/1\.1 204 /);
  expect(await ask('GET')).toMatch(/^HTTP\/1\.1 404 /);
});

test('outside of its base path a Node server answers 404', async () => {
  const url = await listen(nodeListener(served, { basePath: 'base' }));
  expect((await fetch(`${url}/nothing`, { method: 'POST' })).status).toBe(404);
  expect((await fetch(`${url}/baseless/nothing`, { method: 'POST' })).status).toBe(404);
  expect((await fetch(`${url}/base/nothing`, { method: 'POST' })).status).toBe(204);
});

test('an implementation joined with its client in one call', async () => {
  expect(await inMemory(Api, implementation).as({ token: 't' }).who()).toBe('t');
});

test('fetch: headers of the backend, another fetch, a base URL with a path', async () => {
  const seen: [string, unknown][] = [];
  const fake = (async (url: string, init: RequestInit) => (
    seen.push([url, init.headers]),
    new Response(null, { status: 204 })
  )) as typeof fetch;
  const backend = fetchBackend('http://h/base/', { fetch: fake, headers: async () => [['X-Key', 'k']] });
  await connect(Api, backend).nothing();
  expect(seen).toEqual([['http://h/base/nothing', [['X-Key', 'k']]]]);
});

test('a signal that outlives many calls collects no listeners', async () => {
  const controller = new AbortController();
  let listeners = 0;
  const { signal } = controller;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = ((...args: Parameters<typeof add>) => ((listeners += 1), add(...args))) as typeof add;
  signal.removeEventListener = ((...args: Parameters<typeof remove>) => (
    (listeners -= 1),
    remove(...args)
  )) as typeof remove;
  const client = connect(Api, served);
  for (let i = 0; i < 5; i += 1) await client.nothing({}, { signal });
  expect(listeners).toBe(0);
});

describe('a Request of the web platform', () => {
  const ask = async (path: string, init: RequestInit = {}) => {
    const response = await answers(new Request(`http://h${path}`, init));
    return { status: response.status, headers: Object.fromEntries(response.headers), text: await response.text() };
  };
  test('outside of the base path, of an unknown path, with another method, malformed', async () => {
    expect(await ask('/other/nothing')).toMatchObject({ status: 404 });
    expect(await ask('/api/unknown')).toMatchObject({ status: 404 });
    expect(await ask('/api/nothing')).toMatchObject({
      status: 405,
      headers: { allow: expect.stringContaining('POST') as string },
    });
    expect(await ask('/api/mixed/%zz', { method: 'POST' })).toMatchObject({ status: 400 });
    expect(await ask('/api/nothing', { method: 'OPTIONS' })).toMatchObject({ status: 204, text: '' });
  });
  test('HEAD is answered without a body, a body over the limit with 413', async () => {
    const head = await ask('/api/who', { method: 'HEAD', headers: { authorization: 'x' } });
    expect(head).toMatchObject({
      status: 200,
      text: '',
      headers: { 'content-type': 'application/json;charset=utf-8' },
    });
    const small = fetchHandler(serve(Api, implementation, { maxBodyBytes: 10 }));
    const large = new Request('http://h/bytes', { method: 'PUT', body: new Uint8Array(11) });
    expect((await small(large)).status).toBe(413);
  });
});
