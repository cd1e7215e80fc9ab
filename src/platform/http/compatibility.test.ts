import 'reflect-metadata';
import { Controller, Get, HttpCode, Module, Post } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { IsBoolean, IsOptional } from 'class-validator';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Body } from './inputs.js';
import { startHttpApp } from '../../../test/support/http-app.js';
import { SettingsFile } from '../settings/settings.js';
import { Decimal, Int32, Integers, Millis, Nested, NestedList, Text, TextMap, Texts } from './fields.js';

class PartDto {
  @IsOptional() @Int32({ min: 1 }) size?: number;
  @IsOptional() @IsBoolean() flag?: boolean;
}
class ThingDto {
  @IsOptional() @Text('name') id?: string;
  @IsOptional() @Int32({ min: 1 }) instances?: number;
  @IsOptional() @Millis() durationMillis?: number;
  @IsOptional() @Decimal() cpus?: number;
  @IsOptional() @IsBoolean() incremental?: boolean;
  @IsOptional() @Integers({ min: 100, max: 599, what: 'status codes' }) codes?: number[];
  @IsOptional() @Texts('name') owners?: string[];
  @IsOptional() @TextMap() env?: Record<string, string>;
  @IsOptional() @Nested(() => PartDto) part?: PartDto;
  @IsOptional() @NestedList(() => PartDto) parts?: PartDto[];
}
@Controller('api/things')
class ThingsController {
  @Post() @HttpCode(200) create(@Body() thing: ThingDto): unknown {
    return thing;
  }
  @Get() read(): unknown {
    return { slaveId: 's1', clusterTask: { name: 'n' }, numActiveSlaves: 2, numLostSlaves: 1 };
  }
  @Get('files') files(): unknown {
    const file = (content: unknown) => ({ filename: 'c', content });
    const embeddedArtifacts = [file('eA=='), file(['eA==', 'eQ==']), file(['eA==']), file([]), file(undefined)];
    return { deploys: [{ executorData: { embeddedArtifacts } }] };
  }
  @Get('task') readTask(): unknown {
    const command = { environment: { variables: [{ name: 'A', value: 'b' }] } };
    return { clusterTask: { executor: { executorId: { value: 'e1' } }, command } };
  }
}
@Module({ controllers: [ThingsController] })
class TestModule {}

let lenient: NestExpressApplication;
let strict: NestExpressApplication;
beforeAll(async () => {
  lenient = await startHttpApp(TestModule, { compatibility: '1.5', maxRequestBodyBytes: 5_000 });
  strict = await startHttpApp(TestModule, {});
});
afterAll(() => Promise.all([lenient.close(), strict.close()]));

type Answer = Record<string, unknown> & { status?: number; errors?: { field: string; rule: string }[] };
async function send(to: NestExpressApplication, body: string | Buffer, headers = {}): Promise<[number, Answer]> {
  const answer = await fetch(`${await to.getUrl()}/api/things`, {
    method: 'POST',
    body: typeof body === 'string' ? body : new Uint8Array(body),
    headers: { 'content-type': 'application/json', ...headers },
  });
  return [answer.status, (await answer.json()) as Answer];
}
const post = (to: NestExpressApplication, body: object): Promise<[number, Answer]> => send(to, JSON.stringify(body));

