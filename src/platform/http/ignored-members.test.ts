import { Controller, Get, HttpCode, Module, Post } from '@nestjs/common';
import { IsOptional } from 'class-validator';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Body, Query } from './inputs.js';
import { startHttpApp } from '../../../test/support/http-app.js';
import { AnyObject, Decimal, Int32, Nested, NestedList, Text, TextMap } from './fields.js';
import { QueryBoolean, QueryWord } from './query.js';

class ResourcesDto {
  @Decimal() cpus: number;
  @IsOptional() @Decimal() gb?: number;
}
class ThingDto {
  @Text('name') id: string;
  @IsOptional() @Int32() instances?: number;
  @IsOptional() @Text('name') scheduleTimeZone?: string;
  @IsOptional() @TextMap() env?: Record<string, string>;
  @IsOptional() @AnyObject() options?: Record<string, unknown>;
  @IsOptional() @Nested(() => ResourcesDto) resources?: ResourcesDto;
  @IsOptional() @NestedList(() => ResourcesDto) parts?: ResourcesDto[];
}
class ListQuery {
  @QueryBoolean() full?: boolean;
  @QueryWord(['TASK_FAILED']) lastTaskStatus?: string;
}
@Controller('api/things')
class ThingsController {
  @Get() list(@Query() query: ListQuery, @Query('single') single?: string): unknown {
    return { ...query, single };
  }
  @Get('none') none(): unknown {
    return [];
  }
  @Post() @HttpCode(200) create(@Body() thing: ThingDto): unknown {
    return thing;
  }
}
@Module({ controllers: [ThingsController] })
class TestModule {}

type App = Awaited<ReturnType<typeof startHttpApp>>;
let app: App;
let lenient: App;
beforeAll(async () => {
  [app, lenient] = [await startHttpApp(TestModule), await startHttpApp(TestModule, { compatibility: '1.5' })];
});
afterAll(() => Promise.all([app.close(), lenient.close()]));

async function call(path: string, sent?: object, headers: Record<string, string> = {}, to = app) {
  const answer = await fetch(`${await to.getUrl()}/api/things${path}`, {
    ...(sent && { method: 'POST', body: JSON.stringify(sent) }),
    headers: { 'content-type': 'application/json', ...headers },
  });
  const body = (await answer.json()) as { message?: string; errors?: { field: string; rule: string }[] };
  return { status: answer.status, body, warning: answer.headers.get('warning'), answer };
}
const strict = { prefer: 'respond-async, handling=strict' };

test.each([
  [{ id: 'a', instnaces: 2 }, 'instnaces is not known: did you mean instances?'],
  [{ id: 'a', timeZone: 'UTC' }, 'timeZone is not known: did you mean scheduleTimeZone?'],
  [{ id: 'a', colour: 'red' }, 'colour is not known'],
  [{ id: 'a', resources: { cpus: 1, cpu: 1 } }, 'resources.cpu is not known: did you mean cpus?'],
  [{ id: 'a', parts: [{ cpus: 1 }, { cpus: 1, x: 1 }] }, 'parts.1.x is not known'],
  [{ id: 'a', cpus: 1 }, 'cpus is not known: did you mean resources.cpus?'],
  [{ id: 'a', gb: 1 }, 'gb is not known: did you mean resources.gb?'],
  [{ id: 'a', replicas: 2 }, 'replicas is not known: here it is instances, of the request'],
  [
    { id: 'a', resources: { cpus: 1, mem: 5 } },
    'resources.mem is not known: here it is resources.memoryMb, of the deploy',
  ],
  [{ id: 'a', instance: { cpus: 1 } }, 'instance is not known'],
  [{ id: 'a', resource: { cpus: 1 } }, 'resource is not known: did you mean resources?'],
  [{ id: 'a', 'ü"\\\r\nX-Evil: 1': 1 }, '?????X-Evil: 1 is not known'],
])('%j: done, and the answer names what was ignored; strictly: 400', async (sent, message) => {
  expect(await call('', sent)).toMatchObject({ status: 200, warning: `299 muster "Ignored: ${message}"` });
  const refused = await call('', sent, strict);
  expect([refused.status, refused.body.message]).toEqual([400, message]);
  expect(refused.body.errors).toMatchObject([{ rule: 'unknown' }]);
  expect(await call('', sent, {}, lenient)).toMatchObject({ status: 200, warning: null });
});

test.each([
  ['?status=TASK_FAILED', 'status is not known: did you mean lastTaskStatus?'],
  ['?ful=true', 'ful is not known: did you mean full?'],
  ['/none?page=2', 'page is not known'],
])('the query %s likewise', async (query, message) => {
  expect(await call(query)).toMatchObject({ status: 200, warning: `299 muster "Ignored: ${message}"` });
  expect(await call(query, undefined, strict)).toMatchObject({ status: 400, body: { message } });
});

test('what is known, or may be anything, is no mistake, and strict calls are told that they were', async () => {
  const sent = { id: 'a', env: { X: '1' }, options: { any: { thing: 1 } }, resources: { cpus: 1 } };
  expect(await call('', sent, strict)).toMatchObject({ status: 200, warning: null });
  const listed = await call(
    '?full=true&lastTaskStatus=TASK_FAILED&single=1&property=id&status=&page=undefined',
    undefined,
    strict,
  );
  expect([listed.status, listed.answer.headers.get('preference-applied')]).toEqual([200, 'handling=strict']);
});

test('what is refused for another reason may be so because of a name', async () => {
  const { status, body } = await call('', { id: 'a', resources: { cpu: 1 } });
  expect([status, body.message]).toEqual([
    400,
    'resources.cpus is required; resources.cpu is not known: did you mean cpus?',
  ]);
  expect(body.errors).toMatchObject([{ field: 'resources.cpus' }, { field: 'resources.cpu', rule: 'unknown' }]);
});

test('a body of many such names is answered at once, and with a short header', async () => {
  const many = Object.fromEntries(Array.from({ length: 15_000 }, (_, n) => [`k${n}${'x'.repeat(100)}`, 1]));
  const { status, warning } = await call('', { id: 'a', ...many });
  expect(status).toBe(200);
  expect(warning!.length).toBeLessThan(2_000);
});
