import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  body,
  byteStream,
  bytes,
  connect,
  contract,
  field,
  get,
  header,
  HttpErrorException,
  ndjson,
  path,
  post,
  put,
  query,
  rawResponse,
  serve,
  textBody,
} from '../src/index.js';
import { fetchBackend } from '../src/fetch.js';
import { nodeListener } from '../src/node.js';
import { listen, sendRaw, until } from './support/http.js';
import { all } from './support/wire.js';

// Everything here goes over a real socket, and every answer is exact.

const s = z.string();
const Api = contract('Api', {
  create: post({ name: field(s), age: field(z.int()) }, s),
  read: get({ id: path(s), limit: query(z.int()).whenAbsent(10) }, s),
  upload: put({ photo: body(bytes('image/png')) }, z.int(), { maxBodyBytes: 1_000 }),
  form: post({ user: field(s) }, s, { form: true }),
  secret: get({ token: header('X-Token', s) }, s),
  record: put({ record: body(z.object({ a: s })) }, s),
  endless: get({}, byteStream()),
  broken: get({}, ndjson(z.int())),
  store: put({ data: body(byteStream()) }, z.int()),
  lines: put({ rows: body(ndjson(z.object({ n: z.int() }))) }, z.int()),
  evil: get({ value: query(s) }, rawResponse),
});

const state = { endlessOpen: 0, stored: 0, uploadFailed: '', aborted: 0 };
const failures: string[] = [];
const served = serve(
  Api,
  {
    create: async ({ name, age }) => `${name} ${age}`,
    read: async ({ id, limit }) => `${id} ${limit}`,
    upload: async ({ photo }) => photo.byteLength,
    form: async ({ user }) => user,
    secret: async ({ token }) => token,
    record: async ({ record }) => record.a,
    async *endless(_args, { signal }) {
      state.endlessOpen += 1;
      signal.addEventListener('abort', () => (state.aborted += 1));
      try {
        for (;;) yield new Uint8Array(65_536);
      } finally {
        state.endlessOpen -= 1;
      }
    },
    async *broken() {
      yield 1;
      throw new Error('secret reason');
    },
    store: async ({ data }) => {
      try {
        for await (const chunk of data) state.stored += chunk.byteLength;
      } catch (error) {
        state.uploadFailed = (error as Error).message;
        throw error;
      }
      return state.stored;
    },
    lines: async ({ rows }) => (await all(rows)).length,
    evil: async ({ value }) => ({ status: 200, headers: [['X-Echo', value]], body: textBody('ok') }),
  },
  {
    maxBodyBytes: 10_000,
    onError: (error, { operation }) => failures.push(`${operation}: ${(error as Error).message}`),
  },
);
const url = await listen(nodeListener(served));

const JSON_HEADERS = { 'content-type': 'application/json' };
async function ask(method: string, where: string, init: RequestInit = {}) {
  const response = await fetch(url + where, { method, ...init });
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
}
const answer = (status: number, text: string) => ({ status, type: 'text/plain;charset=utf-8', text });
const send = (text: string, headers: Record<string, string> = JSON_HEADERS) =>
  ask('POST', '/create', { body: text, headers });

describe('malformed JSON', () => {
  const bad = answer(400, "The body of operation 'Api.create' is not valid JSON");
  test.each([
    '{',
    '{"name":"x","age":1',
    '{"name":"x","age":1}}',
    "{'name':1}",
    '{"name":undefined}',
    'nonsense',
    '{"age":01}',
  ])('%s', async (text) => {
    expect(await send(text)).toEqual(bad);
  });
  test.each(['[]', '5', 'null', '"x"'])('%s is JSON, but no object', async (text) => {
    expect(await send(text)).toEqual(answer(400, "The body of operation 'Api.create' must be a JSON object"));
  });
  test('broken UTF-8', async () => {
    const body = Uint8Array.of(0x7b, 0xff, 0x7d);
    expect(await ask('POST', '/create', { body, headers: JSON_HEADERS })).toEqual(
      answer(400, "The body of operation 'Api.create' is not valid utf-8 text"),
    );
  });
  test('another media type', async () => {
    expect(await send('name=x', { 'content-type': 'application/x-www-form-urlencoded' })).toEqual(
      answer(415, "The body of operation 'Api.create' must be application/json, not application/x-www-form-urlencoded"),
    );
    expect(await ask('PUT', '/upload', { body: 'x', headers: { 'content-type': 'image/gif' } })).toEqual(
      answer(415, "The body 'photo' of operation 'Api.upload' must be image/png, not image/gif"),
    );
  });
  test('a member called __proto__ is a member like any other', async () => {
    expect(await send('{"__proto__":{"name":"x"},"age":1}')).toEqual(
      answer(400, "The body field 'name' of operation 'Api.create' is missing"),
    );
  });
});

