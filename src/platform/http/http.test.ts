import { gzipSync } from 'node:zlib';
import { Controller, Delete, Get, HttpCode, Module, Param, Post, Put } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { IsBoolean, IsOptional } from 'class-validator';
import 'reflect-metadata';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Body, Query } from './inputs.js';
import { startHttpApp } from '../../../test/support/http-app.js';
import { SchedulerError } from '../errors.js';
import { NotLeaderError } from '../leadership/leadership.js';
import { type Caller, CallerUser } from './caller.js';
import type { ErrorDto } from './error.dto.js';
import {
  AnyObject,
  Decimal,
  Int32,
  Millis,
  Text,
  Nested,
  NestedList,
  OneOf,
  TextMap,
  TextMaps,
  Texts,
  Timestamp,
} from './fields.js';
import { neverChanges } from './json.js';
import { resolveAlias } from './legacy-names.js';
import { QueryBoolean, QueryInt, QueryText, QueryTexts, QueryWord, QueryWords } from './query.js';

class PartDto {
  @Text('name') name: string;
  @IsOptional() @Int32({ min: 1 }) size?: number;
}
class ThingDto {
  @Text('name') id: string;
  @IsOptional() @OneOf(['BIG', 'SMALL']) kind?: string;
  @IsOptional() @OneOf(['GREEDY', 'SPREAD_ALL_SLAVES']) slavePlacement?: string;
  @IsOptional() @Int32({ min: 1 }) count?: number;
  @IsOptional() @Millis() durationMillis?: number;
  @IsOptional() @Timestamp() at?: number;
  @IsOptional() @Decimal() weight?: number;
  @IsOptional() @IsBoolean() flag?: boolean;
  @IsOptional() @Texts('name') tags?: string[];
  @IsOptional() @TextMap() env?: Record<string, string>;
  @IsOptional() @TextMaps() taskEnv?: Record<string, Record<string, string>>;
  @IsOptional() @AnyObject() options?: Record<string, unknown>;
  @IsOptional() @TextMap() requiredSlaveAttributes?: Record<string, string>;
  @IsOptional() @Nested(() => PartDto) part?: PartDto;
  @IsOptional() @NestedList(() => PartDto) parts?: PartDto[];
}
class OptionsDto {
  @IsOptional() @Text('message') message?: string;
}
class ListQuery {
  @QueryBoolean() full?: boolean;
  @QueryInt() limit?: number;
  @QueryText('name') like?: string;
  @QueryTexts('name') id?: string[];
  @QueryWord(['ACTIVE', 'SYSTEM_COOLDOWN']) state?: string;
  @QueryWords(['BIG', 'SMALL']) kind?: string[];
}

const manyRows = neverChanges(
  Array.from({ length: 20_000 }, (_, n) => neverChanges({ id: `ä-${n}`, text: 'x'.repeat(50) })),
);

@Controller('api/things')
class ThingsController {
  @Get() list(@Query() query: ListQuery): unknown {
    return { ...query };
  }
  @Get('rows') rows(): unknown {
    return [
      { id: 1, inner: { a: 1, b: 2 }, gone: null },
      { id: 2, inner: { a: 3, b: 4 } },
    ];
  }
  @Get('legacy') legacy(): unknown {
    return [{ slaveId: 's1', clusterTask: { name: 'n', labels: {} }, rackId: 'r' }];
  }
  @Get('many') many(): unknown {
    return manyRows;
  }
  @Post() @HttpCode(200) create(@Body() thing: ThingDto): unknown {
    return thing;
  }
  @Delete('thing/:id') remove(@Param('id') id: string, @Body() options: OptionsDto): unknown {
    return { id, options };
  }
  @Put('thing/:id') @HttpCode(204) replace(): void {}
  @Get('text') text(): string {
    return 'CREATED';
  }
  @Get('flag') flag(): boolean {
    return false;
  }
  @Get('who') who(@CallerUser() caller: Caller): unknown {
    return caller;
  }
  @Get('single') single(@Query('minimal') minimal?: boolean, @Query('size') size?: number): unknown {
    return { minimal, size };
  }
  @Get('conflict') conflict(): never {
    throw new SchedulerError('CLEANUP_EXISTS', 'There is one already', { extra: { cleanup: { id: 'c' } } });
  }
  @Get('broken') broken(): never {
    throw new Error('secret detail');
  }
  @Get('away') away(): never {
    throw Object.assign(new Error('terminating connection'), { driverError: { code: '57P01' } });
  }
  @Get('follower') follower(): never {
    throw new NotLeaderError('it holds no lease');
  }
}
@Controller('api/slaves')
class SlavesController {
  @Get('slave/:id/details') details(@Param('id') id: string): unknown {
    return { slaveId: id };
  }
}
@Module({ controllers: [ThingsController, SlavesController] })
class TestModule {}

