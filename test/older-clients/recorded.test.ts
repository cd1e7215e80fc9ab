import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ApiError, type Api } from '../e2e/support/api.js';
import { Installation } from '../e2e/support/product.js';
import { createDatabase } from '../support/test-database.js';
import { waitFor } from '../support/wait-for.js';

/*
 * Members of answers, as an older installation gave them: what a client may read there, it may read here, of the same
 * type. More members are fine. What is left out on purpose stands in docs/deviations.md.
 */
const recorded = JSON.parse(readFileSync(new URL('recorded-members.json', import.meta.url), 'utf8')) as {
  read: string;
  members: string[];
}[];

/** Calls that were refused there: they are refused here, with the same status. */
const refusals = JSON.parse(readFileSync(new URL('recorded-refusals.json', import.meta.url), 'utf8')) as [
  status: number,
  method: string,
  path: string,
  body?: object,
][];

const installation = new Installation({
  database: createDatabase,
  settings: { checkUsageEveryMillis: 1_000, startNewReconcileEverySeconds: 1 },
});
const resources = { cpus: 0.1, memoryMb: 16, numPorts: 1 };
const run = { message: 'go', runId: 'run1', commandLineArgs: ['a'], resources, envOverrides: { X: 'Y' } };
let api: Api;
let task: string;
let killed: unknown;

beforeAll(async () => {
  api = (await installation.start()).api;
  await api.saveRequest({ id: 'svc1', requestType: 'SERVICE', instances: 2, owners: ['x@y.example'] });
  await api.saveRequest({ id: 'sched1', requestType: 'SCHEDULED', schedule: '*/5 * * * *' });
  await api.saveRequest({ id: 'ondemand1', requestType: 'ON_DEMAND' });
  await api.saveRequest({ id: 'worker1', requestType: 'WORKER', instances: 2, owners: ['x@y.example'] });
  await api.saveRequest({ id: 'plain', requestType: 'SERVICE' });
  await api.saveRequest({ id: 'twenty', requestType: 'SERVICE', instances: 20 });
  const said = { env: { A: 'B' }, labels: { l: 'm' }, metadata: { x: 'y' }, version: '1.0' };
  const command = 'mkdir -p logs; touch logs/service.log; exec sleep 1000';
  const deploy = { id: 'd1', requestId: 'svc1', command, resources, ...said };
  await api.post('deploys', { deploy, message: 'first deploy' });
  await api.deployEnded('svc1', 'd1');
  await api.deploy({ id: 'd1', requestId: 'sched1', command: 'sleep 1', resources });
  await api.deploy({ id: 'd1', requestId: 'ondemand1', command: 'sleep 1000', resources });
  await api.post('deploys', { deploy: { ...deploy, requestId: 'worker1' }, message: 'first deploy' });
  await api.deployEnded('worker1', 'd1');
  const [first, second] = await api.running('svc1', 2);
  task = first!.taskId.id;
  await api.post(`tasks/task/${task}/metadata`, { type: 't', title: 'hello', message: 'm' });
  killed = await api.call('DELETE', `tasks/task/${second!.taskId.id}`, {
    override: true,
    message: 'force',
    actionId: 'act1',
  });
  await api.running('svc1', 2);
  await api.post('groups', { id: 'grp1', requestIds: ['svc1'], metadata: { a: 'b' } });
  await api.post('priority/freeze', { minimumPriorityLevel: 0.1, killTasks: false, message: 'm' });
  await api.post('requests/request/ondemand1/run', run);
  await waitFor('the run', () => api.get('requests/request/ondemand1/run/run1').catch(() => undefined));
  await api.post('requests/request/worker1/pause', { message: 'm', durationMillis: 3_600_000 });
  const lapses = { durationMillis: 3_600_000, message: 'm', actionId: 'a' };
  await api.call('PUT', 'requests/request/svc1/scale', { instances: 3, ...lapses });
  await waitFor('figures of the use', async () => {
    const use = await api.get<unknown[]>(`usage/tasks/${task}/history`);
    return use.length > 1 && (await api.get<unknown[]>('usage/requests')).length > 0;
  });
}, 120_000);
afterAll(() => installation.dispose(), 90_000);

/** Members by dotted paths, as in 'request.id: text'; of the members of a list together. */
function membersOf(value: unknown, path = ''): string[] {
  const own = path === '' ? [] : [`${path}: ${typeOf(value)}`];
  if (Array.isArray(value)) return [...own, ...value.flatMap((member) => membersOf(member, `${path}[]`))];
  if (typeof value !== 'object' || value === null) return own;
  const below = (name: string) => (path === '' ? name : `${path}.${name}`);
  return [...own, ...Object.entries(value).flatMap(([name, member]) => membersOf(member, below(name)))];
}
function typeOf(value: unknown): string {
  if (Array.isArray(value)) return 'list';
  return { string: 'text', number: 'number', boolean: 'boolean' }[typeof value as string] ?? 'record';
}

async function answerTo(read: string): Promise<unknown> {
  const [method, path] = read.replace('{task}', task).split(' ') as [string, string];
  if (method === 'DELETE') return killed;
  if (path.endsWith('/run')) return api.post(path.slice(1), run);
  if (path.endsWith('/run?minimal=true')) return api.post(path.slice(1), { runId: 'run2' });
  return api.call(method, path.slice(1));
}

test.each(recorded)('$read answers what it did', async ({ read, members }) => {
  const has = new Set(membersOf(await answerTo(read)));
  expect(members.filter((member) => !has.has(member))).toEqual([]);
});

test.each(refusals)('%i %s %s %j', async (status, method, path, body) => {
  const refused = await api.call(method, path.slice(1), body).catch((cause: unknown) => cause);
  expect(refused).toBeInstanceOf(ApiError);
  const { status: answered, body: text } = refused as ApiError;
  expect([answered, (JSON.parse(text) as { status: number }).status]).toEqual([status, status]);
});
