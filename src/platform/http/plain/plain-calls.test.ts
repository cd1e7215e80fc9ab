import http, { type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  Module,
  Param,
  Post,
  StreamableFile,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import fc from 'fast-check';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startHttpApp } from '../../../../test/support/http-app.js';
import { waitFor } from '../../../../test/support/wait-for.js';
import { SchedulerError } from '../../errors.js';
import { PlainAnswer } from './plain-answer.js';

const large = 'ä'.repeat(3_000_000);
/** Of each call: how it was read. */
const ways: string[] = [];

class Answers {
  @Get('text')
  text(): unknown {
    return { text: 'a' };
  }

  @Get('later/:millis')
  async later(@Param('millis') millis: number): Promise<unknown> {
    return { later: await delay(millis, millis) };
  }

  @Get('refused')
  refused(): never {
    throw new SchedulerError('UNAVAILABLE', 'It is not here: ä');
  }

  @Get('large')
  large(): unknown {
    return { large };
  }

  @Get('nothing')
  nothing(): void {}

  @Get('stream')
  stream(): StreamableFile {
    return new StreamableFile(Buffer.from('streamed'));
  }

  @Post('text')
  change(): unknown {
    return { text: 'b' };
  }
}

@Controller('api/direct')
class Direct extends Answers {}

@Injectable()
class Guard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    ways.push(context.switchToHttp().getResponse<unknown>() instanceof PlainAnswer ? 'plainly' : 'by Node.js');
    return true;
  }
}

@Module({ controllers: [Direct], providers: [{ provide: APP_GUARD, useClass: Guard }] })
class Rooms {}

const settings = { http: { keepAliveTimeoutMillis: 1_000, headersTimeoutMillis: 1_500, maxConcurrentCalls: 8 } };
type Kind = 'plain' | 'by Node.js';
const ports = {} as Record<Kind, number>;
const ends: (() => Promise<void>)[] = [];
beforeAll(async () => {
  for (const kind of ['plain', 'by Node.js'] as const) {
    const app = await startHttpApp(Rooms, settings);
    ends.push(() => app.close());
    ports[kind] = Number(new URL(await app.getUrl()).port);
    if (kind === 'plain') continue;
    const server = app.getHttpServer() as Server;
    const taken = server.listeners('connection') as ((socket: Socket) => void)[];
    // It comes first.
    server.off('connection', taken[0]!);
    server.on('connection', (http as unknown as { _connectionListener: () => void })._connectionListener);
  }
});
afterAll(() => Promise.all(ends.map((end) => end())));

class Caller {
  private told = '';
  isOver = false;
  readonly socket: Socket;

  constructor(port = ports.plain) {
    this.socket = connect(port, '127.0.0.1').setNoDelay(true);
    this.socket.setEncoding('latin1');
    this.socket.on('data', (text: string) => (this.told += text));
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => (this.isOver = true));
  }

  send(text: string): void {
    this.socket.write(text, 'latin1');
  }

  /** What has come, when there are so many answers. */
  async answers(count: number): Promise<string[]> {
    await waitFor('the answers', () => this.told.split('HTTP/1.1 ').length > count);
    return this.all();
  }

  /** Until something has come, or nothing will: the service may wait for more of the call. */
  async said(): Promise<void> {
    await waitFor('an answer', () => this.told !== '' || this.isOver, { timeoutMillis: 300 }).catch(() => undefined);
  }

  /** What has come, when the connection has ended. */
  async last(): Promise<string[]> {
    await waitFor('the end of the connection', () => this.isOver);
    return this.all();
  }

  private all(): string[] {
    return this.told
      .replaceAll(/^(Date|X-Request-Id): (?!mine).*$/gm, '$1: *')
      .replaceAll(/"requestId":"(?!mine)[^"]*"/g, '"requestId":"*"')
      .split(/(?=HTTP\/1.1 )/)
      .map((answer) => {
        const [head = '', ...body] = answer.split('\r\n\r\n');
        return [...head.split('\r\n').toSorted(), ...body].join('\n');
      });
  }
}

const lines = (...all: string[]): string => [...all, '', ''].join('\r\n');
const get = (path: string, ...headers: string[]): string =>
  lines(`GET /api/direct/${path} HTTP/1.1`, 'Host: localhost', ...headers);
const last = 'Connection: close';

/** All that is answered to these calls, each of which is sent when the one before is answered; or to pieces of calls, in no time. */
async function answersTo(calls: readonly string[], kind: Kind = 'plain', inTurn = true): Promise<string[]> {
  const caller = new Caller(ports[kind]);
  for (const [index, call] of calls.entries()) {
    caller.send(call);
    if (inTurn && index < calls.length - 1) await caller.answers(index + 1);
  }
  return caller.last();
}

