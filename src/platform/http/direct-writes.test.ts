import { gzipSync } from 'node:zlib';
import {
  Body,
  type CanActivate,
  Controller,
  Delete,
  type ExecutionContext,
  HttpCode,
  Injectable,
  Module,
  Param,
  type PipeTransform,
  Post,
  Put,
  Query,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { IsBoolean, IsOptional } from 'class-validator';
import type { Request } from 'express';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startHttpApp } from '../../../test/support/http-app.js';
import { comparable, sendBytes } from '../../../test/support/raw-http.js';
import { SchedulerError } from '../errors.js';
import { NeedsBody, NeedsMember } from './bodies.js';
import { Int32, Nested, Text } from './fields.js';
import { QueryInt } from './query.js';

class Inner {
  @Text('name')
  name!: string;
}

class Wanted {
  @Text('name')
  id!: string;

  @IsOptional()
  @Int32({ min: 1 })
  instances?: number;

  @IsOptional()
  @IsBoolean()
  paused?: boolean;

  @IsOptional()
  @Nested(() => Inner)
  inner?: Inner;
}

class Asked {
  @QueryInt({ max: 10 })
  count?: number;
}

@Injectable()
class Shouting implements PipeTransform {
  transform(value: unknown): unknown {
    return String(value).toUpperCase();
  }
}

@Injectable()
class OwnGuard implements CanActivate {
  canActivate(context: ExecutionContext): Promise<boolean> {
    const { headers } = context.switchToHttp().getRequest<Request>();
    return Promise.resolve(headers['x-own'] !== 'no');
  }
}

/** What both controllers do: one goes directly, the other one has an interceptor that says nothing of its steps. */
class Changes {
  @Post()
  create(@Body() body: Wanted): unknown {
    return { made: body, is: body instanceof Wanted };
  }

  @Post('of/:id')
  @HttpCode(200)
  both(@Param('id', Shouting) id: string, @Body() body: Wanted, @Query() query: Asked): unknown {
    return { id, body, count: query.count };
  }

  @Post('nothing')
  @HttpCode(204)
  nothing(): void {}

  @Post('little')
  @HttpCode(204)
  little(): unknown {
    return { left: 'out' };
  }

  @Post('nullish')
  nullish(): null {
    return null;
  }

  @Put('member')
  @NeedsMember(['instances'], { nullClears: true })
  @UseGuards(OwnGuard)
  @NeedsBody()
  @HttpCode(202)
  member(@Body() body: Wanted): unknown {
    return { body };
  }

  @Delete('one')
  remove(@Body('id') id: string): unknown {
    return { id };
  }

  @Post('free')
  free(@Body() body: Record<string, unknown>): unknown {
    return body;
  }

  @Post('refused')
  refused(): never {
    throw new SchedulerError('NOT_FOUND', 'It is not here');
  }

  @Post('broken')
  broken(): Promise<never> {
    return Promise.reject(new Error('a secret of the inside'));
  }
}

@Controller('api/direct')
class Direct extends Changes {}

@Controller('api/framed')
@UseInterceptors({ intercept: (_context, next) => next.handle() })
class Framed extends Changes {}

let asked: string[] = [];

@Injectable()
class Guard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    asked.push(context.constructor.name === 'DirectCall' ? 'directly' : 'by the framework');
    const { headers } = context.switchToHttp().getRequest<Request>();
    if (headers['x-refused'] !== undefined) throw new SchedulerError('FORBIDDEN', 'The guard says no');
    return headers['x-let-in'] !== 'no';
  }
}

@Module({ controllers: [Direct, Framed], providers: [{ provide: APP_GUARD, useClass: Guard }] })
class Rooms {}