let app: NestExpressApplication;
let url: string;
beforeAll(async () => {
  app = await startHttpApp(TestModule, { maxRequestBodyBytes: 20_000 });
  url = await app.getUrl();
});
afterAll(() => app.close());

/** An error, or whatever a handler returned. */
type Body = ErrorDto & Record<string, unknown>;
interface Answer {
  status: number;
  headers: Headers;
  body: Body;
}
async function call(method: string, path: string, options: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url + path, { method, ...options });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  return {
    status: response.status,
    headers: response.headers,
    body: (isJson && text ? JSON.parse(text) : text) as Body,
  };
}
const post = (body: unknown): Promise<Answer> =>
  call('POST', '/api/things', {
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  });

describe('bodies', () => {
  test.each([
    ['a text for a number', { count: '2' }, 'count', 'integer'],
    ['a fraction for an integer', { count: 2.7 }, 'count', 'integer'],
    ['a number below the least', { count: 0 }, 'count', 'min'],
    ['a number beyond 32 bits', { count: 2 ** 31 }, 'count', 'max'],
    ['a negative duration', { durationMillis: -1 }, 'durationMillis', 'min'],
    ['a time beyond the year 9999', { at: 1e300 }, 'at', 'max'],
    ['a text for a fraction', { weight: '1.5' }, 'weight', 'type'],
    ['a text for a boolean', { flag: 'true' }, 'flag', 'type'],
    ['an enum in small letters', { kind: 'big' }, 'kind', 'oneOf'],
    ['a number for an enum', { kind: 0 }, 'kind', 'oneOf'],
    ['a text for a list', { tags: 'a' }, 'tags', 'type'],
    ['a number in a list of texts', { tags: [1] }, 'tags', 'type'],
    ['null in a list', { tags: [null] }, 'tags', 'type'],
    ['an object in a map of texts', { env: { A: {} } }, 'env', 'textMap'],
    ['a list for a map', { env: [] }, 'env', 'textMap'],
    ['a text in a map of maps', { taskEnv: { 1: 'x' } }, 'taskEnv', 'textMap'],
    ['a list for a record', { part: [] }, 'part', 'type'],
    ['a record without its name', { part: {} }, 'part.name', 'required'],
    ['a wrong field of a record', { part: { name: 'a', size: 1.5 } }, 'part.size', 'integer'],
    ['a wrong field in a list of records', { parts: [{ name: 'a' }, { name: 1 }] }, 'parts.1.name', 'type'],
    ['a text in a list of records', { parts: ['a'] }, 'parts', 'type'],
    ['a record for a list of records', { parts: { name: 'a' } }, 'parts', 'type'],
    ['a number for a text', { id: 123 }, 'id', 'type'],
    ['null where a text is required', { id: null }, 'id', 'required'],
    ['the character NUL', { env: { A: 'a\0' } }, 'env.A', 'text'],
    ['half of a surrogate pair', { env: { A: '\ud800' } }, 'env.A', 'text'],
  ])('%s is 400 with field and rule', async (_name, members, field, rule) => {
    const { status, body } = await post({ id: 'a', ...members });
    expect({ status, code: body.code, errors: body.errors.map((e) => [e.field, e.rule]) }).toEqual({
      status: 400,
      code: 'INVALID_REQUEST',
      errors: [[field, rule]],
    });
    expect(body.errors[0]?.message).toContain(field);
    expect(body.message).toBe(body.errors[0]?.message);
  });

  test.each(['"\xe9"', '"\xc3"', '"\xed\xa0\x80"', '"\xc0\xaf"', '"a", "\xff": "b"'])(
    'bytes that are no UTF-8 are 400, not another text: %j',
    async (text) => {
      const bytes = new Uint8Array(Buffer.from(`{"id": ${text}}`, 'latin1'));
      const sent = { body: bytes, headers: { 'content-type': 'application/json' } };
      const { status, body } = await call('POST', '/api/things', sent);
      expect([status, body.message]).toEqual([400, 'The body must be text in UTF-8']);
    },
  );

  test.each([
    [{ count: '2' }, 'count must be a whole number, not "2"'],
    [{ count: -3 }, 'count must be at least 1, not -3'],
    [{ count: 2 ** 40 }, 'count must be at most 2147483647, not 1099511627776'],
    [{ at: 'tomorrow' }, 'at must be a time in epoch milliseconds, not "tomorrow"'],
    [{ weight: '64MB' }, 'weight must be a number, not "64MB"'],
    [{ flag: 'yes' }, 'flag must be true or false, not "yes"'],
    [{ tags: 'a' }, 'tags must be a list, not "a"'],
    [{ kind: 'big' }, 'kind must be one of BIG, SMALL, not "big": did you mean BIG?'],
    [{ part: { name: 'a', size: 'x'.repeat(100) } }, 'part.size must be a whole number'],
  ])('%j is refused in plain words', async (members, message) => {
    expect((await post({ id: 'a', ...members })).body.message).toBe(message);
  });

  test('every broken field is named, not only the first', async () => {
    const { body } = await post({ count: 'x', part: { size: 0 } });
    expect(body.errors.map((e) => e.field).sort()).toEqual(['count', 'id', 'part.name', 'part.size']);
  });

  test('unknown members are ignored, nulls are absent, maps keep their keys and take numbers as text', async () => {
    const sent = {
      id: 'a',
      bogus: 1,
      kind: null,
      env: { N: 1, B: true, F: 1.5, X: null, constructor: 'c', toString: 't' },
    };
    const { status, body } = await post(sent);
    expect(status).toBe(200);
    expect(body).toEqual({ id: 'a', env: { N: '1', B: 'true', F: '1.5', constructor: 'c', toString: 't' } });
  });

  test('a number is kept as it was written where text is meant', async () => {
    const { status, body } = await post('{"id":"a","env":{"A":1.10,"B":1e3,"C":-0,"D":12345678901234567890,"E":7}}');
    expect([status, body.env]).toEqual([200, { A: '1.10', B: '1e3', C: '-0', D: '12345678901234567890', E: '7' }]);
    const inner = await post(
      '{"id":"a","taskEnv":{"0":{"A":2.0},"1":{"A":2.50,"B":2}},"part":{"name":"p","size":1.0}}',
    );
    expect(inner.body.taskEnv).toEqual({ 0: { A: '2.0' }, 1: { A: '2.50', B: '2' } });
    expect(inner.body.part).toEqual({ name: 'p', size: 1 });
  });

  test.each(['{"a":{"b":12345678901234567890}}', '{"a":[0.1234567890123456789]}', '{"a":1e400}', '{"a":1e-400}'])(
    'a number of an object in free form that cannot be kept is refused: %s',
    async (options) => {
      const { status, body } = await post(`{"id":"a","options":${options}}`);
      expect([status, body.errors]).toEqual([400, [expect.objectContaining({ field: 'options', rule: 'number' })]]);
    },
  );

  test('numbers of an object in free form that only look otherwise are kept', async () => {
    const { body } = await post('{"id":"a","options":{"a":1.10,"b":1e3,"c":-0,"d":[0.50,100e-1],"e":1E+2,"f":0.000}}');
    expect(body.options).toEqual({ a: 1.1, b: 1000, c: 0, d: [0.5, 10], e: 100, f: 0 });
  });

  test.each([
    ['{"id":"a","id":"b"}', 'id'],
    ['{"id":"a","env":{"A":"1","B":"2","\\u0041":"3"}}', 'env.A'],
    ['{"id":"a","parts":[{"name":"p"},{"name":"p","size":1,"size":1}]}', 'parts.1.size'],
  ])('a member that is given twice is refused: %s', async (text, field) => {
    const { status, body } = await post(text);
    const message = `${field} is given more than once`;
    expect([status, body.errors]).toEqual([400, [{ field, rule: 'repeated', message }]]);
  });

  test('legacy names are taken, but not inside maps whose keys belong to the user', async () => {
    const { body } = await post({ id: 'a', requiredAgentAttributes: { mesos: 'x' }, env: { s3Bucket: 'b' } });
    expect(body).toEqual({ id: 'a', requiredSlaveAttributes: { mesos: 'x' }, env: { s3Bucket: 'b' } });
  });

  test('sent under both names a member is what ours says', async () => {
    const both = { id: 'a', requiredAgentAttributes: { a: 'theirs' }, requiredSlaveAttributes: { a: 'ours' } };
    expect((await post(both)).body).toEqual({ id: 'a', requiredSlaveAttributes: { a: 'ours' } });
  });

  test.each([
    [
      { agentPlacement: 'WIDE' },
      'agentPlacement',
      'agentPlacement must be one of GREEDY, SPREAD_ALL_SLAVES, not "WIDE"',
    ],
    [
      { slavePlacement: 'WIDE' },
      'slavePlacement',
      'slavePlacement must be one of GREEDY, SPREAD_ALL_SLAVES, not "WIDE"',
    ],
    [{ mesos: { a: '\u0000' } }, 'mesos.a', 'mesos.a contains a character that cannot be stored'],
    [{ cluster: { a: '\u0000' } }, 'cluster.a', 'cluster.a contains a character that cannot be stored'],
    [{ slavePlacement: 'SPREAD_ALL_AGENTS', count: 0 }, 'count', 'count must be at least 1, not 0'],
  ])('what is wrong with %j is told by the name that was sent', async (member, field, message) => {
    const { status, body } = await post({ id: 'a', ...member });
    expect([status, body.errors]).toEqual([400, [expect.objectContaining({ field, message })]]);
    expect(body.message).toContain(message);
  });

  test.each([{ agentPlacement: 'SPREAD_ALL_AGENTS' }, { slavePlacement: 'SPREAD_ALL_AGENTS' }])(
    'legacy words are taken where they are meant: %j',
    async (member) => {
      expect((await post({ id: 'a', ...member })).body).toEqual({ id: 'a', slavePlacement: 'SPREAD_ALL_SLAVES' });
      const labels = { slavePlacement: 'SPREAD_ALL_AGENTS' };
      expect((await post({ id: 'a', env: labels })).body).toEqual({ id: 'a', env: labels });
    },
  );

  test('a body cannot reach into prototypes', async () => {
    const { status } = await call('POST', '/api/things', {
      body: '{"id":"a","options":{"__proto__":{"polluted":1},"x":1},"__proto__":{"polluted":1}}',
      headers: { 'content-type': 'application/json' },
    });
    expect(status).toBe(200);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  test.each([
    ['not JSON', '{', 'application/json', 400, 'INVALID_JSON'],
    ['text after the JSON', '{"id":"a"} x', 'application/json', 400, 'INVALID_JSON'],
    ['a list for an object', '[]', 'application/json', 400, 'INVALID_REQUEST'],
    ['a text for an object', '"a"', 'application/json', 400, 'INVALID_REQUEST'],
    ['nested too deep', `{"options":${'['.repeat(100)}${']'.repeat(100)}}`, 'application/json', 400, 'INVALID_REQUEST'],
    ['a form', 'id=1', 'application/x-www-form-urlencoded', 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['plain text', '{"id":"a"}', 'text/plain', 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['an unknown character set', '{"id":"a"}', 'application/json; charset=nope', 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['too large', JSON.stringify({ id: 'x'.repeat(30_000) }), 'application/json', 413, 'BODY_TOO_LARGE'],
  ])('%s is refused', async (_name, body, type, status, code) => {
    const answer = await call('POST', '/api/things', { body, headers: { 'content-type': type } });
    expect({ status: answer.status, code: answer.body.code }).toEqual({ status, code });
    expect(Object.keys(answer.body).sort()).toEqual(['code', 'errors', 'message', 'requestId', 'status']);
  });

  test('what is no JSON is told with its line and column', async () => {
    const headers = { 'content-type': 'application/json' };
    const answer = await call('POST', '/api/things', { body: '{\n  "id": "a",\n}', headers });
    expect(answer.body.message).toMatch(/^The body is not valid JSON: .* \(line 3 column 1\)$/);
  });

  test('a compressed body is read, JSON with a character set too', async () => {
    const answer = await call('POST', '/api/things', {
      body: gzipSync('{"id":"zipped"}'),
      headers: { 'content-type': 'application/json; charset=utf-8', 'content-encoding': 'gzip' },
    });
    expect(answer.body).toEqual({ id: 'zipped' });
  });

  test.each([[undefined], [''], ['{}'], ['null']])('an optional body may be %j, on DELETE too', async (body) => {
    const headers: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
    const answer = await call('DELETE', '/api/things/thing/x', { body, headers });
    expect([answer.status, answer.body]).toEqual([200, { id: 'x', options: {} }]);
  });

  test('a body on DELETE is read', async () => {
    const answer = await call('DELETE', '/api/things/thing/x', {
      body: '{"message":"bye"}',
      headers: { 'content-type': 'application/json' },
    });
    expect(answer.body).toEqual({ id: 'x', options: { message: 'bye' } });
  });
});

describe('queries', () => {
  test.each([
    ['', {}],
    ['full=&limit=0&like=&id=&state=&kind=', {}],
    ['full=undefined&limit=null&like=undefined&state=null', {}],
    ['full=TRUE&limit=5&like=a', { full: true, limit: 5, like: 'a' }],
    ['full=False', { full: false }],
    ['id=a&id=b', { id: ['a', 'b'] }],
    ['id=a', { id: ['a'] }],
    ['state=system-cooldown', { state: 'SYSTEM_COOLDOWN' }],
    ['state=System.Cooldown', { state: 'SYSTEM_COOLDOWN' }],
    ['kind=big&kind=small', { kind: ['BIG', 'SMALL'] }],
    ['unknown=1', {}],
  ])('%s is read', async (query, expected) => {
    const { status, body } = await call('GET', `/api/things?${query}`);
    expect([status, body]).toEqual([200, expected]);
  });

  test.each([
    ['full=banana', 'full', 'type'],
    ['limit=abc', 'limit', 'integer'],
    ['limit=1.5', 'limit', 'integer'],
    ['limit=-1', 'limit', 'min'],
    ['limit=99999999999', 'limit', 'max'],
    ['limit=1&limit=2', 'limit', 'integer'],
    ['like=a&like=b', 'like', 'type'],
    ['state=GONE', 'state', 'oneOf'],
    ['kind=BIG&kind=HUGE', 'kind', 'oneOf'],
  ])('%s is 400 with the parameter and the rule', async (query, field, rule) => {
    const { status, body } = await call('GET', `/api/things?${query}`);
    expect([status, body.code, body.errors.map((e) => [e.field, e.rule])]).toEqual([
      400,
      'INVALID_PARAMETER',
      [[field, rule]],
    ]);
  });

  test('one of several words that is unknown is named', async () => {
    const { body } = await call('GET', '/api/things?kind=BIG&kind=SMAL');
    expect(body.message).toBe('each kind must be one of BIG, SMALL, not "SMAL": did you mean SMALL?');
  });

  test('an unknown word is answered with the words there are', async () => {
    const { body } = await call('GET', '/api/things?state=GONE');
    expect(body.message).toContain('SYSTEM_COOLDOWN');
  });

  test.each(['like=caf%e9', 'unknown=%C3', 'like=%ED%A0%80', 'like=%c0%af', '%ff=1'])(
    '%s is no text, and is not read as another one',
    async (query) => {
      const { status, body } = await call('GET', `/api/things?${query}`);
      expect([status, body.code]).toEqual([400, 'INVALID_PARAMETER']);
      expect(body.message).toContain('UTF-8');
    },
  );
  test.each([
    ['like=caf%C3%A9', 'café'],
    ['like=%EF%BF%BD', '\u{fffd}'],
    ['like=5%', '5%'],
    ['like=%zz%F0%9F%98%80', '%zz😀'],
  ])('%s is %s', async (query, like) => expect((await call('GET', `/api/things?${query}`)).body).toEqual({ like }));

  test('single parameters follow the same rules', async () => {
    expect((await call('GET', '/api/things/single?minimal=TRUE&size=3')).body).toEqual({ minimal: true, size: 3 });
    expect((await call('GET', '/api/things/single?minimal=&size=null')).body).toEqual({});
    const refused = await call('GET', '/api/things/single?minimal=1');
    expect([refused.status, refused.body.errors[0]?.field]).toEqual([400, 'minimal']);
  });
});

describe('paths and methods', () => {
  test.each([
    ['GET', '/api/nope', 404, 'NOT_FOUND', null],
    ['POST', '/api/nope', 404, 'NOT_FOUND', null],
    ['GET', '/', 404, 'NOT_FOUND', null],
    ['GET', '/api', 404, 'NOT_FOUND', null],
    ['PATCH', '/api/things', 405, 'METHOD_NOT_ALLOWED', 'GET, HEAD, OPTIONS, POST'],
    ['GET', '/api/things/thing/x', 405, 'METHOD_NOT_ALLOWED', 'DELETE, OPTIONS, PUT'],
    ['GET', '/api/things/thing/%E0%A4%A', 400, 'INVALID_PARAMETER', null],
  ])('%s %s is %i', async (method, path, status, code, allow) => {
    const answer = await call(method, path);
    expect([answer.status, answer.body.code, answer.headers.get('allow')]).toEqual([status, code, allow]);
  });

  test('a body that cannot be read counts less than a path that does not exist or a method it does not have', async () => {
    const form = { body: 'a=1', headers: { 'content-type': 'application/x-www-form-urlencoded' } };
    expect((await call('POST', '/api/nope', form)).status).toBe(404);
    expect(
      (await call('POST', '/api/nope', { body: '{', headers: { 'content-type': 'application/json' } })).status,
    ).toBe(404);
    expect((await call('PATCH', '/api/things', form)).status).toBe(405);
  });

  test('OPTIONS names the methods, HEAD works for every GET', async () => {
    const options = await call('OPTIONS', '/api/things');
    expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS, POST']);
    expect((await call('OPTIONS', '/api/nope')).status).toBe(404);
    const head = await call('HEAD', '/api/things/rows');
    expect([head.status, head.body]).toEqual([200, '']);
  });

  test('a slash at the end changes nothing', async () => {
    expect((await call('GET', '/api/things/?limit=2')).body).toEqual({ limit: 2 });
  });

  test.each([
    ['/api/agents', '/api/slaves'],
    ['/api/agents/?state=ACTIVE', '/api/slaves/?state=ACTIVE'],
    ['/api/agents/agent/a1/details', '/api/slaves/slave/a1/details'],
    ['/api/agents/expiring', '/api/slaves/expiring'],
    ['/api/usage/agents', '/api/usage/slaves'],
    ['/api/tasks/active/agent/a1/ids', '/api/tasks/active/slave/a1/ids'],
    ['/api/tasks/download?agentHostname=h&path=/x', '/api/tasks/download?slaveHostname=h&path=/x'],
    ['/api/tasks/open/?path=/x&agentHostname=h', '/api/tasks/open/?path=/x&slaveHostname=h'],
    ['/api/openapi.json', '/docs/openapi.json'],
    ['/api/requests/request/agents', '/api/requests/request/agents'],
    ['/api/history/tasks?requestId=agentHostname=', '/api/history/tasks?requestId=agentHostname='],
  ])('%s, as newer clients say, is %s', (theirs, ours) => expect(resolveAlias(theirs)).toBe(ours));

  test('what newer clients call an agent is served as a slave', async () => {
    expect((await call('GET', '/api/agents/agent/a1/details')).body).toEqual({ slaveId: 'a1' });
  });
});

describe('answers', () => {
  test('a bare text or boolean is JSON', async () => {
    const text = await call('GET', '/api/things/text');
    expect([text.headers.get('content-type'), text.body]).toEqual(['application/json', 'CREATED']);
    expect((await call('GET', '/api/things/flag')).body).toBe(false);
  });

  test('members that are null are left out, `property` selects members', async () => {
    expect((await call('GET', '/api/things/rows')).body[0]).toEqual({ id: 1, inner: { a: 1, b: 2 } });
    expect((await call('GET', '/api/things/rows?property=inner.a')).body).toEqual([
      { inner: { a: 1 } },
      { inner: { a: 3 } },
    ]);
    expect((await call('GET', '/api/things/rows?property=!inner&property=!gone')).body).toEqual([{ id: 1 }, { id: 2 }]);
    expect((await call('GET', '/api/things/rows?property=nope')).body).toEqual([{}, {}]);
  });

  test('long answers are compressed when the caller accepts it', async () => {
    const long = await post({ id: 'x'.repeat(400) });
    expect(long.headers.get('content-encoding')).toBe('gzip');
    const plain = await call('GET', '/api/things/flag');
    expect(plain.headers.get('content-encoding')).toBeNull();
  });

  test('an answer of megabytes that never changes is sent whole each time, and still selected from and compressed', async () => {
    for (let time = 0; time < 2; time++) {
      const { status, headers, body } = await call('GET', '/api/things/many', {
        headers: { 'accept-encoding': 'identity' },
      });
      expect([status, headers.get('content-type')]).toEqual([200, 'application/json']);
      expect(Number(headers.get('content-length'))).toBe(Buffer.byteLength(JSON.stringify(manyRows)));
      expect(body).toEqual(manyRows);
    }
    const zipped = await call('GET', '/api/things/many', { headers: { 'accept-encoding': 'gzip' } });
    expect(zipped.headers.get('content-encoding')).toBe('gzip');
    expect(zipped.body).toEqual(manyRows);
    expect((await call('GET', '/api/things/many?cursor=*&limit=1&property=id')).body).toEqual([{ id: 'ä-0' }]);
    const head = await call('HEAD', '/api/things/many');
    expect([head.status, head.body]).toEqual([200, '']);
  });

  test('whether a caller takes compressed answers or not, caches are told that it matters', async () => {
    for (const encoding of ['gzip', 'identity']) {
      const { headers } = await call('GET', '/api/things/many', { headers: { 'accept-encoding': encoding } });
      expect(headers.get('vary')).toContain('Accept-Encoding');
    }
  });

  test('what the caller does not accept is not done', async () => {
    const { status, body } = await call('GET', '/api/things/flag', { headers: { accept: 'application/xml' } });
    expect([status, body.code]).toEqual([406, 'NOT_ACCEPTABLE']);
    expect((await call('GET', '/api/things/flag', { headers: { accept: 'text/html, */*;q=0.8' } })).status).toBe(200);
  });

  test.each([
    ['a browser script', 'application/json, text/javascript, */*; q=0.01'],
    ['a JVM', 'text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2'],
    ['JSON with a character set', 'application/json;charset=UTF-8'],
    ['any kind of application', 'application/*'],
    ['nothing in particular', ''],
  ])('JSON is what a caller gets who accepts what %s does', async (_who, accept) => {
    expect((await call('GET', '/api/things/flag', { headers: { accept } })).status).toBe(200);
  });

  test('the caller is the built-in one while authentication is off', async () => {
    expect((await call('GET', '/api/things/who')).body).toMatchObject({ id: 'scheduler', authenticated: false });
  });

  test('an error carries what the service added, and the id of the call', async () => {
    const answer = await call('GET', '/api/things/conflict', { headers: { 'x-request-id': 'mine-1' } });
    expect(answer.body).toEqual({
      status: 409,
      code: 'CLEANUP_EXISTS',
      message: 'There is one already',
      errors: [],
      requestId: 'mine-1',
      cleanup: { id: 'c' },
    });
    expect(answer.headers.get('x-request-id')).toBe('mine-1');
    const unusable = await call('GET', '/api/things/conflict', { headers: { 'x-request-id': 'a b' } });
    expect(unusable.body.requestId).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('an unexpected failure is 500 with an id and without internals', async () => {
    const { status, body } = await call('GET', '/api/things/broken');
    expect([status, body.code]).toEqual([500, 'INTERNAL_ERROR']);
    expect(JSON.stringify(body)).not.toContain('secret');
  });

  test.each(['away', 'follower'])('no database or no leader (%s) is 503 with a time to come back', async (path) => {
    const answer = await call('GET', `/api/things/${path}`);
    expect([answer.status, answer.body.code, answer.headers.get('retry-after')]).toEqual([503, 'UNAVAILABLE', '1']);
  });
});

describe('legacy names', () => {
  const open = async (legacyFieldNames: 'off' | 'accept+emit') => {
    const own = await startHttpApp(TestModule, { legacyFieldNames });
    return { own, address: await own.getUrl() };
  };
  const sent = {
    method: 'POST',
    body: JSON.stringify({ id: 'a', requiredAgentAttributes: { a: 'b' } }),
    headers: { 'content-type': 'application/json' },
  };

  test('are unknown members when they are off', async () => {
    const { own, address } = await open('off');
    const answer = await fetch(`${address}/api/things`, sent);
    expect(await answer.json()).toEqual({ id: 'a' });
    await own.close();
  });

  test('stand beside ours in answers when they are to be emitted, and errors have a numeric code', async () => {
    const { own, address } = await open('accept+emit');
    const thing = await (await fetch(`${address}/api/things`, sent)).json();
    expect(thing).toEqual({ id: 'a', requiredSlaveAttributes: { a: 'b' }, requiredAgentAttributes: { a: 'b' } });
    const details = await (await fetch(`${address}/api/agents/agent/s1/details`)).json();
    expect(details).toEqual({ slaveId: 's1', agentId: 's1' });
    const rows = await (await fetch(`${address}/api/things/legacy?property=agentId&property=mesosTask.name`)).json();
    expect(rows).toEqual([{ slaveId: 's1', agentId: 's1', clusterTask: { name: 'n' }, mesosTask: { name: 'n' } }]);
    const error = await (await fetch(`${address}/api/things/conflict`)).json();
    expect(error).toMatchObject({ status: 409, code: 409, error: 'CLEANUP_EXISTS' });
    await own.close();
  });
});

test('the document and its page are served', async () => {
  const document = await call('GET', '/docs/openapi.json');
  expect(document.body.openapi).toMatch(/^3\./);
  expect(document.body).toHaveProperty('components.schemas.ErrorDto');
  expect((await call('GET', '/docs')).body).toContain('swagger-ui');
});
