import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import {
  byteStream,
  bytesBody,
  connect,
  contract,
  type FailureReport,
  get,
  httpError,
  HttpErrorException,
  knownError,
  path,
  post,
  rawResponse,
  serve,
  streamBody,
  textBody,
  unit,
  UnreadableResponse,
} from '../src/index.js';
import { overTheWire } from '../src/memory.js';
import { outcome, recorder, request, utf8 } from './support/wire.js';

const s = z.string();
const problem = textBody('{"code":7}', 'application/problem+json');
const Api = contract('Api', {
  teapot: get({}, unit),
  sync: get({}, unit),
  structured: get({}, unit),
  crash: get({}, unit),
  read: get({}, s),
  write: post({}, unit, { path: 'read' }),
  one: get({ x: path(s) }, s, { path: 'a' }),
  fixed: post({}, unit, { path: 'a/b' }),
  stream: get({}, byteStream()),
  raw: get({}, rawResponse),
});
const boom = new Error('secret: /etc/passwd');
const onError = vi.fn<(error: unknown, report: FailureReport) => void>();
let released = 0;
const file: AsyncIterable<Uint8Array> & { destroy(): void } = {
  destroy: () => void (released += 1),
  [Symbol.asyncIterator]: () => {
    throw new Error('read');
  },
};
const served = serve(
  Api,
  {
    teapot: async () => {
      throw new HttpErrorException(418, 'tea only');
    },
    sync: () => {
      throw new HttpErrorException(409, 'at once');
    },
    structured: async () => {
      throw new HttpErrorException(422, problem, { headers: [['Retry-After', '3']] });
    },
    crash: async () => {
      throw boom;
    },
    read: async () => 'hällo',
    write: async () => {},
    one: async ({ x }) => x,
    fixed: async () => {},
    stream: () => file,
    raw: async () => ({ status: 200, headers: [['X-A', 'a\r\nSet-Cookie: b=c']], body: textBody('x') }),
  },
  { onError },
);
const client = connect(Api, served);

describe('errors of an operation', () => {
  test('HttpErrorException is the response, thrown or rejected', async () => {
    expect(await served(request('GET', '/teapot'))).toEqual({ status: 418, headers: [], body: textBody('tea only') });
    expect(await outcome(served(request('GET', '/sync')))).toEqual({ status: 409, text: 'at once' });
    expect(await served(request('GET', '/structured'))).toEqual({
      status: 422,
      headers: [['Retry-After', '3']],
      body: problem,
    });
  });
  test('and comes back as the rejection', async () => {
    await expect(client.teapot()).rejects.toBeInstanceOf(HttpErrorException);
    await expect(client.teapot()).rejects.toMatchObject({ status: 418, message: 'tea only' });
    await expect(client.structured()).rejects.toMatchObject({
      status: 422,
      body: problem,
      headers: [['Retry-After', '3']],
    });
  });
  test('anything else is 500 without internals, and the hook hears of it', async () => {
    onError.mockClear();
    expect(await outcome(served(request('GET', '/crash')))).toEqual({ status: 500, text: 'Internal server error' });
    expect(onError).toHaveBeenCalledExactlyOnceWith(boom, {
      operation: 'Api.crash',
      request: expect.objectContaining({ method: 'GET' }) as unknown,
    });
  });
  test('a header with a line break is never sent', async () => {
    onError.mockClear();
    expect(await outcome(served(request('GET', '/raw')))).toEqual({ status: 500, text: 'Internal server error' });
    expect(onError.mock.calls[0]?.[0]).toMatchObject({
      message: 'The response has a status or header that HTTP does not allow',
    });
  });
  test('a status that is no error cannot be one', () => {
    expect(() => new HttpErrorException(200, 'x')).toThrow('An HTTP error has a status from 300 to 599, not 200');
    expect(new HttpErrorException(500).message).toBe('HTTP 500');
  });
});

describe('errors a client meets', () => {
  test.each([
    ['text', streamBody(chunks('no ', 'way'), 'text/plain'), 'no way'],
    ['JSON', streamBody(chunks('{"a":1}'), 'application/json'), '{"a":1}'],
    ['bytes', bytesBody(utf8('x'), 'image/png'), 'HTTP 503'],
    ['nothing', { kind: 'empty' } as const, 'HTTP 503'],
  ])('a body of %s', async (_name, body, message) => {
    await expect(connect(Api, recorder({ status: 503, body }).handle).read()).rejects.toMatchObject({
      status: 503,
      message,
    });
  });
  test('a redirect is not a result', async () => {
    await expect(connect(Api, recorder({ status: 302 }).handle).read()).rejects.toMatchObject({ status: 302 });
  });
  test.each([
    ['no JSON', textBody('<html>', 'application/json'), 'The response to GET /read is not valid JSON'],
    [
      'another type',
      textBody('5', 'application/json'),
      'The response to GET /read is unreadable: Invalid input: expected string, received number',
    ],
    [
      'another media type',
      textBody('x', 'text/html'),
      'The response to GET /read must be application/json, not text/html',
    ],
    [
      'nothing',
      { kind: 'empty' } as const,
      'The response to GET /read is unreadable: Invalid input: expected string, received undefined',
    ],
  ])('a response of %s', async (_name, body, message) => {
    const error = await connect(Api, recorder({ status: 200, body }).handle)
      .read()
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(UnreadableResponse);
    expect(error).toMatchObject({ message });
  });
  test('a response that is too long', async () => {
    const { handle } = recorder({ status: 200, body: textBody('"0123456789"', 'application/json') });
    await expect(connect(Api, handle, { maxResponseBytes: 5 }).read()).rejects.toThrow(
      'The response to GET /read is larger than 5 bytes',
    );
  });
  test('a backend that fails', async () => {
    await expect(connect(Api, () => Promise.reject(new TypeError('offline'))).read()).rejects.toThrow('offline');
  });
});

