import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  body,
  byteStream,
  connect,
  contract,
  float,
  get,
  headerOf,
  HttpErrorException,
  jsonArray,
  ndjson,
  post,
  put,
  rawResponse,
  serve,
  streamBody,
  textBody,
  unit,
} from '../src/index.js';
import { BrokenResponse, fetchBackend } from '../src/fetch.js';
import { inMemory, overTheWire } from '../src/memory.js';
import { nodeListener } from '../src/node.js';
import { listen, until } from './support/http.js';
import { all, outcome, recorder, request, utf8 } from './support/wire.js';

const Row = z.object({ n: z.int(), at: z.date().optional(), text: z.string().optional() });
const Api = contract('Api', {
  lines: get({ count: z.int() }, ndjson(Row)),
  list: get({ count: z.int() }, jsonArray(Row)),
  download: get({ chunks: z.int() }, byteStream('application/x-log')),
  upload: put({ data: body(byteStream()) }, z.int()),
  importLines: post({ rows: body(ndjson(Row)) }, z.int()),
  importList: post({ rows: body(jsonArray(Row)) }, z.int()),
  echo: post({ rows: body(ndjson(Row)) }, jsonArray(Row)),
});

let produced = 0;
let closed = 0;
async function* rows({ count }: { count: number }) {
  try {
    for (let n = 0; n < count; n += 1) {
      produced += 1;
      yield { n, text: 'x'.repeat(1_000) };
    }
  } finally {
    closed += 1;
  }
}
async function* chunks({ chunks: count }: { chunks: number }) {
  for (let i = 0; i < count; i += 1) {
    produced += 1;
    yield new Uint8Array(65_536).fill(i % 256);
  }
}
const count = async (values: AsyncIterable<unknown>) => (await all(values)).length;
const service = {
  lines: rows,
  list: async (args: { count: number }) => rows(args),
  download: chunks,
  upload: async ({ data }: { data: AsyncIterable<Uint8Array> }) => {
    let size = 0;
    for await (const chunk of data) size += chunk.byteLength;
    return size;
  },
  importLines: async ({ rows: given }: { rows: AsyncIterable<unknown> }) => count(given),
  importList: async ({ rows: given }: { rows: AsyncIterable<unknown> }) => count(given),
  echo: ({ rows: given }: { rows: AsyncIterable<z.infer<typeof Row>> }) => given,
};
const served = serve(Api, service);
const url = await listen(nodeListener(served));

/** Resolves when nothing was produced for a while, which an unhindered producer never does before its end. */
async function standstill() {
  for (let last = -1; last !== produced;) {
    last = produced;
    await new Promise((resolve) => setTimeout(resolve, 150));
  }
}

describe.each([
  ['in memory', connect(Api, served)],
  ['over the encodings of HTTP', connect(Api, overTheWire(served))],
  ['over a socket', connect(Api, fetchBackend(url))],
])('%s', (_name, client) => {
  test('elements come and go', async () => {
    expect((await all(await client.lines({ count: 3 }))).map(({ n }) => n)).toEqual([0, 1, 2]);
    expect((await all(await client.list({ count: 3 }))).map(({ n }) => n)).toEqual([0, 1, 2]);
    expect(await all(await client.list({ count: 0 }))).toEqual([]);
    expect(await client.importLines({ rows: rows({ count: 50 }) })).toBe(50);
    expect(await client.importList({ rows: rows({ count: 50 }) })).toBe(50);
  });
  test('bytes come and go', async () => {
    expect((await all(await client.download({ chunks: 4 }))).reduce((size, chunk) => size + chunk.byteLength, 0)).toBe(
      262_144,
    );
    expect(await client.upload({ data: chunks({ chunks: 4 }) })).toBe(262_144);
  });
  test('both at once, value by value', async () => {
    const at = new Date(5);
    async function* given() {
      yield { n: 1, at };
      yield { n: 2 };
    }
    expect(await all(await client.echo({ rows: given() }))).toEqual([{ n: 1, at }, { n: 2 }]);
  });
  test('the reader sets the pace: an endless source is asked for what is taken', async () => {
    produced = 0;
    closed = 0;
    let taken = 0;
    for await (const row of await client.lines({ count: Number.MAX_SAFE_INTEGER })) {
      expect(row.n).toBe(taken);
      taken += 1;
      if (taken === 10) break;
    }
    await until(() => closed === 1, 'the source to be closed');
    // Sockets and streams hold some, of rows of 1 kB; memory would hold them all.
    expect(produced).toBeLessThan(20_000);
  });
});

test('in memory the call asks for the first, and nothing more is produced than is asked for', async () => {
  produced = 0;
  const iterator = (await inMemory(Api, service).lines({ count: 5 }))[Symbol.asyncIterator]();
  expect(produced).toBe(1);
  await iterator.next();
  expect(produced).toBe(1);
  await iterator.next();
  expect(produced).toBe(2);
  await iterator.return?.();
});