describe('missing and unreadable arguments', () => {
  test.each([
    [
      'POST',
      '/create',
      { body: '{"age":1}', headers: JSON_HEADERS },
      "The body field 'name' of operation 'Api.create' is missing",
    ],
    ['POST', '/create', {}, "The body field 'name' of operation 'Api.create' is missing"],
    [
      'POST',
      '/create',
      { body: '{"name":5,"age":1}', headers: JSON_HEADERS },
      "The body field 'name' of operation 'Api.create' is not readable: Invalid input: expected string, received number",
    ],
    [
      'POST',
      '/create',
      { body: '{"name":"x","age":"1"}', headers: JSON_HEADERS },
      "The body field 'age' of operation 'Api.create' is not readable: Invalid input: expected number, received string",
    ],
    [
      'GET',
      '/read/x?limit=ten',
      {},
      "The query parameter 'limit' of operation 'Api.read' is not readable: Invalid input: expected number, received string",
    ],
    [
      'GET',
      '/read/x?limit=1&limit=2',
      {},
      "The query parameter 'limit' of operation 'Api.read' is given more than once",
    ],
    ['GET', '/secret', {}, "The header 'X-Token' of operation 'Api.secret' is missing"],
    ['PUT', '/record', {}, "The body 'record' of operation 'Api.record' is missing"],
    ['POST', '/form', {}, "The body field 'user' of operation 'Api.form' is missing"],
    [
      'POST',
      '/form',
      { body: 'user=%zz', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
      "The body of operation 'Api.form' is not readable: The form of the request is not valid percent-encoding",
    ],
    ['GET', '/read/%zz', {}, 'The path of the request is not valid percent-encoding'],
    ['GET', '/read/x?limit=%zz', {}, 'The query of the request is not valid percent-encoding'],
  ] as const)('%s %s %j', async (method, where, init, text) => {
    expect(await ask(method, where, init)).toEqual(answer(400, text));
  });
  test('an element of an uploaded stream', async () => {
    const init = { body: '{"n":1}\n{"n":"x"}\n', headers: { 'content-type': 'application/x-ndjson' } };
    expect(await ask('PUT', '/lines', init)).toEqual(
      answer(
        400,
        "The body 'rows' of operation 'Api.lines' has an unreadable element 1: n: Invalid input: expected number, received string",
      ),
    );
  });
});

describe('unknown paths and methods', () => {
  test.each(['/', '/nowhere', '/create/x', '/create/', '//create'])('%s', async (where) => {
    expect(await ask('POST', where)).toEqual(answer(404, 'No operation has this path'));
  });
  test('a known path with another method', async () => {
    const response = await fetch(`${url}/create`);
    expect([response.status, response.headers.get('allow'), await response.text()]).toEqual([
      405,
      'POST, OPTIONS',
      'This path can be asked with POST, OPTIONS',
    ]);
    const options = await fetch(`${url}/create`, { method: 'OPTIONS' });
    expect([options.status, options.headers.get('allow'), await options.text()]).toEqual([204, 'POST, OPTIONS', '']);
    const head = await fetch(`${url}/read/x`, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '6', '']);
  });
});

describe('oversized bodies', () => {
  const big = 'x'.repeat(20_000);
  test('of announced length', async () => {
    expect(await send(JSON.stringify({ name: big, age: 1 }))).toEqual(
      answer(413, "The body of operation 'Api.create' is larger than 10000 bytes"),
    );
  });
  test('of unknown length, megabytes of it', async () => {
    async function* endless() {
      for (let i = 0; i < 64; i += 1) yield new Uint8Array(65_536).fill(120);
    }
    const init = { body: ReadableStream.from(endless()), duplex: 'half', headers: JSON_HEADERS } as RequestInit;
    expect(await ask('POST', '/create', init)).toEqual(
      answer(413, "The body of operation 'Api.create' is larger than 10000 bytes"),
    );
  });
  test("an operation's own limit", async () => {
    const png = { 'content-type': 'image/png' };
    expect(await ask('PUT', '/upload', { body: new Uint8Array(1_000), headers: png })).toMatchObject({
      status: 200,
      text: '1000',
    });
    expect(await ask('PUT', '/upload', { body: new Uint8Array(1_001), headers: png })).toEqual(
      answer(413, "The body 'photo' of operation 'Api.upload' is larger than 1000 bytes"),
    );
  });
  test('a stream has no limit', async () => {
    state.stored = 0;
    expect(await ask('PUT', '/store', { body: new Uint8Array(200_000) })).toMatchObject({
      status: 200,
      text: '200000',
    });
  });
});

