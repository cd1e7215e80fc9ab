import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Deploy } from '../../src/core/model/deploy.js';
import type { RequestExplanationDto } from '../../src/scheduler/explain/dto/explanation.dto.js';
import { createDatabase } from '../support/test-database.js';
import { waitFor } from '../support/wait-for.js';
import { type Api, portsOf } from './support/api.js';
import { Installation, type Instance } from './support/product.js';

/* Services whose tasks turn ill after they were healthy, or wait for others, on the built product with an agent. */

let installation: Installation;
let instance: Instance;
let api: Api;
beforeAll(async () => {
  installation = new Installation({ database: createDatabase, settings: {} });
  instance = await installation.start(['start']);
  ({ api } = instance);
}, 120_000);
afterAll(() => installation.dispose(), 90_000);

/** Says that it is healthy until it is asked to be ill; `/end` is its preStop. */
const program = `let ill = false; require('node:http').createServer((request, response) => {
  if (request.url === '/ill') ill = true;
  if (request.url === '/end') console.log('told to end');
  response.writeHead(request.url === '/health' && ill ? 503 : 200).end(process.env.TASK_ID);
}).listen(Number(process.env.PORT), '127.0.0.1'); process.on('SIGINT', () => process.exit(0));`;
const often = { intervalSeconds: 1, startupIntervalSeconds: 1 };

async function start(id: string, deploy: Partial<Deploy>, instances = 2): Promise<void> {
  await api.saveRequest({ id, requestType: 'SERVICE', instances });
  const resources = { cpus: 0.1, memoryMb: 64, numPorts: 1 };
  await api.deploy({ requestId: id, id: 'v1', command: 'node', arguments: ['-e', program], resources, ...deploy });
  expect((await api.deployEnded(id, 'v1')).deployResult?.deployState).toBe('SUCCEEDED');
}
const explain = (id: string) => api.get<RequestExplanationDto>(`requests/request/${id}/explain`);
test('a task that turns ill is replaced, a new one first, after its preStop and by its signal', async () => {
  await start('ill', {
    healthcheck: { uri: '/health', ...often, liveness: { intervalSeconds: 1, failureThreshold: 2 } },
    killSignal: 'SIGINT',
    killGracePeriodMillis: 20_000,
    preStop: { http: { uri: '/end' } },
  });
  const [first, second] = await api.activeTasks('ill');
  await fetch(`http://127.0.0.1:${portsOf(first!)[0]}/ill`);
  const ended = await waitFor('the end of the ill one', async () => (await api.endedTasks('ill'))[0], {
    timeoutMillis: 60_000,
  });
  expect(ended).toMatchObject({ taskId: { id: first!.taskId.id }, lastTaskState: 'TASK_KILLED' });
  const { taskUpdates } = await api.history(first!.taskId.id);
  expect(taskUpdates.find(({ taskState }) => taskState === 'TASK_CLEANING')?.statusMessage).toMatch(
    /^UNHEALTHY_TASK - Task failed 2 liveness checks in a row \(status 503\)/,
  );
  // By its signal, for which it has a trap: SIGTERM would have been exit code 143.
  expect(taskUpdates.at(-1)?.statusMessage).toMatch(/^Killed gracefully, exit code 0/);
  const now = await api.activeTasks('ill');
  expect(now.map(({ taskId }) => taskId.instanceNo).toSorted()).toEqual([1, 2]);
  expect(now.map(({ taskId }) => taskId.id)).toContain(second!.taskId.id);
  const replacement = now.find(({ taskId }) => taskId.id !== second!.taskId.id)!;
  expect(replacement.taskId.startedAt).toBeLessThan(ended.updatedAt);
}, 120_000);

test('a task that is checked by a command is only told of, where no more is asked for', async () => {
  await start(
    'told',
    {
      command: 'exec sleep 600',
      arguments: undefined,
      healthcheck: {
        type: 'COMMAND',
        command: 'test ! -e ill',
        ...often,
        liveness: { intervalSeconds: 1, failureThreshold: 2, action: 'NONE' },
      },
    },
    1,
  );
  const [task] = await api.activeTasks('told');
  const { directory } = await api.history(task!.taskId.id);
  writeFileSync(join(directory!, 'ill'), '');
  const told = await waitFor('word of it', async () => (await explain('told')).unhealthyTasks?.[0], {
    timeoutMillis: 60_000,
  });
  expect(told).toMatchObject({ waitsFor: 'ACTION_NONE', message: expect.stringContaining('Exit code 1') });
  expect(await api.activeTasks('told')).toHaveLength(1);
}, 120_000);

test('a service starts when those that it names are in service, also if the leader dies meanwhile', async () => {
  const resources = { cpus: 0.1, memoryMb: 64, numPorts: 1 };
  const server = {
    id: 'v1',
    command: 'node',
    arguments: ['-e', program],
    resources,
    healthcheck: { uri: '/health', ...often },
  };
  await api.saveRequest({ id: 'db', requestType: 'SERVICE', instances: 2 });
  await api.saveRequest({ id: 'web', requestType: 'SERVICE', instances: 1, startAfter: ['db'] });
  await api.deploy({ requestId: 'web', ...server });
  const untilItWaits = () =>
    waitFor('web to wait for db', async () => JSON.stringify(await explain('web')).includes('START_ORDER'), {
      timeoutMillis: 60_000,
    });
  await untilItWaits();
  expect(JSON.stringify(await explain('web'))).toContain("'db' has 0 of 2 instances in service");
  await instance.kill9();
  instance = await installation.start(['start']);
  ({ api } = instance);
  await untilItWaits();
  expect(await api.activeTasks('web')).toEqual([]);

  await api.deploy({ requestId: 'db', ...server });
  expect((await api.deployEnded('web', 'v1')).deployResult?.deployState).toBe('SUCCEEDED');
  const [web] = await api.activeTasks('web');
  const started = await Promise.all(
    (await api.activeTasks('db')).map(async ({ taskId }) => {
      const { taskUpdates, healthcheckResults } = await api.history(taskId.id);
      expect(taskUpdates.at(-1)?.taskState).toBe('TASK_RUNNING');
      return Math.min(
        ...healthcheckResults.filter(({ statusCode }) => statusCode === 200).map(({ timestamp }) => timestamp),
      );
    }),
  );
  expect(started).toHaveLength(2);
  expect(web!.taskId.startedAt).toBeGreaterThanOrEqual(Math.max(...started));
  // Nothing waits while one of its tasks is in service, and a request that another names is not removed by the way.
  await expect(api.call('DELETE', 'requests/request/db', {})).rejects.toThrow('web');
}, 180_000);
