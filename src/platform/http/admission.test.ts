import 'reflect-metadata';
import type { Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { type CanActivate, Controller, type ExecutionContext, Get, Injectable, Module, Post } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Request } from 'express';
import { afterEach, expect, test } from 'vitest';
import { Body } from './inputs.js';
import { startHttpApp } from '../../../test/support/http-app.js';
import { sendBytes } from '../../../test/support/raw-http.js';
import { waitFor } from '../../../test/support/wait-for.js';
import { callerAddress } from './addresses-of-call.js';
import { callerIsKnown } from './admission.js';

/** Calls that wait until the test lets them go. */
let held: (() => void)[] = [];

@Controller()
class Rooms {
  @Get('api/slow') async slow(): Promise<string> {
    await new Promise<void>((resolve) => held.push(resolve));
    return 'done';
  }
  @Post('api/things') things(@Body() body: object): unknown {
    return body;
  }
  @Get('api/large') large(): string {
    return 'x'.repeat(20_000_000);
  }
  @Get('api/slow-large') async slowLarge(): Promise<string> {
    await this.slow();
    return this.large();
  }
  @Get('healthz') healthy(): string {
    return 'ok';
  }
}

/** Callers, once for each call that has come so far, and for each that is over. */
let seenOf: string[] = [];
let endedOf: string[] = [];
const begun = (caller: string) => seenOf.filter((each) => each === caller).length;
const ended = (caller: string) => endedOf.filter((each) => each === caller).length;

/** In place of authentication: the caller says who it is; without, it is not let in. */
@Injectable()
class Guard implements CanActivate {
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request>();
    const id = request.get('x-caller');
    if (id === undefined) return true;
    seenOf.push(id);
    // As authentication does: a socket that has ended knows the address only if it was asked before.
    callerAddress(request);
    request.res!.once('close', () => endedOf.push(id));
    await callerIsKnown(request, { id, isAdmin: id === 'admin', hasLongBody: request.get('x-long') !== undefined });
    return true;
  }
}
@Module({ controllers: [Rooms], providers: [{ provide: APP_GUARD, useClass: Guard }] })
class TestModule {}

let app: NestExpressApplication;
let url: string;
let sockets: Socket[] = [];
async function start(http: Record<string, unknown> = {}): Promise<void> {
  seenOf = [];
  endedOf = [];
  app = await startHttpApp(TestModule, { http });
  url = await app.getUrl();
}
afterEach(async () => {
  for (const release of held.splice(0)) release();
  for (const socket of sockets.splice(0)) socket.destroy();
  await app.close();
});

