import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readContract, type ContractOperation } from '../contract/contract.js';
import type { Api } from '../e2e/support/api.js';
import { Installation } from '../e2e/support/product.js';
import { createDatabase } from '../support/test-database.js';

/*
 * What older clients do to every operation alike: they send each query parameter they know with an empty or zero value,
 * slashes at the end of paths, {} where nothing is to be said, members that the API does not know. None of it may matter.
 */

const installation = new Installation({
  database: createDatabase,
  settings: { ui: { shellCommands: [{ name: 'jmap', description: 'x' }] } },
});
let api: Api;
let values: Record<string, string>;

beforeAll(async () => {
  api = (await installation.start()).api;
  await api.saveRequest({ id: 'web', requestType: 'SERVICE' });
  await api.deploy({ id: 'd1', requestId: 'web', command: 'sleep 1000', resources: { cpus: 0.1, memoryMb: 16 } });
  const [task] = await api.running('web', 1);
  values = {
    requestId: 'web',
    deployId: 'd1',
    taskId: task!.taskId.id,
    slaveId: 'slave1',
    rackId: 'rack1',
    userId: 'bob',
    runId: 'none',
    pendingTaskId: 'web-d1-1-1-IMMEDIATE-1',
    commandName: 'jmap',
    commandTimestamp: '1',
    requestGroupId: 'none',
    webhookId: 'TASK-http%3A%2F%2F127.0.0.1%3A9%2F',
    uiPath: 'ui',
    path: 'stdout',
    host: 'nowhere',
    slaveHostname: 'localhost',
    requestIdLike: 'we',
  };
}, 90_000);
afterAll(() => installation.dispose(), 90_000);

type Query = readonly (readonly [string, string])[];
const nameOf = ({ method, path }: ContractOperation): string => `${method} ${path}`;
const reads = readContract().operations.filter(({ method, path }) => method === 'GET' && path !== '/{uiPath}');

function pathOf({ path }: ContractOperation, given: Record<string, string> = values): string {
  return path.replace(/\{(\w+)\}/g, (_whole, name: string) => encodeURIComponent(given[name] ?? 'none'));
}
/** Parameters that have to be given, plus `rest`. */
function queryOf(operation: ContractOperation, rest: Query = []): string {
  const required = operation.params.filter((param) => param.in === 'query' && param.required);
  const pairs = required.map(({ name }): [string, string] => [name, values[name] ?? 'none']);
  const all = [...pairs, ...rest.filter(([name]) => !required.some((param) => param.name === name))];
  return all.length > 0
    ? `?${new URLSearchParams(all.map(([name, value]): [string, string] => [name, value])).toString()}`
    : '';
}
async function statusOf(url: string, init: RequestInit = {}): Promise<number> {
  const response = await fetch(api.url + url, { redirect: 'manual', signal: AbortSignal.timeout(15_000), ...init });
  await response.arrayBuffer();
  const type = response.headers.get('content-type') ?? '';
  // Clients compare the whole type.
  if (type.includes('json')) expect(type).toBe('application/json');
  return response.status;
}

/** As programs that know no content type without content: fetch does not let its caller say how long nothing is. */
async function statusWithoutBody(method: string, url: string): Promise<number> {
  const call = request(api.url + url, { method, headers: { 'content-length': '0' } }).end();
  const [answer] = (await once(call, 'response')) as [IncomingMessage];
  answer.resume();
  return answer.statusCode!;
}

const zeroOf = (type: string): string => (type.startsWith('int') ? '0' : type === 'boolean' ? 'false' : '');
/** Parameters that a client with a fixed set of them sends along with every call. */
const zeros = 'count=0&page=0&start=0&end=0&offset=0&length=0&limit=0&useWebCache=false&grep=&lastTaskStatus=';
const alwaysSent: Query = [...new URLSearchParams(`${zeros}&deployId=&state=&orderDirection=&requestType=`)];