test('a slow reader stops a fast sender over a socket', async () => {
  produced = 0;
  const iterator = (await connect(Api, fetchBackend(url)).download({ chunks: 10_000 }))[Symbol.asyncIterator]();
  await iterator.next();
  // 640 MB would be ready in well under a second; it stands still as soon as the buffers on the way are full.
  await standstill();
  expect(produced).toBeLessThan(1_000);
  await iterator.return?.();
});

test('a slow reader stops an upload too', async () => {
  let release: () => void = () => {};
  const gate = new Promise<void>((resolve) => (release = resolve));
  const Slow = contract('Slow', { put: put({ data: body(byteStream()) }, unit) });
  const slow = await listen(
    nodeListener(
      serve(Slow, {
        put: async ({ data }) => {
          await gate;
          for await (const _chunk of data);
        },
      }),
    ),
  );
  produced = 0;
  const call = connect(Slow, fetchBackend(slow)).put({ data: chunks({ chunks: 2_000 }) });
  await until(() => produced > 0, 'the upload to start');
  await standstill();
  expect(produced).toBeLessThan(1_000);
  release();
  await call;
  expect(produced).toBe(2_000);
});

describe('what is on the wire', () => {
  const textOf = async (path: string, n: number) => {
    const { body: content } = await served(request('GET', path, { query: [['count', String(n)]] }));
    if (content.kind !== 'stream') throw new Error('no stream');
    const bytes = await all(content.content);
    return {
      type: content.mediaType,
      text: bytes
        .map((one) => new TextDecoder().decode(one))
        .join('')
        .replaceAll(/,"text":"x*"/g, ''),
    };
  };
  test('lines', async () =>
    expect(await textOf('/lines', 2)).toEqual({
      type: 'application/x-ndjson;charset=utf-8',
      text: '{"n":0}\n{"n":1}\n',
    }));
  test('an array', async () => {
    expect(await textOf('/list', 2)).toEqual({ type: 'application/json;charset=utf-8', text: '[{"n":0},{"n":1}]' });
    expect(await textOf('/list', 0)).toMatchObject({ text: '[]' });
  });
});

describe('reading elements', () => {
  const Any = contract('Any', { list: get({}, jsonArray(z.unknown())), lines: get({}, ndjson(z.unknown())) });
  const read = (name: 'list' | 'lines', text: string, size: number) => {
    async function* pieces() {
      const bytes = utf8(text);
      for (let i = 0; i < bytes.length; i += size) yield bytes.slice(i, i + size);
    }
    const type = name === 'list' ? 'application/json' : 'application/x-ndjson';
    return connect(Any, recorder({ status: 200, body: streamBody(pieces(), type) }).handle)
      [name]()
      .then(all);
  };
  const values = [{ a: '],["\\"', b: [1, [2, { c: null }]] }, 'ä☃\u{1f600}', 5, true, [], {}, ''];
  test.each([1, 2, 3, 7, 1_000])('in pieces of %i bytes', async (size) => {
    expect(await read('list', JSON.stringify(values, null, 1), size)).toEqual(values);
    expect(await read('list', ` \n[ ] `, size)).toEqual([]);
    expect(await read('lines', values.map((value) => `${JSON.stringify(value)}\r\n\n`).join(''), size)).toEqual(values);
    expect(await read('lines', '1\n2', size)).toEqual([1, 2]);
  });
  test.each([
    ['list', '[1,2', 'ends before its array does'],
    ['list', '', 'ends before its array does'],
    ['list', '[1,,2]', 'is not a valid JSON array'],
    ['list', '[1,]', 'is not a valid JSON array'],
    ['list', '[1] 2', 'is not a JSON array'],
    ['list', '{}', 'is not a JSON array'],
    ['list', '[1,nope]', 'has an unreadable element 1, which is not valid JSON'],
    ['lines', '1\n{', 'has an unreadable element 1, which is not valid JSON'],
  ] as const)('%s %j: %s', async (name, text, message) => {
    await expect(read(name, text, 3)).rejects.toThrow(message);
  });
  test('a whole body may be read where a stream is expected', async () => {
    const Whole = serve(contract('W', { put: put({ rows: body(jsonArray(z.int())) }, z.int()) }), {
      put: async ({ rows: given }) => count(given),
    });
    expect(await outcome(Whole(request('PUT', '/put', { body: textBody('[1,2,3]', 'application/json') })))).toEqual({
      status: 200,
      text: '3',
    });
  });
});

