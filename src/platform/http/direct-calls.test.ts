import { connect } from 'node:net';
import {
  Body,
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  Module,
  Param,
  Post,
  UseInterceptors,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import type { Request } from 'express';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { startHttpApp } from '../../../test/support/http-app.js';
import { comparable, sendBytes } from '../../../test/support/raw-http.js';
import { SchedulerError } from '../errors.js';

const asked: string[] = [];

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
    throw new SchedulerError('NOT_FOUND', 'It is not here');
  }

  @Post('text')
  change(@Body() body: unknown): unknown {
    return { body };
  }
}

@Controller('api/direct')
class Direct extends Answers {}

@Controller('api/framed')
@UseInterceptors({ intercept: (_context, next) => next.handle() })
class Framed extends Answers {}

/** Of a path that newer clients write in another way. */
@Controller('api/slaves')
class Aliased extends Answers {}

@Injectable()
class Guard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { method, route, url } = context.switchToHttp().getRequest<Request>();
    const way = context.constructor.name === 'DirectCall' ? 'directly' : 'by the framework';
    asked.push(`${method} ${(route as { path: string }).path} as ${url} ${way}`);
    return true;
  }
}

@Module({ controllers: [Direct, Framed, Aliased], providers: [{ provide: APP_GUARD, useClass: Guard }] })
class Rooms {}

const apps = {
  plain: {},
  'context path': { http: { contextPath: '/singularity' } },
  'other origins': { cors: { enabled: true, allowedOrigins: ['https://there.example.com'] } },
  'older clients': { compatibility: '1.5' },
};
type Kind = keyof typeof apps;
const ports = {} as Record<Kind, number>;
const ends: (() => Promise<void>)[] = [];
beforeAll(async () => {
  for (const [kind, settings] of Object.entries(apps)) {
    const app = await startHttpApp(Rooms, settings);
    ports[kind as Kind] = Number(new URL(await app.getUrl()).port);
    ends.push(() => app.close());
  }
});
afterAll(() => Promise.all(ends.map((end) => end())));

/** What comes back until the service hangs up. */
async function send(kind: Kind, text: string): Promise<string[]> {
  const told = await sendBytes(`http://127.0.0.1:${ports[kind]}`, text.replaceAll('\n', '\r\n'));
  return comparable(told.replaceAll('/api/framed', '/api/direct'));
}

const get = (path: string, ...headers: string[]): string =>
  [`GET ${path} HTTP/1.1`, 'Host: localhost', ...headers, '', ''].join('\n');
const last = 'Connection: close';
const tagged = 'W/"QPOoJwjPzRFX_POyh6S1LKqPMaU"';

