import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Deploy } from '../../src/core/model/deploy.js';
import type { RequestExplanationDto } from '../../src/scheduler/explain/dto/explanation.dto.js';
import { createDatabase } from '../support/test-database.js';
import { waitFor } from '../support/wait-for.js';
import type { Api } from './support/api.js';
import { Installation, type Instance } from './support/product.js';

/* Programs around the main one of a task, on the built product with an agent. */

let installation: Installation;
let instance: Instance;
let api: Api;
beforeAll(async () => {
  installation = new Installation({ database: createDatabase, settings: {} });
  instance = await installation.start(['start']);
  ({ api } = instance);
}, 120_000);
afterAll(() => installation.dispose(), 90_000);

const resources = { cpus: 0.1, memoryMb: 64 };
const deployOf = (id: string, changes: Partial<Deploy>): Deploy => ({
  requestId: id,
  id: 'v1',
  command: 'exec sleep 600',
  resources,
  ...changes,
});
const explain = (id: string) => api.get<RequestExplanationDto>(`requests/request/${id}/explain`);

test('a service starts after its init step, with its sidecar, and ends with its post step', async () => {
  await api.saveRequest({ id: 'around', requestType: 'SERVICE', instances: 1 });
  await api.deploy(
    deployOf('around', {
      tasks: {
        init: [{ name: 'migrate', command: 'echo migrated >data; echo done' }],
        sidecars: [{ name: 'proxy', command: 'exec sleep 600', resources: { cpus: 0.1, memoryMb: 16 } }],
        post: [{ name: 'report', command: 'cat data; echo $TASK_REQUEST_ID' }],
      },
    }),
  );
  expect((await api.deployEnded('around', 'v1')).deployResult?.deployState).toBe('SUCCEEDED');
  const [task] = await api.activeTasks('around');
  const taskId = task!.taskId.id;
  const running = await api.history(taskId);
  expect(running.programs?.map(({ name, role, state }) => `${role} ${name} ${state}`)).toEqual([
    'INIT migrate SUCCEEDED',
    'SIDECAR proxy RUNNING',
  ]);
  // The sum of both is what it takes of its machine.
  const memory = running.task.clusterTask?.resources?.find(({ name }) => name === 'mem');
  expect(memory?.scalar?.value).toBe(80);
  await api.call('DELETE', `tasks/task/${taskId}`, {});
  await waitFor('its end', async () => (await api.endedTasks('around'))[0], { timeoutMillis: 60_000 });
  const ended = await api.history(taskId);
  expect(ended.programs?.map(({ name, state }) => `${name} ${state}`)).toEqual([
    'migrate SUCCEEDED',
    'proxy SUCCEEDED',
    'report SUCCEEDED',
  ]);
  expect(ended.taskUpdates.map(({ taskState }) => taskState)).toEqual(
    expect.arrayContaining(['TASK_RUNNING', 'TASK_KILLING', 'TASK_KILLED']),
  );
  expect(readFileSync(join(ended.directory!, 'migrate.stdout'), 'utf8')).toBe('done\n');
  expect(readFileSync(join(ended.directory!, 'report.stdout'), 'utf8')).toBe('migrated\naround\n');
}, 120_000);

test('a deploy whose init step fails is rolled back, with the reason', async () => {
  await api.saveRequest({ id: 'broken', requestType: 'SERVICE', instances: 1 });
  await api.deploy(deployOf('broken', { tasks: { init: [{ name: 'migrate', command: 'exit 3' }] } }));
  const { deployResult } = await api.deployEnded('broken', 'v1');
  expect(deployResult?.deployState).toBe('FAILED');
  expect(JSON.stringify(deployResult)).toContain('Init step migrate ended with exit code 3');
}, 120_000);

test('a request explains which step its task is in', async () => {
  await api.saveRequest({ id: 'slow', requestType: 'SERVICE', instances: 1 });
  await api.deploy(
    deployOf('slow', { tasks: { init: [{ name: 'wait', command: 'until test -e go; do sleep 0.1; done' }] } }),
  );
  const [program] = await waitFor('its step', async () => (await explain('slow')).programs);
  expect(program).toMatchObject({ name: 'wait', role: 'INIT', state: 'RUNNING', starts: 1 });
}, 120_000);

test('a deploy with programs that no task can have is refused by field and rule', async () => {
  await api.saveRequest({ id: 'wrong', requestType: 'SERVICE' });
  const programs = [
    { name: 'a', command: 'true' },
    { name: 'a', command: 'true' },
  ];
  await expect(api.deploy(deployOf('wrong', { tasks: { init: programs } }))).rejects.toMatchObject({
    status: 400,
    body: expect.stringContaining("deploy.tasks.init.1.name is 'a', as of another program of the task"),
  });
});