describe('a source that fails', () => {
  const errors: unknown[] = [];
  const reports: string[] = [];
  const secret = new Error('secret');
  const problem = new HttpErrorException(409, textBody('{"code":7}', 'application/problem+json'), {
    headers: [['Retry-After', '3']],
  });
  const wrong = { [Symbol.toPrimitive]: () => 1 } as never;
  const Broken = contract('Broken', {
    refused: get({}, ndjson(z.int())),
    list: get({}, jsonArray(z.int())),
    bytes: get({}, byteStream()),
    raw: get({}, rawResponse),
    crash: get({}, ndjson(z.int())),
    unsendable: get({}, ndjson(float)),
    late: get({}, ndjson(z.int())),
    lateRefusal: get({}, jsonArray(z.int())),
    echo: post({ rows: body(ndjson(z.int())) }, ndjson(z.int())),
    silent: get({}, byteStream()),
  });
  // eslint-disable-next-line require-yield
  async function* fails(error: unknown): AsyncGenerator<never> {
    throw error;
  }
  async function* failsLater(error: unknown) {
    yield 1;
    throw error;
  }
  let stopped = 0;
  const silent = {
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise<never>(() => {}),
      return: async () => ((stopped += 1), { done: true as const, value: undefined }),
    }),
  };
  const server = serve(
    Broken,
    {
      refused: () => fails(problem),
      list: () => fails(problem),
      bytes: async () => fails(problem),
      raw: async () => ({ status: 200, headers: [], body: streamBody(fails(problem)) }),
      crash: () => fails(secret),
      unsendable: async function* () {
        yield wrong;
      },
      late: () => failsLater(secret),
      lateRefusal: () => failsLater(problem),
      echo: ({ rows: given }) => given,
      silent: () => silent,
    },
    {
      onError: (error, { operation }) => {
        errors.push(error);
        reports.push(operation);
      },
    },
  );
  const near = connect(Broken, server);
  const origin = listen(nodeListener(server));
  const far = origin.then((at) => connect(Broken, fetchBackend(at)));

  test.each(['refused', 'list', 'bytes'] as const)(
    'before its first chunk decides status, headers and body: %s',
    async (name) => {
      errors.length = 0;
      for (const client of [near, await far]) {
        const error = await client[name]().catch((caught: unknown) => caught);
        expect(error).toBeInstanceOf(HttpErrorException);
        expect(error).toMatchObject({ status: 409, message: '{"code":7}' });
        expect(headerOf(error as HttpErrorException, 'retry-after')).toBe('3');
      }
      expect(errors).toEqual([]);
    },
  );
  test('whatever the operation answers with', async () => {
    expect(await server(request('GET', '/raw'))).toMatchObject({ status: 409 });
    const answer = await fetch(`${await origin}/raw`);
    expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
      409,
      'application/problem+json',
      '{"code":7}',
    ]);
  });
  test('an error without a status is 500, and the hook hears of it', async () => {
    errors.length = reports.length = 0;
    for (const client of [near, await far]) {
      await expect(client.crash()).rejects.toMatchObject({ status: 500, message: 'Internal server error' });
    }
    await expect(near.unsendable()).rejects.toMatchObject({ status: 500 });
    expect(errors.slice(0, 2)).toEqual([secret, secret]);
    expect(reports).toEqual(['Broken.crash', 'Broken.crash', 'Broken.unsendable']);
  });
  test("an unreadable element that is passed on is the caller's error", async () => {
    const given = textBody('nope', 'application/x-ndjson');
    expect(await outcome(server(request('POST', '/echo', { body: given })))).toEqual({
      status: 400,
      text: "The body field 'rows' of operation 'Broken.echo' has an unreadable element 0, which is not valid JSON".replace(
        'body field',
        'body',
      ),
    });
  });
  test('later a client in memory sees the error itself', async () => {
    errors.length = 0;
    expect(
      await near
        .late()
        .then(all)
        .catch((caught: unknown) => caught),
    ).toBe(secret);
    expect(
      await near
        .lateRefusal()
        .then(all)
        .catch((caught: unknown) => caught),
    ).toBe(problem);
    expect(errors).toEqual([secret, problem]);
  });
  test.each(['late', 'lateRefusal'] as const)('and an HTTP client that the answer broke off: %s', async (name) => {
    errors.length = 0;
    const seen: number[] = [];
    const client = await far;
    const read = async () => {
      for await (const n of await client[name]()) seen.push(n);
    };
    const error = await read().catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(BrokenResponse);
    expect(error).toMatchObject({ message: `The response to GET /${name} broke off` });
    expect(errors).toHaveLength(1);
    expect(seen.length).toBeLessThanOrEqual(1);
  });
  test('a caller that gives up before the first chunk lets go of the source, and is no failure', async () => {
    errors.length = 0;
    stopped = 0;
    for (const client of [near, await far]) {
      await expect(client.silent({}, { timeoutMs: 200 })).rejects.toMatchObject({ name: 'TimeoutError' });
    }
    await until(() => stopped === 2, 'the sources to be let go of');
    expect(errors).toEqual([]);
  });
  test('a caller that gives up later is told its own reason', async () => {
    const controller = new AbortController();
    const client = connect(Api, fetchBackend(url));
    const read = async () => {
      for await (const _chunk of await client.download({ chunks: 10_000 }, { signal: controller.signal })) {
        controller.abort(new Error('enough'));
      }
    };
    await expect(read()).rejects.toThrow('enough');
  });
});
