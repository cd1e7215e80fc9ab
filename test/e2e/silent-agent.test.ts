import { afterAll, expect, test } from 'vitest';
import { waitFor } from '../support/wait-for.js';
import { isAlive, pidsOfTask } from './support/processes.js';
import { Installation } from './support/product.js';
import { createDatabase } from '../support/test-database.js';

const installation = new Installation({ database: createDatabase });
afterAll(() => installation.dispose(), 90_000);

test('an agent that hangs is ended and started again within half a minute; its tasks run on and others start', async () => {
  const { api } = await installation.start(['start']);
  const resources = { cpus: 0.05, memoryMb: 16 };
  const deploy = { command: 'exec sleep 1000', resources, considerHealthyAfterRunningForSeconds: 0 };
  await api.saveRequest({ id: 'worker', requestType: 'WORKER', instances: 1 });
  await api.deploy({ requestId: 'worker', id: 'v1', ...deploy });
  await api.deployEnded('worker', 'v1');
  const [task] = await api.running('worker', 1);
  const pids = pidsOfTask(task!.taskId.id);
  expect(pids.length).toBeGreaterThan(0);

  const agent = installation.agentPid();
  process.kill(agent, 'SIGSTOP');
  const stoppedAt = performance.now();
  await waitFor('another agent', () => !isAlive(agent) && installation.agentPid() !== agent, {
    timeoutMillis: 60_000,
  });
  // A short pause is no reason to end it.
  expect(performance.now() - stoppedAt).toBeGreaterThan(15_000);
  await waitFor('the slave to be there', async () => {
    const answer = await fetch(`${api.url}/api/slaves`);
    const slaves = (await answer.json()) as { currentState: { state: string } }[];
    return slaves.length === 1 && slaves[0]!.currentState.state === 'ACTIVE';
  });
  expect(pidsOfTask(task!.taskId.id)).toEqual(pids);
  expect((await api.running('worker', 1)).map(({ taskId }) => taskId.id)).toEqual([task!.taskId.id]);
  await api.saveRequest({ id: 'after', requestType: 'RUN_ONCE' });
  await api.deploy({ requestId: 'after', id: 'v1', ...deploy, command: 'echo done' });
  await waitFor('a new task to run to its end', async () => (await api.endedTasks('after')).length === 1);
}, 150_000);
