import 'reflect-metadata';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { Controller, Get, Module, Post, Res } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { afterEach, expect, test } from 'vitest';
import { startHttpApp } from '../../../test/support/http-app.js';
import { waitFor } from '../../../test/support/wait-for.js';

const opened: Readable[] = [];

@Controller()
class Rooms {
  @Get('api/stream') stream(@Res() response: ServerResponse): void {
    const stream = new Readable({ read: () => undefined });
    opened.push(stream);
    stream.pipe(response);
  }
  @Get('api/names') names(): string[] {
    return ['a'];
  }
  @Post('api/names') save(): string[] {
    return ['a'];
  }
  @Post('api/slow') async slow(): Promise<string[]> {
    await delay(50);
    return ['slow'];
  }
}
@Module({ controllers: [Rooms] })
class TestModule {}

let app: NestExpressApplication;
async function start(settings: Record<string, unknown> = {}): Promise<void> {
  app = await startHttpApp(TestModule, settings);
}
afterEach(() => app.close());

/** Between parts of a call: the next one is sent when an answer has come. */
const answered = Symbol('answered');

/** All that comes back until the service hangs up, which it must do; parts after the first are sent later. */
async function answersTo(...parts: (string | typeof answered)[]): Promise<string> {
  const { port } = app.getHttpServer().address() as { port: number };
  const socket = connect(port, '127.0.0.1');
  let got = '';
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()).on('error', () => undefined));
  socket.on('data', (bytes) => (got += bytes.toString()));
  for (const part of parts) {
    if (part === answered) {
      await waitFor('an answer', () => got !== '');
      continue;
    }
    socket.write(part);
    await delay(20);
  }
  await closed;
  return got;
}

function read(text: string): { status: number; headers: string; body: Record<string, unknown> } {
  const [head, body] = text.split('\r\n\r\n', 2);
  return { status: Number(head!.split(' ')[1]), headers: head!, body: JSON.parse(body!) as Record<string, unknown> };
}

const close = 'Host: localhost\r\nConnection: close\r\n';
const post = `POST /api/names HTTP/1.1\r\n${close}Content-Type: application/json\r\n`;

