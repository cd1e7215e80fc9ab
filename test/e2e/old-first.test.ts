import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Deploy } from '../../src/core/model/deploy.js';
import type { RequestExplanationDto } from '../../src/scheduler/explain/dto/explanation.dto.js';
import type { DeployPlanDto } from '../../src/scheduler/plan/dto/plan.dto.js';
import { freePort } from '../support/free-port.js';
import { createDatabase } from '../support/test-database.js';
import { waitFor } from '../support/wait-for.js';
import type { Api } from './support/api.js';
import { Installation } from './support/product.js';

/* A service on a fixed port, which one process at a time can have, on the built product with an agent. */

let installation: Installation;
let api: Api;
let port: number;
beforeAll(async () => {
  installation = new Installation({ database: createDatabase, settings: {} });
  ({ api } = await installation.start(['start']));
  port = await freePort();
}, 120_000);
afterAll(() => installation.dispose(), 90_000);

/** Ends at once where another process has the port, and keeps it for a while when it is told to end. */
const program = `require('node:http').createServer((_request, response) => response.end(process.env.VERSION))
  .listen(Number(process.env.FIXED_PORT), '0.0.0.0');
process.on('SIGTERM', () => setTimeout(() => process.exit(0), 1500));`;

const version = (id: string, changes: Partial<Deploy> = {}): Deploy => ({
  requestId: 'fixed',
  id,
  command: 'node',
  arguments: ['-e', program],
  env: { FIXED_PORT: `${port}`, VERSION: id },
  resources: { cpus: 0.1, memoryMb: 64 },
  considerHealthyAfterRunningForSeconds: 1,
  killGracePeriodMillis: 20_000,
  deployStrategy: 'OLD_FIRST',
  ...changes,
});
const deploy = async (id: string, changes?: Partial<Deploy>) => {
  await api.deploy(version(id, changes));
  return (await api.deployEnded('fixed', id, 120_000)).deployResult;
};
const answer = () => fetch(`http://127.0.0.1:${port}/`).then((response) => response.text());

test('a new version takes the fixed port over from the old one', async () => {
  await api.saveRequest({ id: 'fixed', requestType: 'SERVICE' });
  expect(await deploy('v1')).toMatchObject({ deployState: 'SUCCEEDED' });
  expect(await answer()).toBe('v1');

  const plan = await api.post<DeployPlanDto>('deploys/plan', { deploy: version('v2') });
  expect(plan).toMatchObject({ deployStrategy: 'OLD_FIRST', maxUnavailable: 1 });
  expect(plan.steps.map(({ start, stop }) => [start.length, stop.length])).toEqual([
    [0, 1],
    [1, 0],
  ]);

  await api.deploy(version('v2'));
  const explained = await waitFor('a new task that waits for the end of the old one', async () => {
    const { pendingTasks } = await api.get<RequestExplanationDto>('requests/request/fixed/explain');
    return pendingTasks.find(({ reason }) => reason === 'OLD_FIRST');
  });
  expect(explained.message).toMatch(/An old task of its request has to end before it starts.*1 of at most 1 live/);
  expect((await api.deployEnded('fixed', 'v2')).deployResult).toMatchObject({ deployState: 'SUCCEEDED' });
  expect(await answer()).toBe('v2');
  expect(await api.running('fixed', 1)).toHaveLength(1);
}, 180_000);

test('a version that fails leaves the port to the one before, which starts again', async () => {
  const [before] = await api.running('fixed', 1);
  expect(await deploy('v3', { arguments: ['-e', 'process.exit(3)'] })).toMatchObject({ deployState: 'FAILED' });
  const [after] = await api.running('fixed', 1);
  expect(after!.taskId).toMatchObject({ deployId: 'v2' });
  expect(after!.taskId.id).not.toBe(before!.taskId.id);
  await waitFor('the answer of the version before', () => answer().then((text) => text === 'v2'));
}, 180_000);

test('a bounce ends the task before its replacement starts', async () => {
  const [before] = await api.running('fixed', 1);
  await api.post('requests/request/fixed/bounce');
  const ended = await waitFor('the end of the old task', async () =>
    (await api.endedTasks('fixed')).find(({ taskId }) => taskId.id === before!.taskId.id),
  );
  expect(ended.lastTaskState).toBe('TASK_KILLED');
  const [after] = await api.running('fixed', 1);
  expect(after!.taskId.startedAt).toBeGreaterThanOrEqual(ended.updatedAt);
  await waitFor('the answer of the replacement', () => answer().then((text) => text === 'v2'));
}, 180_000);