const apps = {
  plain: { maxRequestBodyBytes: 1_000 },
  impatient: { http: { bodyTimeoutMillis: 100 } },
  'other origins': { cors: { enabled: true, allowedOrigins: ['https://there.example.com'] } },
  'older clients': { compatibility: '1.5' },
};
type Kind = keyof typeof apps;
const urls = {} as Record<Kind, string>;
const ends: (() => Promise<void>)[] = [];
beforeAll(async () => {
  for (const [kind, settings] of Object.entries(apps)) {
    const app = await startHttpApp(Rooms, settings);
    urls[kind as Kind] = await app.getUrl();
    ends.push(() => app.close());
  }
});
afterAll(() => Promise.all(ends.map((end) => end())));

const last = 'Connection: close';
const json = 'Content-Type: application/json';
const head = (line: string, ...headers: string[]): string =>
  [`${line} HTTP/1.1`, 'Host: localhost', ...headers, '', ''].join('\r\n');

/** A call with a body of which it says how long it is. */
const sent = (line: string, body: string | Buffer, ...headers: string[]): string =>
  head(line, `Content-Length: ${Buffer.byteLength(body)}`, ...headers, last) +
  (typeof body === 'string' ? Buffer.from(body) : body).toString('latin1');
const post = (path: string, body: unknown, ...headers: string[]): string =>
  sent(`POST /api/direct${path}`, JSON.stringify(body), json, ...headers);

const good = { id: 'a' };
const deep = `${'{"a":'.repeat(70)}1${'}'.repeat(70)}`;

