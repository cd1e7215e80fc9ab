import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { webcrypto } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, expect, test, vi } from 'vitest';
import { connectMuster, followEvents, MusterError, type MusterOptions, ServiceUnreachable } from '../src/index.js';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

let stop: () => Promise<void> = () => Promise.resolve();
afterEach(() => stop());

/** A service that answers as it is told, one call after the other; the last answer is given again. */
async function service(...answers: Answer[]) {
  const calls: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    calls.push(request);
    request.resume();
    answers[Math.min(calls.length, answers.length) - 1]!(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stop = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const connect = (options: Partial<MusterOptions> = {}) => connectMuster({ url, ...options });
  const keys = () => calls.map(({ headers }) => headers['idempotency-key']);
  return { calls, keys, url, connect };
}

const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  (_request, response) =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
const cut: Answer = ({ socket }) => void socket.destroy();
const half: Answer = (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' }).write('["one",');
  setTimeout(() => response.destroy(), 20);
};
const refusal = (status: number, code: string) =>
  json(status, { status, code, message: `It says ${code}`, errors: [], requestId: 'call-1' });
const away = refusal(503, 'UNAVAILABLE');

const failure = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (cause: unknown) => cause,
  );

test.each([
  ['is answered 503', away],
  ['loses its connection', cut],
  ['is answered by half', half],
])('a read that %s is repeated', async (_name, bad) => {
  const { calls, connect } = await service(bad, json(200, ['one']));
  expect(await connect().requests.ids()).toEqual(['one']);
  expect(calls.length).toBe(2);
});

test.each([
  ['is answered 503', away],
  ['loses its connection', cut],
  ['is still being done', refusal(409, 'IDEMPOTENT_CALL_RUNNING')],
])('a write that %s is repeated under the same key, and another write has another key', async (_name, bad) => {
  const { keys, connect } = await service(bad, json(200, { request: { id: 'web' } }));
  const muster = connect();
  await muster.requests.pause({ requestId: 'web' });
  await muster.requests.pause({ requestId: 'web' });
  const [first, again, other] = keys();
  expect(first).toMatch(/^[\da-f]{32}$/);
  expect(again).toBe(first);
  expect(other).not.toBe(first);
});

test('what acts outside of the database bears no key and is not repeated', async () => {
  const { keys, connect } = await service(cut);
  const muster = connect();
  for (const call of [() => muster.disasters.failOver(), () => muster.test.abort()]) {
    expect(await failure(call())).toMatchObject({ name: 'ServiceUnreachable', mayBeDone: true });
  }
  expect(keys()).toEqual([undefined, undefined]);
});

test('repetitions end: by their number, and where the service asks for a long pause', async () => {
  const all = await service(away);
  expect(await failure(all.connect({ retries: 2 }).requests.ids())).toMatchObject({ status: 503 });
  expect(all.calls.length).toBe(3);
  await stop();
  const long = await service(json(503, {}, { 'retry-after': '3600' }));
  expect(await failure(long.connect().requests.ids())).toBeInstanceOf(MusterError);
  expect(long.calls.length).toBe(1);
});

test('a refusal has the status, the code, the message and each broken rule, and is not repeated', async () => {
  const errors = [{ field: 'id', rule: 'pattern', message: 'id is wrong' }];
  const body = { status: 400, code: 'INVALID_REQUEST', message: 'id is wrong', errors, requestId: 'call-7', more: 1 };
  const { calls, connect } = await service(json(400, body));
  const cause = await failure(connect().requests.save({ body: { id: 'a b', requestType: 'SERVICE' } }));
  expect(cause).toBeInstanceOf(MusterError);
  expect(cause).toMatchObject({
    status: 400,
    code: 'INVALID_REQUEST',
    message: 'id is wrong',
    errors,
    requestId: 'call-7',
  });
  expect((cause as MusterError).details['more']).toBe(1);
  expect(calls.length).toBe(1);
});

test('a service for older clients has its code in another place, and a proxy none at all', async () => {
  const { connect } = await service(json(404, { status: 404, code: 404, error: 'REQUEST_NOT_FOUND', message: 'No' }));
  expect(await failure(connect().requests.get({ requestId: 'x' }))).toMatchObject({ code: 'REQUEST_NOT_FOUND' });
  await stop();
  const page: Answer = (_request, response) =>
    void response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>');
  const proxy = await service(page);
  expect(await failure(proxy.connect().requests.ids())).toMatchObject({
    status: 502,
    code: 'HTTP_502',
    message: 'GET /api/requests/ids was answered 502',
  });
});

test('where nothing listens, a call says so at once, and that nothing was done', async () => {
  const { url } = await service(cut);
  await stop();
  const cause = await failure(connectMuster({ url: `${url}/` }).requests.pause({ requestId: 'web' }));
  expect(cause).toBeInstanceOf(ServiceUnreachable);
  expect(cause).toMatchObject({
    code: 'ECONNREFUSED',
    mayBeDone: false,
    message: `Muster does not answer at ${url}: nothing listens there`,
  });
});

test('what is not known here is passed on, and what is no such answer is told', async () => {
  const { connect } = await service(json(200, [{ id: 'web', newField: { deep: 1 } }]), json(200, { no: 'list' }));
  expect(await connect().requests.list()).toEqual([{ id: 'web', newField: { deep: 1 } }]);
  expect(String(await failure(connect().requests.list()))).toBe(
    'UnreadableResponse: The response to GET /api/requests must be a list, not an object',
  );
});

test('the token is asked for before each call, and headers are sent along', async () => {
  const { calls, connect } = await service(json(200, []));
  let count = 0;
  const muster = connect({ token: async () => `token-${++count}`, headers: { 'x-team': 'web' } });
  await muster.requests.ids();
  await muster.requests.ids();
  expect(calls.map(({ headers }) => [headers['authorization'], headers['x-team']])).toEqual([
    ['Token token-1', 'web'],
    ['Token token-2', 'web'],
  ]);
});

test('what the service does not know is refused, unless the caller wants it left out', async () => {
  const { calls, connect } = await service(json(200, []));
  await connect().requests.ids();
  await connect({ strict: false }).requests.ids();

  expect(calls.map(({ headers }) => headers.prefer)).toEqual(['handling=strict', undefined]);
});

test('writes have keys of their own in pages that came by plain HTTP, where crypto makes no UUIDs', async () => {
  const { keys, connect } = await service(json(200, { request: { id: 'web' } }));
  vi.stubGlobal('crypto', { getRandomValues: (into: Uint8Array) => webcrypto.getRandomValues(into) });
  await connect().requests.pause({ requestId: 'web' });
  vi.unstubAllGlobals();
  expect(keys()[0]).toMatch(/^[\da-f]{32}$/);
});

test('a call is given up by its own signal, by that of the client, and by its time; none of them is repeated', async () => {
  const { calls, connect } = await service(() => undefined);
  const [own, all] = [new AbortController(), new AbortController()];
  const waits = [
    failure(connect().requests.ids({}, { signal: own.signal })),
    failure(connect({ signal: all.signal }).requests.ids()),
    failure(connect({ timeoutMs: 50 }).requests.ids()),
  ];
  own.abort(new Error('enough'));
  all.abort(new Error('the program ends'));
  expect(await Promise.all(waits)).toMatchObject([
    { message: 'enough' },
    { message: 'the program ends' },
    { name: 'TimeoutError' },
  ]);
  expect(calls.length).toBeLessThanOrEqual(3);
});

test('events go on behind the last one after a cut, a silence and an end, and a reset is told', async () => {
  const streams: ServerResponse[] = [];
  const stream =
    (text: string): Answer =>
    (_request, response) => {
      streams.push(response);
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' }).write(text);
    };
  const event = (id: number) => `id: ${id}\nevent: TASK\ndata: {"type":"TASK","at":${id}}\n\n`;
  const { calls, connect } = await service(
    stream(`${event(1)}${event(2).slice(0, 9)}`),
    stream(`${event(2)}: alive\nid: 5\n\n`),
    stream('id: 6\nevent: end\ndata: {"reason":"STOPPING"}\n\n'),
    away,
    stream(`id: 9\nevent: reset\ndata: {"message":"read again"}\n\n${event(10)}`),
  );
  const told: unknown[] = [];
  for await (const each of followEvents(connect({ retries: 0 }), { type: ['TASK'] }, { silenceMs: 200 })) {
    told.push(each.kind === 'event' ? each.event.at : `${each.id} ${each.message}`);
    // The cut: what was sent before it may be lost until it is read.
    if (told.length === 1) streams[0]!.destroy();
    if (told.length === 4) break;
  }
  expect(told).toEqual([1, 2, '9 read again', 10]);
  expect(calls.map(({ url }) => url)).toEqual([
    '/api/events?type=TASK',
    '/api/events?type=TASK&lastEventId=1',
    '/api/events?type=TASK&lastEventId=5',
    '/api/events?type=TASK&lastEventId=6',
    '/api/events?type=TASK&lastEventId=6',
  ]);
});

test.each([
  ['of the service', 'k7Qz_made-by-it', 'Token k7Qz_made-by-it'],
  ['of a provider', 'head.claims.signature', 'Bearer head.claims.signature'],
])('a token %s goes under its own scheme', async (_name, token, sent) => {
  const { calls, connect } = await service(json(200, []));
  await connect({ token: () => token }).requests.ids();
  expect(calls[0]!.headers.authorization).toBe(sent);
});

test('a list of 13 MB takes about as long as its JSON alone', async () => {
  const task = { taskId: { id: 'web-1-1700000000000-1-host-rack', requestId: 'web' }, env: 'x'.repeat(900), cpus: 0.1 };
  const text = JSON.stringify(Array.from({ length: 13_000 }, () => task));
  const fetch = async () => new Response(text, { headers: { 'content-type': 'application/json' } });
  const muster = connectMuster({ url: 'http://127.0.0.1', fetch });
  const best = async (work: () => unknown): Promise<number> => {
    let least = Infinity;
    for (let count = 0; count < 7; count++) {
      const begun = performance.now();
      await work();
      least = Math.min(least, performance.now() - begun);
    }
    return least;
  };
  const plain = await best(async () => JSON.parse(await (await fetch()).text()) as unknown);
  const client = await best(() => muster.tasks.active());
  console.log(
    `${(text.length / 1e6).toFixed(1)} MB: JSON alone ${plain.toFixed(0)} ms, by the client ${client.toFixed(0)} ms`,
  );
  expect(client).toBeLessThan(3 * plain + 50);
});

test('a time limit of a whole client ends its stream, also when nothing refers to the client any more', async () => {
  const { connect } = await service((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(':\n\n');
  });
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const read = async () => {
    for await (const _bytes of await connect({ signal: AbortSignal.timeout(300) }).events.stream({})) collectGarbage();
  };
  const end = read().catch((cause: unknown) => cause);
  for (let rounds = 0; rounds < 5; rounds++) {
    await delay(20);
    collectGarbage();
  }
  expect(await end).toMatchObject({ name: 'TimeoutError' });
});