describe('paths and methods', () => {
  test('an unknown path is 404', async () => {
    for (const where of ['/nowhere', '/read/more', '/']) {
      expect(await outcome(served(request('GET', where)))).toEqual({ status: 404, text: 'No operation has this path' });
    }
    expect(await outcome(served(request('OPTIONS', '/nowhere')))).toMatchObject({ status: 404 });
  });
  test.each([
    ['DELETE', '/read', 'GET, HEAD, POST, OPTIONS'],
    ['POST', '/teapot', 'GET, HEAD, OPTIONS'],
    ['PUT', '/a/b', 'GET, HEAD, POST, OPTIONS'],
    ['POST', '/a/c', 'GET, HEAD, OPTIONS'],
    ['TRACE', '/read', 'GET, HEAD, POST, OPTIONS'],
  ])('%s %s is 405 with Allow: %s', async (method, where, allow) => {
    expect(await served(request(method, where))).toEqual({
      status: 405,
      headers: [['Allow', allow]],
      body: textBody(`This path can be asked with ${allow}`),
    });
  });
  test('OPTIONS answers Allow', async () => {
    expect(await served(request('OPTIONS', '/read'))).toEqual({
      status: 204,
      headers: [['Allow', 'GET, HEAD, POST, OPTIONS']],
      body: { kind: 'empty' },
    });
  });
  test('each method finds its own pattern', async () => {
    expect(await outcome(served(request('GET', '/a/b')))).toEqual({ status: 200, text: '"b"' });
    expect(await outcome(served(request('POST', '/a/b')))).toEqual({ status: 204, text: 'empty' });
  });
  test('HEAD is served by GET, without the body', async () => {
    expect(await served(request('HEAD', '/read'))).toEqual({
      status: 200,
      headers: [
        ['Content-Type', 'application/json;charset=utf-8'],
        ['Content-Length', '8'],
      ],
      body: { kind: 'empty' },
    });
    expect(await served(request('HEAD', '/teapot'))).toMatchObject({ status: 418, body: { kind: 'empty' } });
    expect(await served(request('HEAD', '/nowhere'))).toMatchObject({ status: 404, body: { kind: 'empty' } });
    expect(await served(request('HEAD', '/a/b'))).toMatchObject({ status: 200 });
  });
  test('HEAD lets go of a stream it does not read', async () => {
    released = 0;
    expect(await served(request('HEAD', '/stream'))).toMatchObject({
      status: 200,
      headers: [['Content-Type', 'application/octet-stream']],
    });
    expect(released).toBe(1);
  });
});

test('results can be checked before they are sent', async () => {
  const User = z.object({ name: s });
  const Users = contract('Users', { read: get({}, User) });
  const users = (value: unknown, checkResults: boolean) =>
    serve(Users, { read: async () => value as { name: string } }, { checkResults, onError });
  expect(await outcome(users({ name: 'x', password: 'y' }, true)(request('GET', '/read')))).toEqual({
    status: 200,
    text: '{"name":"x"}',
  });
  expect(await outcome(users({ name: 5 }, true)(request('GET', '/read')))).toEqual({
    status: 500,
    text: 'Internal server error',
  });
  expect(await outcome(users({ name: 5 }, false)(request('GET', '/read')))).toEqual({
    status: 200,
    text: '{"name":5}',
  });
});

async function* chunks(...texts: string[]) {
  for (const text of texts) yield utf8(text);
}

describe('errors that an operation states', () => {
  const Missing = z.object({ id: z.string() });
  const Busy = z.object({ until: z.date() });
  const Stated = contract('Stated', {
    take: post({ id: z.string() }, z.string(), { errors: { 404: Missing, 409: Busy } }),
    other: get({}, z.string()),
  });
  const until = new Date(5);
  const handle = serve(Stated, {
    async take({ id }) {
      if (id === 'gone') throw httpError(Stated, 'take', 404, { id });
      if (id === 'busy') throw httpError(Stated, 'take', 409, { until });
      throw new HttpErrorException(id === 'odd' ? 404 : 418, 'in words');
    },
    other: async () => Promise.reject(new HttpErrorException(404, 'no')),
  });
  const client = connect(Stated, overTheWire(handle));
  const outcomeOf = async (id: string) =>
    knownError(Stated, 'take', await client.take({ id }).catch((error: unknown) => error));

  test('come back with what they hold, told apart by their status', async () => {
    const missing = await outcomeOf('gone');
    expect(missing).toEqual({ status: 404, body: { id: 'gone' } });
    expect(await outcomeOf('busy')).toEqual({ status: 409, body: { until } });
    if (missing?.status === 404) missing.body.id satisfies string;
    if (missing?.status === 409) missing.body.until satisfies Date;
    // @ts-expect-error a status that is not stated
    expect(missing?.status === 418).toBe(false);
    // @ts-expect-error what this error does not hold
    expect(() => httpError(Stated, 'take', 404, { until })).not.toThrow();
  });
  test('are not known by another status, another body, or where none is stated', async () => {
    expect([await outcomeOf('odd'), await outcomeOf('tea')]).toEqual([undefined, undefined]);
    const refused = await client.other().catch((error: unknown) => error);
    expect(await knownError(Stated, 'other', refused)).toBeUndefined();
    expect(await knownError(Stated, 'take', new Error('no answer'))).toBeUndefined();
  });
});
