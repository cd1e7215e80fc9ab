import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Head,
  Injectable,
  type MiddlewareConsumer,
  Module,
  Param,
  Post,
  Query,
  StreamableFile,
  UseInterceptors,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import type { NextFunction, Request, Response } from 'express';
import { of } from 'rxjs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startHttpApp } from '../../../test/support/http-app.js';
import { SchedulerError } from '../errors.js';
import { CallerUser } from './caller.js';
import { neverChanges } from './json.js';
import { QueryInt, QueryText } from './query.js';

class Wanted {
  @QueryInt({ max: 10 })
  count?: number;

  @QueryText('name')
  name?: string;

  /** Says which ways go the same. */
  all(): string {
    return `${this.count}/${this.name}`;
  }
}

const large = neverChanges(Array.from({ length: 100_000 }, (_, index) => `member-${index}`));

/** What both controllers do: one goes directly, the other one has an interceptor of its own. */
class Answers {
  @Get()
  list(): unknown[] {
    return [{ id: 'b', deep: { x: 1, y: null } }, { id: 'a' }];
  }

  @Get('one/:id')
  one(@Param('id') id: string, @Query() query: Wanted, @CallerUser() user: { id: string }): unknown {
    return { id, asked: query.all(), user: user.id, is: query instanceof Wanted };
  }

  @Get('one/first')
  first(): unknown {
    return 'never: the path above comes first';
  }

  @Get('single')
  single(@Query('name') name?: string): unknown {
    return { name };
  }

  @Get('nothing')
  nothing(): void {}

  @Get('null')
  none(): null {
    return null;
  }

  @Get('text')
  text(): string {
    return 'ünïcode ✓';
  }

  @Get('number')
  number(): number {
    return 7;
  }

  @Get('large')
  large(): unknown {
    return large;
  }

  @Get('stream')
  stream(): StreamableFile {
    return new StreamableFile(Buffer.from('as it is'), { type: 'text/plain' });
  }

  @Get('later')
  later(): unknown {
    return of({ last: 2 });
  }

  @Get('refused')
  refused(): never {
    throw new SchedulerError('NOT_FOUND', 'It is not here');
  }

  @Get('broken')
  broken(): Promise<never> {
    return Promise.reject(new Error('a secret of the inside'));
  }

  @Get('uri')
  uri(): string {
    return decodeURIComponent('%');
  }

  @Head('headed')
  headed(): void {}

  @Post('single')
  change(): unknown {
    return { changed: true };
  }
}

const asked: string[] = [];

@Injectable()
class Guard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<Request>();
    const isDirect = context.constructor.name === 'DirectCall';
    asked.push(
      `${request.method} ${(request.route as { path: string }).path} ${isDirect ? 'directly' : 'by the framework'}`,
    );
    if (request.headers['x-refused'] !== undefined) throw new SchedulerError('FORBIDDEN', 'The guard says no');
    return request.headers['x-let-in'] !== 'no';
  }
}

@Controller('api/direct')
class Direct extends Answers {}

@Controller('api/framed')
@UseInterceptors({ intercept: (_context, next) => next.handle() })
class Framed extends Answers {}

@Module({ controllers: [Direct, Framed], providers: [{ provide: APP_GUARD, useClass: Guard }] })
class Rooms {
  configure(consumer: MiddlewareConsumer): void {
    const stop = (request: Request, _response: Response, next: NextFunction): void =>
      next(request.headers['x-stopped'] === undefined ? undefined : new SchedulerError('UNAVAILABLE', 'It stops'));
    consumer.apply(stop).forRoutes('/api/*path');
  }
}

let url: string;
let close: () => Promise<void>;
beforeAll(async () => {
  const app = await startHttpApp(Rooms);
  url = await app.getUrl();
  close = () => app.close();
});
afterAll(() => close());

async function call(path: string, init: RequestInit = {}) {
  const answer = await fetch(url + path, init);
  const told = (await answer.text())
    .replace(/"requestId":"[^"]*"/, '"requestId":"*"')
    .replaceAll('/api/framed', '/api/direct');
  const changing = new Set(['date', 'x-request-id', 'connection', 'keep-alive']);
  const headers = [...answer.headers].filter(([name]) => !changing.has(name));
  return { status: answer.status, headers: Object.fromEntries(headers), told };
}

describe('a read that goes directly is answered as the framework would answer it', () => {
  test.each<[string, Record<string, string>?]>([
    [''],
    ['/'],
    ['?property=id'],
    ['?cursor=*&limit=1'],
    ['?cursor=wrong!'],
    ['/one/x'],
    ['/one/x/'],
    ['/one/first'],
    ['/one/x%2Fy?count=3&name=n'],
    ['/one/x?count=11'],
    ['/one/x?count=many&count=2'],
    ['/one/x?cuont=1'],
    ['/one/x?cuont=1', { Prefer: 'handling=strict' }],
    ['/one/%zz'],
    ['/one/%F0'],
    ['/one/x', { Accept: 'text/html' }],
    ['/one/x', { Accept: 'text/html, */*;q=0.1' }],
    ['/one/x', { 'Accept-Encoding': 'gzip' }],
    ['/one/x', { 'If-None-Match': 'W/"nothing"' }],
    ['/one/x', { 'If-None-Match': '*' }],
    ['/one/x', { 'X-Let-In': 'no' }],
    ['/one/x', { 'X-Refused': '1' }],
    ['/one/x', { 'X-Stopped': '1' }],
    ['/one/x', { 'Idempotency-Key': 'k' }],
    ['/single'],
    ['/single?name=n'],
    ['/single?name=n&name=m'],
    ['/nothing'],
    ['/null'],
    ['/text'],
    ['/number'],
    ['/large', { 'Accept-Encoding': 'identity' }],
    ['/large', { 'Accept-Encoding': 'gzip' }],
    ['/stream'],
    ['/later'],
    ['/refused'],
    ['/refused?cuont=1'],
    ['/broken'],
    ['/uri'],
    ['/headed'],
    ['/ONE/x'],
    ['//one/x'],
    ['/nowhere'],
  ])('%s %j', async (path, headers = {}) => {
    asked.length = 0;
    const direct = await call(`/api/direct${path}`, { headers });
    const framed = await call(`/api/framed${path}`, { headers });
    // What is sent as a stream says nothing of its length when it is compressed; and the link of a page names its path.
    const link = framed.headers['link'];
    if (link !== undefined) framed.headers['link'] = link.replace('/api/framed', '/api/direct');
    expect(direct).toEqual(framed);
    expect(asked.map((line) => line.split(' ').slice(2).join(' '))).toEqual(
      asked.length === 0 ? [] : ['directly', 'by the framework'],
    );
  });

  test('HEAD goes the way of the framework', async () => {
    asked.length = 0;
    await call('/api/direct/single', { method: 'POST' });
    await call('/api/direct/single', { method: 'HEAD' });
    expect(asked).toEqual(['POST /api/direct/single directly', 'HEAD /api/direct/single by the framework']);
  });

  test('what is gone before its answer leaves nothing behind', async () => {
    const aborted = new AbortController();
    const gone = fetch(`${url}/api/direct/large`, { signal: aborted.signal }).catch(() => undefined);
    aborted.abort();
    await gone;
    expect((await call('/api/direct/text')).status).toBe(200);
  });
});