describe('header injection', () => {
  const client = connect(Api, fetchBackend(url));
  test.each(['a\r\nX-Evil: 1', 'a\nb', 'a\0', ' a', 'a ', 'snow ☃'])('a client does not send %j', async (token) => {
    await expect(client.secret({ token })).rejects.toThrow(
      "Header 'X-Token' of 'Api.secret' cannot hold line breaks, control characters, outer blanks or letters above U+00FF",
    );
  });
  test('letters of Latin-1 pass', async () => expect(await client.secret({ token: 'é ü' })).toBe('é ü'));
  test('a server does not send one either', async () => {
    failures.length = 0;
    expect(await ask('GET', '/evil?value=a%0d%0aSet-Cookie:%20x=y')).toEqual(answer(500, 'Internal server error'));
    expect(failures).toEqual(['Api.evil: The response has a status or header that HTTP does not allow']);
  });
});

describe('slashes and dots in path values', () => {
  const client = connect(Api, fetchBackend(url));
  test.each(['a/b', '/', 'a%2Fb', '%', 'a b', 'ä☃', '?#&', '+', '...', ';x=1', '\\', '"', ''])(
    '%j arrives as it is',
    async (id) => {
      expect(await client.read({ id, limit: 1 })).toBe(`${id} 1`);
    },
  );
  test('an encoded slash does not reach another operation', async () => {
    expect(await ask('GET', '/read/..%2Fsecret')).toEqual({
      status: 200,
      type: 'application/json;charset=utf-8',
      text: '"../secret 10"',
    });
    expect(await ask('GET', '/read%2Fx')).toEqual(answer(404, 'No operation has this path'));
  });
  test.each(['.', '..'])('%j would be folded away by URLs, and is refused', async (id) => {
    await expect(client.read({ id, limit: 1 })).rejects.toThrow(`A path value of '${id}' cannot be sent in a URL`);
  });
});

describe('hanging up', () => {
  test('in the middle of a streamed answer ends the stream and fires the signal', async () => {
    state.aborted = 0;
    const controller = new AbortController();
    const response = await fetch(`${url}/endless`, { signal: controller.signal });
    await response.body?.getReader().read();
    expect(state.endlessOpen).toBe(1);
    controller.abort();
    await until(() => state.endlessOpen === 0, 'the stream to be closed');
    expect(state.aborted).toBe(1);
    expect(await ask('GET', '/read/still-there')).toMatchObject({ status: 200 });
  });
  test('in the middle of an upload fails the reader, and no other', async () => {
    failures.length = 0;
    const { hostname, port } = new URL(url);
    const socket = (await import('node:net')).connect(Number(port), hostname);
    state.stored = 0;
    socket.write('PUT /store HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nonly this');
    await until(() => state.stored === 9, 'the first bytes to arrive');
    socket.destroy();
    await until(() => state.uploadFailed !== '', 'the upload to fail');
    expect(state.uploadFailed).toBe('aborted');
    expect(await ask('GET', '/read/still-there')).toMatchObject({ status: 200 });
  });
  test('a server that fails in the middle breaks the answer off', async () => {
    failures.length = 0;
    const answerText = await sendRaw(url, 'GET /broken HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect(answerText).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(answerText).not.toMatch(/0\r\n\r\n$/); // the last chunk, which says "this was all", is missing
    expect(answerText).not.toContain('secret');
    expect(failures).toEqual(['Api.broken: secret reason']);
    await expect(connect(Api, fetchBackend(url)).broken().then(all)).rejects.toThrow(
      'The response to GET /broken broke off',
    );
  });
});

test('an error class of the client carries what the server said', async () => {
  const error = await connect(Api, fetchBackend(url))
    .create({ name: 'x', age: 1.5 })
    .catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(HttpErrorException);
  expect(error).toMatchObject({
    status: 400,
    message:
      "The body field 'age' of operation 'Api.create' is not readable: Invalid input: expected int, received number",
  });
});