describe('whatever is sent, a read that goes directly is answered as the framework answers it', () => {
  test.each<[string, string, Kind?]>([
    ['nothing special', get('/api/direct/text', last)],
    ['an id of its own', get('/api/direct/text', 'X-Request-Id: mine-1', last)],
    ['an error with it', get('/api/direct/refused', 'X-Request-Id: mine-2', last)],
    ['no Host', `GET /api/direct/text HTTP/1.1\n${last}\n\n`],
    ['Host twice', get('/api/direct/text', 'Host: localhost', last)],
    ['another Host', `GET /api/direct/text HTTP/1.1\nHost: evil.example.com\n${last}\n\n`],
    ['HTTP/1.0', 'GET /api/direct/text HTTP/1.0\n\n'],
    ['a whole address', get('http://localhost/api/direct/text', last)],
    ['a fragment', get('/api/direct/text#there', last)],
    ['a fragment in the query', get('/api/direct/text?a=b#there', last)],
    ['bytes beyond ASCII', get('/api/direct/t\xe9xt', last)],
    ['a zero', get('/api/direct/later/%00', last)],
    ['an empty query', get('/api/direct/text?', last)],
    ['a strange query', get('/api/direct/text?&&=&__proto__=1&a[b]=c&%zz=%', last)],
    ['a backslash', get('/api/direct\\text', last)],
    ['dots', get('/api/direct/../direct/text', last)],
    ['a long path', get(`/api/direct/later/${'1'.repeat(5_000)}`, last)],
    ['no number', get('/api/direct/later/soon', last)],
    ['a body', `${get('/api/direct/text', 'Content-Length: 2', 'Content-Type: text/html', last)}{}`],
    ['a body in chunks', `${get('/api/direct/text', 'Transfer-Encoding: chunked', last)}2\n{}\n0\n\n`],
    ['an upgrade', get('/api/direct/text', 'Connection: Upgrade, close', 'Upgrade: h2c')],
    ['an expectation', get('/api/direct/text', 'Expect: 100-continue', last)],
    ['a known tag', get('/api/direct/text', `If-None-Match: ${tagged}`, last)],
    ['any tag', get('/api/direct/text', 'If-None-Match: *', last)],
    ['a time', get('/api/direct/text', 'If-Modified-Since: Tue, 01 Jan 2030 00:00:00 GMT', last)],
    ['a range', get('/api/direct/text', 'Range: bytes=0-1', last)],
    ['brotli', get('/api/direct/text', 'Accept-Encoding: br', last)],
    ['no type that there is', get('/api/direct/text', 'Accept: text/html', last)],
    ['HEAD', get('/api/direct/text', last).replace('GET', 'HEAD')],
    ['OPTIONS', get('/api/direct/text', last).replace('GET', 'OPTIONS')],
    ['a page of another origin', get('/api/direct/text', 'Origin: https://evil.example.com', last)],
    [
      'several in a row',
      [
        get('/api/direct/later/30'),
        get('/api/direct/text'),
        get('/api/direct/refused'),
        `${get('/api/direct/text', 'Content-Type: application/json', 'Content-Length: 7').replace('GET', 'POST')}{"a":1}`,
        get('/api/direct/later/1'),
        get('/api/direct/text', last),
      ].join(''),
    ],
    ['below the context path', get('/singularity/api/direct/text?a=b', last), 'context path'],
    ['an error below it', get('/singularity/api/direct/refused', last), 'context path'],
    ['a whole address below it', get('http://localhost/singularity/api/direct/text', last), 'context path'],
    ['outside of it', get('/api/direct/text', last), 'context path'],
    ['beside it', get('/singularityapi/direct/text', last), 'context path'],
    ['it twice', get('/singularity/singularity/api/direct/text', last), 'context path'],
    ['an allowed origin', get('/api/direct/text', 'Origin: https://there.example.com', last), 'other origins'],
    ['one that is not', get('/api/direct/text', 'Origin: https://evil.example.com', last), 'other origins'],
    ['no origin, where others are allowed', get('/api/direct/refused', last), 'other origins'],
    ['an older client', get('/api/direct/text?what=x', last), 'older clients'],
  ])('%s', async (_name, text, kind = 'plain') => {
    const direct = await send(kind, text);
    const framed = await send(kind, text.replaceAll('/api/direct', '/api/framed'));
    expect(direct).toEqual(framed);
    expect(direct[0]).toMatch(/HTTP\/1.1 \d{3}/);
  });
});

test.each<[Kind, string, string]>([
  ['plain', '/api/direct/text?a=b', 'GET /api/direct/text as /api/direct/text?a=b directly'],
  ['plain', '/api/agents/text?a=b', 'GET /api/slaves/text as /api/slaves/text?a=b directly'],
  ['context path', '/singularity/api/direct/text', 'GET /api/direct/text as /api/direct/text directly'],
  ['context path', '/singularity/api/agents/text?x=1', 'GET /api/slaves/text as /api/slaves/text?x=1 directly'],
  ['other origins', '/api/direct/later/1', 'GET /api/direct/later/:millis as /api/direct/later/1 directly'],
  ['older clients', '/api/direct/text', 'GET /api/direct/text as /api/direct/text directly'],
  [
    'plain',
    'http://localhost/api/direct/text',
    'GET /api/direct/text as http://localhost/api/direct/text by the framework',
  ],
])('%s: %s goes its way', async (kind, path, way) => {
  asked.length = 0;
  const [answer] = await send(kind, get(path, last));
  expect(answer).toContain('HTTP/1.1 200 OK');
  expect(asked).toEqual([way]);
});

test('what the caller has already is not sent again', async () => {
  const [answer] = await send('plain', get('/api/direct/text', `If-None-Match: ${tagged}`, last));
  expect(answer).toMatch(/HTTP\/1.1 304 Not Modified/);
  expect(answer).not.toContain('"text"');
});

test('a caller that hangs up before the answer is there harms no other', async () => {
  const gone = connect(ports.plain, '127.0.0.1');
  asked.length = 0;
  gone.write(get('/api/direct/later/50').replaceAll('\n', '\r\n'));
  await vi.waitFor(() => expect(asked).toHaveLength(1));
  gone.destroy();
  expect((await send('plain', get('/api/direct/later/100', last)))[0]).toContain('{"later":100}');
});