describe('under compatibility 1.5', () => {
  test.each([
    ['a whole number', { instances: '2' }, { instances: 2 }],
    ['a number with a fraction', { cpus: '0.1' }, { cpus: 0.1 }],
    ['a number with an exponent', { cpus: '1e-1' }, { cpus: 0.1 }],
    ['a time', { durationMillis: '3600000' }, { durationMillis: 3_600_000 }],
    ['true', { incremental: 'true' }, { incremental: true }],
    ['False', { incremental: 'False' }, { incremental: false }],
    ['1', { incremental: 1 }, { incremental: true }],
    ['0', { incremental: 0 }, { incremental: false }],
    ['numbers of a list', { codes: ['200', 404] }, { codes: [200, 404] }],
    ['members of records', { part: { size: '3', flag: 1 } }, { part: { size: 3, flag: true } }],
    [
      'members of lists of records',
      { parts: [{ size: '3' }, { flag: 'false' }] },
      { parts: [{ size: 3 }, { flag: false }] },
    ],
    ['texts that look like numbers', { id: '2', owners: ['3', 'true'] }, { id: '2', owners: ['3', 'true'] }],
    ['values of maps', { env: { A: '1', B: 'true' } }, { env: { A: '1', B: 'true' } }],
  ])('%s: read as what the field is', async (_what, sent, read) => {
    expect(await post(lenient, sent)).toEqual([200, read]);
  });

  test.each([
    ['the least is the least', { instances: '0' }, 'instances', 'min'],
    ['the most is the most', { instances: '2147483648' }, 'instances', 'max'],
    ['a fraction is no whole number', { instances: '2.7' }, 'instances', 'integer'],
    ['what is negative stays so', { cpus: '-0.1' }, 'cpus', 'min'],
    ['ten years are the longest', { durationMillis: '9000000000000000' }, 'durationMillis', 'max'],
    ['no number is endless', { cpus: '1e999' }, 'cpus', 'type'],
    ['an empty text is no number', { instances: '' }, 'instances', 'integer'],
    ['a blank is none', { instances: ' ' }, 'instances', 'integer'],
    ['blanks around it are not read', { instances: ' 2' }, 'instances', 'integer'],
    ['hexadecimal is not read', { instances: '0x10' }, 'instances', 'integer'],
    ['zeros before it are not read', { instances: '02' }, 'instances', 'integer'],
    ['digits without end are not read', { cpus: '1'.repeat(1_000) }, 'cpus', 'type'],
    ['words are no numbers', { instances: 'two' }, 'instances', 'integer'],
    ['a truth value is no number', { instances: true }, 'instances', 'integer'],
    ['yes is no truth value', { incremental: 'yes' }, 'incremental', 'type'],
    ['2 is none', { incremental: 2 }, 'incremental', 'type'],
    ['the text 1 is none', { incremental: '1' }, 'incremental', 'type'],
    ['an empty text is none', { incremental: '' }, 'incremental', 'type'],
    ['a list is no number', { instances: ['2'] }, 'instances', 'integer'],
    ['each of a list is checked', { codes: ['200', '99'] }, 'codes', 'type'],
    ['a number is no text', { id: 5 }, 'id', 'type'],
    ['members of records are checked', { part: { size: '0' } }, 'part.size', 'min'],
  ])('%s', async (_what, sent, field, rule) => {
    const [status, answer] = await post(lenient, sent);
    expect([status, answer.errors?.map((error) => [error.field, error.rule])]).toEqual([400, [[field, rule]]]);
  });

  test.each(['snappy,gzip,deflate', 'snappy', 'gzip, deflate', 'x-lzf', 'aws-chunked'])(
    'JSON that says it is %s is read',
    async (encoding) => {
      expect(await send(lenient, '{"id":"a"}', { 'content-encoding': encoding })).toEqual([200, { id: 'a' }]);
    },
  );

  test('of a member that is given twice the last counts, and numbers of maps are kept as they were written', async () => {
    const text = '{"id":"a","id":"b","env":{"A":1.10,"A":2,"B":1.10}}';
    expect(await send(lenient, text)).toEqual([200, { id: 'b', env: { A: '2', B: '1.10' } }]);
  });

  test('what is no JSON is refused, whatever it says it is, and the limit of a body stands', async () => {
    const snappy = { 'content-encoding': 'snappy' };
    expect(await send(lenient, Buffer.from([0x0a, 0x24, 0x7b]), snappy)).toMatchObject([
      400,
      { error: 'INVALID_JSON' },
    ]);
    const long = JSON.stringify({ id: 'x'.repeat(6_000) });
    expect(await send(lenient, long, snappy)).toMatchObject([413, { error: 'BODY_TOO_LARGE' }]);
    expect(await send(lenient, gzipSync(long), { 'content-encoding': 'gzip' })).toMatchObject([413, {}]);
    expect(await send(lenient, gzipSync('{"id":"a"}'), { 'content-encoding': 'gzip' })).toEqual([200, { id: 'a' }]);
  });

  test('what an executor runs, and with which environment, stands where older clients seek it', async () => {
    const task = {
      executor: { executorId: { value: 'e1' } },
      command: { environment: { variables: [{ name: 'A', value: 'b' }] } },
    };
    const read = await fetch(`${await lenient.getUrl()}/api/things/task`);
    expect(await read.json()).toEqual({
      clusterTask: task,
      mesosTask: { ...task, executor: { ...task.executor, command: task.command } },
    });
    expect(await (await fetch(`${await strict.getUrl()}/api/things/task`)).json()).toEqual({ clusterTask: task });
  });

  test('older names are accepted and written, and errors have a numeric code', async () => {
    const read = await fetch(`${await lenient.getUrl()}/api/things`);
    expect(await read.json()).toMatchObject({
      slaveId: 's1',
      agentId: 's1',
      mesosTask: { name: 'n' },
      numActiveAgents: 2,
      numLostAgents: 1,
    });
    expect(await post(lenient, { instances: 0 })).toMatchObject([400, { code: 400, error: 'INVALID_REQUEST' }]);
  });
});

describe('without it', () => {
  test.each([{ instances: '2' }, { cpus: '0.1' }, { incremental: 'true' }, { incremental: 1 }, { codes: ['200'] }])(
    '%j is refused',
    async (sent) => expect(await post(strict, sent)).toMatchObject([400, { code: 'INVALID_REQUEST' }]),
  );

  test('so is an encoding that is not known', async () => {
    const encoding = { 'content-encoding': 'snappy,gzip,deflate' };
    expect(await send(strict, '{"id":"a"}', encoding)).toMatchObject([415, { code: 'UNSUPPORTED_MEDIA_TYPE' }]);
  });
});

describe('the settings', () => {
  const problems = (file: object) => SettingsFile.safeParse(file).error?.issues.map(({ path }) => path.join('.'));
  test('contradict each other where one is off and the other needs it', () => {
    expect(problems({ compatibility: '1.5', legacyFieldNames: 'off' })).toEqual(['legacyFieldNames']);
    expect(problems({ compatibility: '1.5', legacyFieldNames: 'accept' })).toBeUndefined();
  });
  test.each([1.5, '1.4', true, ''])('compatibility %j is none', (compatibility) =>
    expect(problems({ compatibility })).toEqual(['compatibility']),
  );
});

test('the content of embedded files is one text for older clients, and as it was sent for others', async () => {
  const contents = async (from: NestExpressApplication) => {
    const answer = await fetch(`${await from.getUrl()}/api/things/files`);
    const { deploys } = (await answer.json()) as {
      deploys: { executorData: { embeddedArtifacts: { content?: unknown }[] } }[];
    };
    return deploys[0]!.executorData.embeddedArtifacts.map(({ content }) => content);
  };
  expect(await contents(lenient)).toEqual(['eA==', 'eHk=', 'eA==', '', undefined]);
  expect(await contents(strict)).toEqual(['eA==', ['eA==', 'eQ=='], ['eA=='], [], undefined]);
});