test.each([
  ['no HTTP', 'GARBAGE\r\n\r\n', 400, 'MALFORMED_CALL'],
  ['no header', 'GET /api/names HTTP/1.1\r\nno header\r\n\r\n', 400, 'MALFORMED_CALL'],
  ['an unknown method', `FOO /api/names HTTP/1.1\r\n${close}\r\n`, 400, 'MALFORMED_CALL'],
  ['no Host', 'GET /api/names HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'MALFORMED_CALL'],
  ['no version', 'GET /api/names\r\n\r\n', 400, 'MALFORMED_CALL'],
  ['version 2.0', `GET /api/names HTTP/2.0\r\n${close}\r\n`, 400, 'MALFORMED_CALL'],
  ['two lengths', `${post}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`, 400, 'MALFORMED_CALL'],
  ['no chunk', `${post}Transfer-Encoding: chunked\r\n\r\nzz\r\n`, 400, 'MALFORMED_CALL'],
  ['a URL that is too long', `GET /${'a'.repeat(20_000)} HTTP/1.1\r\n${close}\r\n`, 431, 'HEADERS_TOO_LARGE'],
  [
    'headers that are too long',
    `GET /api/names HTTP/1.1\r\n${close}X: ${'a'.repeat(20_000)}\r\n\r\n`,
    431,
    'HEADERS_TOO_LARGE',
  ],
  ['an unknown expectation', `${post}Expect: tea\r\nContent-Length: 2\r\n\r\n{}`, 417, 'EXPECTATION_FAILED'],
  ['CONNECT', `CONNECT x:80 HTTP/1.1\r\n${close}\r\n`, 405, 'METHOD_NOT_ALLOWED'],
])('%s is refused in the shape of every error', async (_name, call, status, code) => {
  await start();
  const answer = read(await answersTo(call));
  expect(answer).toMatchObject({ status, body: { status, code, errors: [], message: expect.any(String) } });
  expect(answer.headers).toContain(`X-Request-Id: ${String(answer.body['requestId'])}`);
  expect(answer.headers).toMatch(/Content-Type: application\/json/);
  expect(answer.headers).toMatch(/Connection: close/);
});

test('older clients find the status in code there, too', async () => {
  await start({ legacyFieldNames: 'accept+emit' });
  expect(read(await answersTo('GARBAGE\r\n\r\n')).body).toMatchObject({ code: 400, error: 'MALFORMED_CALL' });
});

test('HTTP/1.0 needs no Host', async () => {
  await start();
  expect(await answersTo('GET /api/names HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1.1 200/);
});

test('what follows a good call on its connection is refused after the answer to that one', async () => {
  await start();
  const [first, second] = (
    await answersTo('GET /api/names HTTP/1.1\r\nHost: localhost\r\n\r\n', answered, 'GARBAGE\r\n\r\n')
  ).split(/(?=HTTP\/1\.1)/);
  expect(first).toMatch(/^HTTP\/1.1 200[^]*\["a"\]$/);
  expect(read(second!)).toMatchObject({ status: 400, body: { code: 'MALFORMED_CALL' } });
});

const slow = 'POST /api/slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n';
const quick = 'GET /api/names HTTP/1.1\r\nHost: localhost\r\n\r\n';
const refusedChunks = 'POST /api/names HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n';
const chunks = refusedChunks.replace('Transfer', 'Content-Type: application/json\r\nTransfer');
test.each([
  ['one call', slow, 'X\r\n\r\n', 400],
  ['several calls', slow + quick, 'X\r\n\r\n', 400],
  ['a call, with a body that cannot be read', slow, chunks, 400],
  ['a call, with a body that cannot be read and is answered before', slow, refusedChunks, 415],
  ['a call, with headers that are too long', slow, `GET / HTTP/1.1\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`, 431],
  ['a call, with an unknown expectation', slow, 'GET / HTTP/1.1\r\nHost: localhost\r\nExpect: tea\r\n\r\n', 417],
  ['a call, as CONNECT', slow, 'CONNECT x:80 HTTP/1.1\r\nHost: localhost\r\n\r\n', 405],
])('what is sent behind %s is refused after the answers to those before', async (_name, before, bad, status) => {
  await start();
  const answers = (await answersTo(before + bad)).split(/(?=HTTP\/1\.1)/);
  const calls = before.split('HTTP/1.1').length - 1;
  expect(answers.map((text) => Number(text.split(' ')[1]))).toEqual([201, 200].slice(0, calls).concat(status));
  expect(answers[0]).toMatch(/\["slow"\]$/);
});

test('what follows a call that is the last one of its connection is ignored', async () => {
  await start();
  const last = slow.replace('Content-Length', 'Connection: close\r\nContent-Length');
  expect(await answersTo(`${quick}${last}${quick}X\r\n\r\n`)).toMatch(
    /^HTTP\/1\.1 200[^]*\["a"\]HTTP\/1\.1 201[^]*\["slow"\]$/,
  );
});

test('the streams of answers that nobody waits for any more are closed', async () => {
  opened.splice(0);
  await start();
  const { port } = app.getHttpServer().address() as { port: number };
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  socket.write('GET /api/stream HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(3));
  await waitFor('the streams', () => opened.length === 3);
  socket.destroy();
  // Node.js tells the first one, which ends its stream by itself.
  await waitFor('their ends', () => opened.slice(1).every(({ destroyed }) => destroyed));
});

test.each([
  ['headers', ['GET /api/names HTTP/1.1\r\n', 'Host: localhost\r\n']],
  ['a body', [`${post}Content-Length: 10\r\n\r\n`, '{']],
])('a call whose sender stops in the middle of %s is answered with 408 once its time is over', async (_name, parts) => {
  await start({ http: { headersTimeoutMillis: 200, requestTimeoutMillis: 400 } });
  expect(read(await answersTo(...parts))).toMatchObject({ status: 408, body: { code: 'CALL_TIMEOUT' } });
});