test.each<[string, string[]]>([
  ['a read', [get('text', last)]],
  [
    'reads one after the other',
    [get('text', 'Connection: Keep-Alive'), get('later/1', 'X-Request-Id: mine'), get('nothing', last)],
  ],
  ['a read that fails', [get('refused', 'Accept: */*'), get('text', last)]],
  ['parameters', [get('text?a=b&c=%20', 'Accept:', 'User-Agent: a b  c', last)]],
  [
    'an answer for callers who take it compressed',
    [get('text', 'Accept-Encoding: gzip, br'), get('nothing', 'Accept-Encoding: br', last)],
  ],
  [
    'what the caller has',
    [get('text', 'If-None-Match: *'), get('text', 'If-None-Match: *', 'Accept-Encoding: gzip', last)],
  ],
  [
    'what is answered in another way than by a text',
    [get('stream'), get('stream', 'Accept-Encoding: gzip'), get('text', last)],
  ],
  ['long answers', [get('large'), get('large', last)]],
])('%s: answered plainly as by Node.js', async (_name, pieces) => {
  ways.length = 0;
  const told = await answersTo(pieces);
  expect(ways).toEqual(pieces.map(() => 'plainly'));
  expect(told).toEqual(await answersTo(pieces, 'by Node.js'));
});

test('a long answer for a caller who takes it compressed is compressed, and calls go on', async () => {
  const pieces = [get('large', 'Accept-Encoding: gzip'), get('text', last)];
  const [first, second] = await answersTo(pieces);
  expect(first).toContain('Content-Encoding: gzip');
  expect(second).toContain('{"text":"a"}');
  expect([first, second]).toEqual(await answersTo(pieces, 'by Node.js'));
});

test.each<[string, string[]]>([
  ['another method', [get('text', 'Content-Length: 0', last).replace('GET', 'POST')]],
  ['HEAD', [get('text', last).replace('GET', 'HEAD')]],
  ['an older version', [get('text').replace('1.1', '1.0')]],
  ['a body', [`${get('text', 'Content-Length: 3', last)}abc`]],
  ['no body, said so', [get('text', 'Content-Length: 0', last)]],
  ['chunks', [`${get('text', 'Transfer-Encoding: chunked', last)}0\r\n\r\n`]],
  ['an upgrade', [get('text', 'Connection: Upgrade, close', 'Upgrade: h2c')]],
  ['a header twice', [get('text', 'Accept: */*', 'accept: text/html', last)]],
  ['a name with a blank behind it', [get('text', 'Accept : */*', last)]],
  ['a name with an underline', [get('text', 'Content_Length: 5', last)]],
  ['a header that goes on in the next line', [get('text', 'Accept: application/json,', ' text/html', last)]],
  ['a tabulator', [get('text', 'Accept:\t*/*', last)]],
  ['bytes beyond ASCII', [get('text', 'User-Agent: \xe4', last)]],
  ['lines that end otherwise', [get('text', last).replaceAll('\r\n', '\n')]],
  ['an empty line first', [`\r\n${get('text', last)}`]],
  ['a call in two pieces', [get('text', last).slice(0, 30), get('text', last).slice(30)]],
  ['a call byte by byte', [...get('text', last)]],
  ['two calls at once', [get('text') + get('text', last)]],
  ['a call and the beginning of the next', [get('text') + get('text', last).slice(0, 9), get('text', last).slice(9)]],
  ['what is no call', ['hello\r\n\r\n']],
  ['long headers', [get('text', `User-Agent: ${'x'.repeat(5_000)}`, last)]],
])('%s is read by Node.js', async (_name, pieces) => {
  ways.length = 0;
  const told = await answersTo(pieces, 'plain', false);
  // Pieces may come together.
  if (pieces.length === 1) expect(ways).not.toContain('plainly');
  expect(told).toEqual(await answersTo(pieces, 'by Node.js', false));
});

test('calls that come before the one before is answered wait for it, whatever they are', async () => {
  const pieces = [
    get('later/40'),
    get('text'),
    get('text', 'Content-Length: 0').replace('GET', 'POST'),
    get('text', last),
  ];
  const told = await answersTo(pieces, 'plain', false);
  expect(told.map((answer) => answer.split('\n').at(-1))).toEqual([
    '{"later":40}',
    '{"text":"a"}',
    '{"text":"b"}',
    '{"text":"a"}',
  ]);
  expect(told).toEqual(await answersTo(pieces, 'by Node.js', false));
});