describe('whatever is sent, a change that goes directly is answered as the framework answers it', () => {
  test.each<[string, string, number, Kind?]>([
    ['a good one', post('', good), 201],
    ['with an id of its own', post('', good, 'X-Request-Id: mine-1'), 201],
    ['to a path with a slash', post('/', good), 201],
    ['with all members', post('', { id: 'a', instances: 2, paused: false, inner: { name: 'n' } }), 201],
    ['with nulls', post('', { id: 'a', instances: null, inner: null }), 201],
    ['with members that nothing knows', post('', { id: 'a', instnaces: 2, inner: { name: 'n', nmae: 'm' } }), 201],
    ['with them, strictly', post('', { id: 'a', instnaces: 2 }, 'Prefer: handling=strict'), 400],
    ['with them and another fault', post('', { instnaces: 2 }), 400],
    ['without a member', post('', {}), 400],
    ['of wrong types', post('', { id: 1, instances: '2', paused: 'yes', inner: 3 }), 400],
    ['beyond its limits', post('', { id: 'a', instances: 0, inner: {} }), 400],
    ['that is a list', post('', [good]), 400],
    ['that is a text', post('', 'a'), 400],
    ['that is null', post('', null), 400],
    ['that is a list of nothing', post('/free', []), 400],
    ['with __proto__', sent('POST /api/direct/free', '{"__proto__":{"a":1},"constructor":{"b":2}}', json), 201],
    ['too deep', sent('POST /api/direct/free', deep, json), 400],
    ['with a character that cannot be stored', post('/free', { text: '\u0000' }), 400],
    ['with half of a character', sent('POST /api/direct/free', '{"a":"\\ud800"}', json), 400],
    ['with letters of other languages', post('/free', { text: 'ünïcode ✓' }), 201],
    ['with a mark of byte order', sent('POST /api/direct/free', '\ufeff{"a":1}', json), 201],
    ['that is no UTF-8', sent('POST /api/direct/free', Buffer.from('{"a":"\xff\xc3"}', 'latin1'), json), 201],
    ['of malformed JSON', sent('POST /api/direct', '{"id":', json), 400],
    ['of JSON and more', sent('POST /api/direct', '{"id":"a"} x', json), 400],
    ['of blanks', sent('POST /api/direct/free', '   ', json), 400],
    ['with blanks around', sent('POST /api/direct', ' {"id":"a"}\r\n', json), 201],
    ['empty', sent('POST /api/direct', '', json), 400],
    ['empty, without a type', sent('POST /api/direct/free', ''), 201],
    ['without a body', head('POST /api/direct/free', last), 201],
    ['of another type', sent('POST /api/direct', '{"id":"a"}', 'Content-Type: text/plain'), 415],
    ['of a form', sent('POST /api/direct', 'id=a', 'Content-Type: application/x-www-form-urlencoded'), 415],
    ['without a type', sent('POST /api/direct', '{"id":"a"}'), 415],
    ['of a type like JSON', sent('POST /api/direct', '{"id":"a"}', 'Content-Type: application/merge-patch+json'), 201],
    ['of JSON in UTF-8', sent('POST /api/direct', '{"id":"a"}', `${json}; charset=utf-8`), 201],
    ['of JSON in "UTF-8"', sent('POST /api/direct', '{"id":"a"}', `${json}; charset="UTF-8"`), 201],
    [
      'of JSON in UTF-16',
      sent('POST /api/direct', Buffer.from('{"id":"a"}', 'utf16le'), `${json}; charset=utf-16`),
      201,
    ],
    ['of JSON in Latin 1', sent('POST /api/direct', '{"id":"a"}', `${json}; charset=iso-8859-1`), 415],
    ['of JSON with a strange parameter', sent('POST /api/direct', '{"id":"a"}', `${json}; version=1; charset`), 201],
    ['compressed', sent('POST /api/direct', gzipSync('{"id":"a"}'), json, 'Content-Encoding: gzip'), 201],
    [
      'compressed to less than is allowed',
      sent('POST /api/direct', gzipSync(`"${'a'.repeat(2_000)}"`), json, 'Content-Encoding: gzip'),
      413,
    ],
    ['compressed, as it says', sent('POST /api/direct', '{"id":"a"}', json, 'Content-Encoding: gzip'), 400],
    ['in an unknown encoding', sent('POST /api/direct', '{"id":"a"}', json, 'Content-Encoding: zip'), 415],
    ['in no encoding', sent('POST /api/direct', '{"id":"a"}', json, 'Content-Encoding: identity'), 201],
    ['too large', sent('POST /api/direct', `"${'a'.repeat(2_000)}"`, json), 413],
    ['as large as is allowed', sent('POST /api/direct/free', `{"a":"${'a'.repeat(992)}"}`, json), 201],
    [
      'in chunks',
      `${head('POST /api/direct', json, 'Transfer-Encoding: chunked', last)}4\r\n{"id\r\n6\r\n":"a"}\r\n0\r\n\r\n`,
      201,
    ],
    [
      'in chunks that are too large',
      `${head('POST /api/direct', json, 'Transfer-Encoding: chunked', last)}5dc\r\n${'1'.repeat(1_500)}\r\n0\r\n\r\n`,
      413,
    ],
    [
      'in chunks of nothing',
      `${head('POST /api/direct/free', json, 'Transfer-Encoding: chunked', last)}0\r\n\r\n`,
      201,
    ],
    ['that is announced', post('', good, 'Expect: 100-continue'), 100],
    ['with two lengths', head('POST /api/direct', json, 'Content-Length: 2', 'Content-Length: 3', last) + '{} ', 400],
    ['with a tag', post('', good, 'If-None-Match: *'), 201],
    ['for which another type is asked', post('', good, 'Accept: text/html'), 406],
    ['that wants it compressed', post('', { id: 'a'.repeat(400) }, 'Accept-Encoding: gzip'), 201],
    ['that is not let in', post('', good, 'X-Let-In: no'), 403],
    ['that is refused', post('', {}, 'X-Refused: 1'), 403],
    ['that is not found', post('/refused', {}), 404],
    ['that breaks', post('/broken', {}), 500],
    ['without an answer', post('/nothing', {}), 204],
    ['whose answer is left out', post('/little', {}), 204],
    ['with an answer of null', post('/nullish', {}), 201],
    ['with path, body and query', post('/of/x?count=3', good), 200],
    ['with a wrong body and a wrong query', post('/of/x?count=11', {}), 400],
    ['with a wrong query', post('/of/x?count=11', good), 400],
    ['with a parameter that nothing knows', post('/of/x?cuont=1', good), 200],
    ['with a malformed path', post('/of/%zz', good), 400],
    ['where another member is needed', sent('PUT /api/direct/member', '{"id":"a"}', json), 400],
    ['where the member is misspelt', sent('PUT /api/direct/member', '{"id":"a","instnaces":1}', json), 400],
    ['where the member is there', sent('PUT /api/direct/member', '{"id":"a","instances":1}', json), 202],
    ['where null is enough', sent('PUT /api/direct/member', '{"id":"a","instances":null}', json), 202],
    ['where a body is needed', sent('PUT /api/direct/member', '', json), 400],
    ['where null is no body', sent('PUT /api/direct/member', 'null', json), 400],
    ['where an own guard says no', sent('PUT /api/direct/member', '{}', json, 'X-Own: no'), 403],
    ['that deletes', sent('DELETE /api/direct/one', '{"id":"a"}', json), 200],
    ['that deletes without a body', head('DELETE /api/direct/one', last), 200],
    ['of a method that is not there', sent('PATCH /api/direct/one', '{"id":"a"}', json), 405],
    ['of a method of other paths', sent('PUT /api/direct/one', '{"id":"a"}', json), 405],
    ['to a path that is not there', post('/no/where', good), 404],
    ['malformed, to a path that is not there', sent('POST /api/direct/no/where', '{', json), 404],
    ['from a page of another origin', post('', good, 'Origin: https://evil.example.com'), 403],
    ['from one of its own', post('', good, 'Origin: http://localhost'), 201],
    ['from a site of its own', post('', good, 'Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: cors'), 403],
    ['without a Host', `POST /api/direct HTTP/1.1\r\n${json}\r\nContent-Length: 2\r\n${last}\r\n\r\n{}`, 400],
    [
      'of another Host',
      `POST /api/direct HTTP/1.1\r\nHost: evil.example.com\r\n${json}\r\nContent-Length: 2\r\n${last}\r\n\r\n{}`,
      421,
    ],
    ['in HTTP/1.0', `POST /api/direct HTTP/1.0\r\n${json}\r\nContent-Length: 10\r\n\r\n{"id":"a"}`, 201],
    ['to a whole address', sent('POST http://localhost/api/direct', '{"id":"a"}', json), 201],
    ['that stops half-way', head('POST /api/direct', json, 'Content-Length: 10', last) + '{"id"', 408, 'impatient'],
    ['from an allowed origin', post('', good, 'Origin: https://there.example.com'), 201, 'other origins'],
    ['from one that is not', post('', good, 'Origin: https://evil.example.com'), 403, 'other origins'],
    ['of an older client', post('', { id: 'a', instances: '2', paused: 'true', unknown: 1 }), 201, 'older clients'],
    ['of an older client without the member', sent('PUT /api/direct/member', '{"id":"a"}', json), 202, 'older clients'],
    [
      'of an older client in a strange encoding',
      sent('POST /api/direct', '{"id":"a"}', json, 'Content-Encoding: zip'),
      201,
      'older clients',
    ],
    [
      'several in a row',
      [
        head('POST /api/direct', json, 'Content-Length: 10') + '{"id":"a"}',
        head('POST /api/direct', json, 'Content-Length: 4') + '{"id',
        head('PUT /api/direct/member', json, 'Content-Length: 22') + '{"id":"a","instances":1}'.slice(0, 22),
        head('DELETE /api/direct/one'),
        post('/nothing', {}),
      ].join(''),
      201,
    ],
  ])('%s', async (_name, text, status, kind = 'plain') => {
    asked = [];
    const direct = comparable(await sendBytes(urls[kind], text));
    const ways = asked;
    asked = [];
    const framed = await sendBytes(urls[kind], text.replaceAll('/api/direct', '/api/framed'));
    expect(direct).toEqual(comparable(framed.replaceAll('/api/framed', '/api/direct')));
    expect(direct.join('\n')).toMatch(new RegExp(`HTTP/1.1 ${status} `));
    const isWholeAddress = text.includes('POST http:');
    expect(ways).toEqual(asked.map(() => (isWholeAddress ? 'by the framework' : 'directly')));
  });
});