describe('reads', () => {
  test.each(reads.map((operation) => [nameOf(operation), operation] as const))('%s', async (_name, operation) => {
    const path = pathOf(operation);
    const plain = await statusOf(path + queryOf(operation));
    expect(plain).toBeLessThan(500);
    const own = operation.params.filter((param) => param.in === 'query');
    const ownZeros = own.map(({ name, type }): [string, string] => [name, zeroOf(type)]);
    const answers = {
      'a slash at the end': await statusOf(`${path}/${queryOf(operation)}`),
      'parameters that are empty or zero': await statusOf(path + queryOf(operation, ownZeros)),
      'parameters that are undefined': await statusOf(
        path +
          queryOf(
            operation,
            own.map(({ name }) => [name, 'undefined']),
          ),
      ),
      'parameters of other operations': await statusOf(path + queryOf(operation, alwaysSent)),
      'a user': await statusOf(path + queryOf(operation, [['user', 'bob']])),
      HEAD: await statusOf(path + queryOf(operation), { method: 'HEAD' }),
      'a content type without content': await statusOf(path + queryOf(operation), {
        headers: { 'content-type': 'application/json' },
      }),
    };
    expect(answers).toEqual(Object.fromEntries(Object.keys(answers).map((name) => [name, plain])));
  });
});

/** They would change or stop what the other tests need. */
const apart = /^\/api\/(test|disasters\/failover|history\/sql-backfill|auth\/token)/;
/** Not asking for anything is refused here, since it would change something; {} is taken. */
const needsBody = /\/(scale|groups|groups\/auth-check|settings|starred-requests)$/;
/** {} is taken, and so is null; a member that is not known may be the one that was meant, misspelt. */
const knowsItsMember = /^PUT .*\/skip-?healthchecks$/i;
const writes = readContract().operations.filter(({ method, path }) => method !== 'GET' && !apart.test(path));

describe('writes', () => {
  // Of things that do not exist, so that each can be called again and again.
  const none = { type: 'LOST_TASKS', action: 'KILL_TASK', requestId: 'none', taskId: 'none-d1-1-1-h-r' };
  test.each(writes.map((operation) => [nameOf(operation), operation] as const))('%s', async (_name, operation) => {
    const url = pathOf(operation, none) + queryOf(operation);
    const json = { 'content-type': 'application/json' };
    const call = (init: RequestInit, at = url) => statusOf(at, { method: operation.method, ...init });
    const plain = await call({ body: '{}', headers: json });
    expect(plain).toBeLessThan(500);
    const answers: Record<string, number> = {
      'members that are null': await call({ body: '{"message":null,"actionId":null}', headers: json }),
      'a character set': await call({ body: '{}', headers: { 'content-type': 'application/json; charset=UTF-8' } }),
      compressed: await call({ body: gzipSync('{}'), headers: { ...json, 'content-encoding': 'gzip' } }),
      'a slash at the end': await call({ body: '{}', headers: json }, url.replace(/(\?|$)/, '/$1')),
      'an undefined parameter': await call(
        { body: '{}', headers: json },
        `${url}${url.includes('?') ? '&' : '?'}largeScaleDownAcknowledged=undefined&user=bob&useWebCache=`,
      ),
    };
    const unknown = await call({ body: '{"nobodyKnowsThis":{"a":[1]}}', headers: json });
    expect(unknown, 'unknown members').toBe(knowsItsMember.test(nameOf(operation)) ? 400 : plain);
    if (!needsBody.test(operation.path)) {
      answers['no body'] = await call({});
      answers['an empty body'] = await call({ body: '', headers: json });
      answers['an empty body of no type'] = await statusWithoutBody(operation.method, url);
      answers['null'] = await call({ body: 'null', headers: json });
    }
    expect(answers).toEqual(Object.fromEntries(Object.keys(answers).map((name) => [name, plain])));
  });
});