const name = fc.constantFrom(
  'Host',
  'Accept',
  'Connection',
  'Content-Length',
  'Transfer-Encoding',
  'X-A',
  'x_b',
  'Expect',
  '',
  ' Fold',
);
const value = fc.constantFrom(
  'localhost',
  '*/*',
  'close',
  'keep-alive',
  '0',
  '2',
  'chunked',
  'a b ',
  ' a',
  '\t',
  '\xff',
  '',
);
const header = fc.tuple(name, fc.constantFrom(': ', ':', ' : ', ':  ', ' '), value).map((parts) => parts.join(''));
const lineEnd = fc.oneof({ weight: 9, arbitrary: fc.constant('\r\n') }, fc.constantFrom('\n', '\r', '\r\n\r\n'));
const call = fc
  .tuple(
    fc.oneof({ weight: 5, arbitrary: fc.constant('GET') }, fc.constantFrom('POST', 'get', 'GET ')),
    fc.constantFrom(
      '/api/direct/text',
      '/api/direct/refused?a=b',
      '/api/direct/none',
      '/api/direct/text#a',
      'api',
      '/api/direct/%zz',
    ),
    fc.oneof({ weight: 5, arbitrary: fc.constant('HTTP/1.1') }, fc.constantFrom('HTTP/1.0', 'HTTP/1.1 ', 'HTTP/2.0')),
    fc.array(fc.tuple(header, lineEnd), { maxLength: 3 }),
    fc.constantFrom('', '', '', 'ab', '0\r\n\r\n'),
  )
  .map(([method, path, version, headers, body]) =>
    [`${method} ${path} ${version}\r\nHost: localhost\r\n`, ...headers.flat(), `\r\n${body}`].join(''),
  );

/** To the first of them, and then to all others at once. */
async function answersToAll([first, ...others]: readonly string[], kind: Kind): Promise<string[]> {
  const caller = new Caller(ports[kind]);
  caller.send(first!);
  await caller.said();
  caller.send(others.join(''));
  return caller.last();
}

test('whatever comes is answered as Node.js alone answers it', { timeout: 120_000 }, () =>
  fc.assert(
    fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 3 }), async (calls) => {
      const all = [...calls, get('text', last)];
      const [plain, byNode] = await Promise.all([answersToAll(all, 'plain'), answersToAll(all, 'by Node.js')]);
      const [fewer, more] = [plain, byNode]
        .map((told) => told.filter((answer) => answer !== ''))
        .toSorted((a, b) => a.length - b.length);
      expect(more!.slice(0, fewer!.length)).toEqual(fewer);
      // What is sent behind a wrong call may arrive when the connection has ended, and takes the last refusal with it.
      for (const lost of more!.slice(fewer!.length)) expect(lost).toMatch(/HTTP\/1.1 4\d\d/);
    }),
    { numRuns: 200 },
  ),
);

test('a connection on which nothing is called ends by itself, after its calls without a word, before them with one', async () => {
  const [caller, silent] = [new Caller(), new Caller()];
  caller.send(get('text'));
  await caller.answers(1);
  expect(await caller.last()).toHaveLength(1);
  expect((await silent.last())[0]).toMatch(/^.*CALL_TIMEOUT.*$/m);
});

test('a call that takes longer than a connection may be idle is answered', async () => {
  const caller = new Caller();
  caller.send(get('later/1600', last));
  expect((await caller.last())[0]).toContain('{"later":1600}');
});

test('a server that is closed ends the connections that are idle, and answers the others', async () => {
  const other = await startHttpApp(Rooms, settings);
  const port = Number(new URL(await other.getUrl()).port);
  const [idle, calling] = [new Caller(port), new Caller(port)];
  idle.send(get('text'));
  await idle.answers(1);
  ways.length = 0;
  calling.send(get('later/100'));
  await waitFor('the call', () => ways.length === 1);
  const server = other.getHttpServer() as Server;
  const closed = new Promise((resolve) => server.close(resolve));
  await idle.last();
  expect((await calling.answers(1))[0]).toContain('{"later":100}');
  calling.socket.destroy();
  await closed;
});

test('a caller who leaves before the answer gives its place to others', async () => {
  const leaving = Array.from({ length: 8 }, () => new Caller());
  ways.length = 0;
  for (const caller of leaving) caller.send(get('later/60000'));
  await waitFor('all of them', () => ways.length === 8);
  const refused = new Caller();
  refused.send(get('text', last));
  expect((await refused.last())[0]).toContain('503');
  for (const { socket } of leaving) socket.destroy();
  await waitFor('a place', async () => {
    const next = new Caller();
    next.send(get('text', last));
    return (await next.last())[0]?.includes('{"text":"a"}');
  });
});

test('a caller who does not read gets all later, and the calls after it', async () => {
  const slow = new Caller();
  slow.send(get('large'));
  slow.socket.pause();
  await delay(50);
  slow.send(get('text', last));
  slow.socket.resume();
  const [first, second] = await slow.last();
  expect(Buffer.from(first!.split('\n').at(-1)!, 'latin1').toString()).toBe(JSON.stringify({ large }));
  expect(second).toContain('{"text":"a"}');
});

test('a header that would end the line is refused', () => {
  const answer = new PlainAnswer({} as never, {} as never);
  expect(() => answer.setHeader('X-A', 'b\r\nX-C: d')).toThrow(/Invalid character/);
  expect(() => answer.setHeaders(new Map([['X-A\n', 'b']]))).toThrow(/valid HTTP token/);
});