const head = (length: number) =>
  `POST /api/things HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;
const get = (path: string, caller?: string) =>
  fetch(url + path, { headers: caller === undefined ? {} : { 'x-caller': caller } });
const post = (caller: string, body: unknown = {}) =>
  fetch(`${url}/api/things`, {
    method: 'POST',
    headers: { 'x-caller': caller, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
/** Sends a beginning and then nothing more. */
async function begin(text: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  sockets.push(socket);
  await new Promise<void>((resolve) => socket.write(text, () => resolve()));
  return socket;
}

/** The service has taken so many connections, and all that was to be read of them. */
async function seen(connections: number): Promise<void> {
  const server = app.getHttpServer() as Server;
  const count = () => new Promise<number>((resolve) => server.getConnections((_cause, found) => resolve(found)));
  await waitFor('the connections', async () => (await count()) >= connections);
  expect((await get('/healthz')).status).toBe(200);
}

test('1,100 calls that are not sent to their end keep no caller waiting, and probes neither', async () => {
  // None of them is given up before all is looked at.
  await start({ bodyTimeoutMillis: 120_000 });
  await Promise.all(Array.from({ length: 1_100 }, () => begin(`${head(1_000)}{`)));
  // The others have been hung up on by then, being too many of one address.
  await seen(500);
  const answers = [await post('admin', { a: 1 }), await post('ann'), await get('/healthz')];
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 200]);
  expect(await openConnections()).toBeGreaterThan(500);
});

test('beyond the limit of its address a body has to be there at once', async () => {
  await start({ maxUnfinishedBodiesPerAddress: 3 });
  await Promise.all(Array.from({ length: 3 }, () => begin(`${head(1_000)}{`)));
  // Once the service has seen them.
  await waitFor('the limit', async () => (await sendBytes(url, `${head(1_000)}{`)).startsWith('HTTP/1.1 429'));
  expect(await sendBytes(url, `${head(1_000)}{`)).toMatch(/Connection: close[^]*"code":"TOO_MANY_BODIES"/);
  expect((await post('ann', { text: 'x'.repeat(100_000) })).status).toBe(201);
});

test('a body that stops coming is given up, long before the time of a whole call is over', async () => {
  await start({ bodyTimeoutMillis: 300 });
  const answer = await sendBytes(url, `${head(1_000)}{`);
  expect(answer).toMatch(/^HTTP\/1.1 408[^]*"code":"CALL_TIMEOUT","message":"The body was not sent in time: 300 ms/);
});

test('a large body that keeps coming has longer', async () => {
  await start({ bodyTimeoutMillis: 300 });
  const text = JSON.stringify({ text: 'x'.repeat(1_000_000) });
  const socket = await begin(head(text.length));
  let answer = '';
  socket.on('data', (bytes) => (answer += bytes.toString()));
  for (let at = 0; at < text.length; at += 250_000) {
    await new Promise<void>((resolve) => socket.write(text.slice(at, at + 250_000), () => resolve()));
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  await waitFor('the answer', () => answer.startsWith('HTTP/1.1 201'));
});

test('places for administrators are left when all others are taken', async () => {
  await start({ maxConcurrentCalls: 4, placesForAdministrators: 1 });
  const waiting = ['ann', 'ann', 'bob', 'bob'].map((caller) => get('/api/slow', caller));
  await waitFor('four calls', () => held.length === 4);
  const [eve, admin] = [await post('eve'), await post('admin')];
  expect([eve.status, admin.status]).toEqual([503, 201]);
  expect(await eve.json()).toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringContaining('which is the limit'),
  });
  for (const release of held.splice(0)) release();
  for (const answer of await Promise.all(waiting)) expect(answer.status).toBe(200);
  expect((await post('eve')).status).toBe(201);
});

test('one caller gets half of the places at most', async () => {
  await start({ maxConcurrentCalls: 4 });
  const waiting = ['ann', 'ann'].map((caller) => get('/api/slow', caller));
  await waitFor('two calls', () => held.length === 2);
  expect([(await post('ann')).status, (await post('bob')).status]).toEqual([503, 201]);
  for (const release of held.splice(0)) release();
  await Promise.all(waiting);
  expect((await post('ann')).status).toBe(201);
});

test('calls of one caller beyond so many at a time wait for their turn, in order, and those of others do not', async () => {
  await start({ maxCallsInWorkPerCaller: 2, maxConcurrentCalls: 8 });
  const answers: number[] = [];
  const waiting: Promise<unknown>[] = [];
  const ask = async (number: number) => {
    waiting.push(get('/api/slow', 'ann').then(() => answers.push(number)));
    await waitFor('the call', () => begun('ann') >= number);
  };
  for (const number of [1, 2, 3, 4]) await ask(number);
  // All four have their places: a fifth is one too many. Two of them are worked on.
  expect([(await post('ann')).status, held.length]).toEqual([503, 2]);
  expect([(await post('bob')).status, (await post('admin')).status]).toEqual([201, 201]);
  for (const done of [1, 2, 3, 4]) {
    held.shift()!();
    await waitFor('the answer', () => answers.length === done);
    await waitFor('those whose turn it is', () => held.length === Math.min(2, 4 - done));
  }
  expect(answers).toEqual([1, 2, 3, 4]);
  await Promise.all(waiting);
  expect((await post('ann')).status).toBe(201);
});

test('calls with long bodies of one caller come one after the other, and keep no turn of others waiting', async () => {
  await start({ maxCallsInWorkPerCaller: 2 });
  const long = () => fetch(`${url}/api/slow`, { headers: { 'x-caller': 'ann', 'x-long': 'yes' } });
  const waiting = [long(), long(), long()];
  await waitFor('the calls', () => begun('ann') === 3);
  await waitFor('the first', () => held.length === 1);
  expect([(await post('ann')).status, held.length]).toEqual([201, 1]);
  for (let left = 3; left > 0; left--) {
    await waitFor('the next', () => held.length === 1);
    held.shift()!();
  }
  for (const answer of await Promise.all(waiting)) expect(answer.status).toBe(200);
});

test('a caller who hangs up while it waits for its turn leaves the line', async () => {
  await start({ maxCallsInWorkPerCaller: 1 });
  const first = get('/api/slow', 'ann');
  await waitFor('the first call', () => held.length === 1);
  const gone = new AbortController();
  const second = fetch(`${url}/api/slow`, { headers: { 'x-caller': 'ann' }, signal: gone.signal }).catch(() => 'gone');
  await waitFor('the second call', () => begun('ann') === 2);
  gone.abort();
  expect(await second).toBe('gone');
  await waitFor('its end', () => ended('ann') === 1);
  const third = post('ann');
  held.shift()!();
  expect([(await first).status, (await third).status, held.length]).toEqual([200, 201, 0]);
});

test('an answer that is not read takes no turn of its caller', async () => {
  await start({ maxCallsInWorkPerCaller: 1 });
  (await begin(large)).pause();
  await waitFor('the call', () => begun('ann') === 1);
  expect((await post('ann')).status).toBe(201);
});

test('callers that stay unknown take no place of known ones', async () => {
  await start({ maxConcurrentCalls: 2 });
  const waiting = [get('/api/slow', 'ann'), get('/api/slow')];
  await waitFor('two calls', () => held.length === 2);
  expect((await post('bob')).status).toBe(201);
  for (const release of held.splice(0)) release();
  await Promise.all(waiting);
});

test('large bodies on their way share a bounded room', async () => {
  await start();
  await Promise.all(Array.from({ length: 26 }, () => begin(`${head(10_000_000)}{`)));
  await seen(26);
  expect(await sendBytes(url, head(10_000_000))).toMatch(/^HTTP\/1.1 503[^]*large bodies/);
  expect((await post('ann', { small: true })).status).toBe(201);
});

const chunked = `POST /api/things HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

test('bodies in chunks take of that room when they have become large', async () => {
  await start();
  await Promise.all(Array.from({ length: 100 }, () => begin(`${chunked}${chunk('{')}`)));
  await seen(100);
  const whole = answerTo(await begin(`${chunked}${chunk('{}')}0\r\n\r\n`));
  await waitFor('an answer', () => whole.text !== '');
  expect(whole.text).toMatch(/^HTTP\/1.1 201/);
  const large = `${chunked}${chunk(' '.repeat(1_100_000))}`;
  const answers = await Promise.all(Array.from({ length: 30 }, async () => answerTo(await begin(large))));
  // 256 MB hold 25 of them.
  await waitFor('those that are too many', () => answers.filter(({ text }) => text !== '').length >= 5);
  for (const { text } of answers) expect(text).toMatch(/^$|^HTTP\/1.1 503[^]*large bodies/);
  expect(answers.filter(({ text }) => text === '').length).toBe(25);
});

function answerTo(socket: Socket): { text: string } {
  const answer = { text: '' };
  socket.on('data', (bytes) => (answer.text += String(bytes)));
  return answer;
}

test('packed bodies take the room that they may come to when they are unpacked', async () => {
  await start();
  const packed = head(10_200).replace('Content-Length', 'Content-Encoding: gzip\r\nContent-Length');
  await Promise.all(Array.from({ length: 25 }, () => begin(`${packed}x`)));
  await seen(25);
  expect(await sendBytes(url, packed)).toMatch(/^HTTP\/1.1 503[^]*large bodies/);
  expect((await post('ann', { small: true })).status).toBe(201);
});

const large = 'GET /api/large HTTP/1.1\r\nHost: localhost\r\nX-Caller: ann\r\n\r\n';
const openConnections = () =>
  new Promise<number>((resolve) => (app.getHttpServer() as Server).getConnections((_cause, found) => resolve(found)));

test('a caller who does not read its answer is hung up on', async () => {
  await start({ answerTimeoutMillis: 300 });
  (await begin(large)).pause();
  await waitFor('the connection', async () => (await openConnections()) === 1);
  await waitFor('its end', async () => (await openConnections()) === 0);
});

test('large answers that one caller does not read are bounded, and others get theirs', async () => {
  await start();
  for (let count = 0; count < 3; count++) (await begin(large)).pause();
  const answer = async () => (await get('/api/large')).status;
  await waitFor('the bound', async () => (await answer()) === 503);
  expect(await (await get('/api/large')).json()).toMatchObject({ message: expect.stringContaining('not read yet') });
  for (const socket of sockets.splice(0)) socket.destroy();
  await waitFor('room again', async () => (await answer()) === 200);
});

test('large answers to callers who have gone before they were made bound nobody', async () => {
  await start();
  for (let count = 1; count <= 4; count++) {
    const socket = await begin(large.replace('/large', '/slow-large'));
    await waitFor('the call', () => held.length === 1);
    socket.destroy();
    await waitFor('its end', () => ended('ann') === count);
    held.pop()!();
  }
  await waitFor('the others', async () => (await get('/healthz')).status === 200);
  expect((await get('/api/large', 'ann')).status).toBe(200);
});

test('answers that wait for others of their connection end with it', async () => {
  await start({ maxConcurrentCalls: 3 });
  const socket = await begin(large.replace('/large', '/slow').replace('ann', 'cat').repeat(3));
  await waitFor('the calls', () => begun('cat') === 3);
  socket.destroy();
  await waitFor('the end of all', () => ended('cat') === 3);
  expect((await get('/api/large', 'bob')).status).toBe(200);
  for (const release of held.splice(0)) release();
  await waitFor('the last', async () => (await get('/healthz')).status === 200);
  expect(ended('cat')).toBe(3);
});
