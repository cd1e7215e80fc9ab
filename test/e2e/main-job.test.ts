import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Deploy } from '../../src/core/model/deploy.js';
import type { Task } from '../../src/core/model/task.js';
import { Lab, labBinaries } from '../kubernetes/lab/lab.js';
import { waitFor } from '../support/wait-for.js';
import { type Api, portsOf } from './support/api.js';
import { killNow, pidsOfTask } from './support/processes.js';
import { Installation, type Instance } from './support/product.js';
import { createDatabase } from '../support/test-database.js';

/* What users do all day, through the built product on two machines, whatever the cluster is. */

vi.setConfig({ testTimeout: 180_000, hookTimeout: 240_000 });

const slow = { timeoutMillis: 90_000, everyMillis: 200 };

interface Place {
  installation: Installation;
  /** Takes away what the installation stood on. */
  remove(): Promise<void>;
}

/** Two slaves of one agent. */
async function onThisMachine(): Promise<Place> {
  const slaves = [1, 2].map((number) => ({
    id: `machine-${number}`,
    hostname: 'localhost',
    rackId: 'rack1',
    cpus: 4,
    memoryMb: 4096,
    diskMb: 1024,
    ports: `${19_000 + number * 40}-${19_039 + number * 40}`,
  }));
  return {
    installation: new Installation({ database: createDatabase, local: { slaves } }),
    remove: async () => undefined,
  };
}

/** Two nodes, each with a kubelet of its own. */
async function onKubernetes(): Promise<Place> {
  const lab = await Lab.start({ nodes: 2, programs: [process.execPath], hasAgents: true });
  const installation = new Installation({
    database: createDatabase,
    settings: { cluster: { kubernetes: lab.settings() } },
    env: { MUSTER_CLUSTER: 'kubernetes' },
  });
  return { installation, remove: () => lab.stop() };
}

const server = (respond: string): Pick<Deploy, 'command' | 'arguments'> => ({
  command: 'node',
  arguments: [
    '-e',
    `require('node:http').createServer((request, response) => { ${respond} }).listen(Number(process.env.PORT)); process.on('SIGTERM', () => process.exit(0));`,
  ],
});
const resources = { cpus: 0.1, memoryMb: 128 };
const webDeploy = (id: string, respond: string): Deploy => ({
  requestId: 'web',
  id,
  ...server(respond),
  resources: { ...resources, numPorts: 1 },
  healthcheck: { uri: '/', intervalSeconds: 1, startupIntervalSeconds: 1, startupTimeoutSeconds: 60, maxRetries: 2 },
});
const idsOf = (tasks: readonly Task[]): string[] => tasks.map(({ taskId }) => taskId.id).toSorted();
const machineOf = (task: Task): string | undefined => task.clusterTask?.slaveId?.value;

/** Answers of its tasks behind their ports. */
async function answersOf(tasks: readonly Task[]): Promise<string[]> {
  return Promise.all(
    tasks.map(async (task) => {
      const { hostname } = (task.offers ?? [])[0] ?? {};
      const response = await fetch(`http://${hostname}:${portsOf(task)[0]}/`, { signal: AbortSignal.timeout(5_000) });
      return response.text();
    }),
  );
}

describe.each([
  { name: 'local', isThere: true, make: onThisMachine },
  { name: 'kubernetes', isThere: labBinaries !== undefined, make: onKubernetes },
])('the main job on $name', ({ isThere, make }) => {
  describe.runIf(isThere)('two machines', () => {
    let place: Place;
    let muster: Instance;
    let api: Api;
    beforeAll(async () => {
      place = await make();
      muster = await place.installation.start();
      ({ api } = muster);
      await waitFor('both machines', async () => (await api.get<unknown[]>('slaves?state=ACTIVE')).length === 2, slow);
    });
    afterAll(async () => {
      await place?.installation.dispose();
      await place?.remove();
    });

    const stateOfDeploy = async (requestId: string, deployId: string) =>
      (await api.deployEnded(requestId, deployId, 120_000)).deployResult?.deployState;
    const running = (requestId: string, count: number) => api.running(requestId, count, 90_000);

    test('a service runs on both machines, healthy behind its ports, and its next version replaces it', async () => {
      await api.saveRequest({ id: 'web', requestType: 'SERVICE', instances: 2, slavePlacement: 'SEPARATE' });
      await api.deploy(webDeploy('v1', `response.end('version 1')`));
      expect(await stateOfDeploy('web', 'v1')).toBe('SUCCEEDED');
      const first = await running('web', 2);
      expect(new Set(first.map(machineOf)).size).toBe(2);
      expect(await answersOf(first)).toEqual(['version 1', 'version 1']);
      // Separate tasks of one deploy are on machines of their own; those of the next one stand beside them.
      await api.deploy(webDeploy('v2', `response.end('version 2')`));
      expect(await stateOfDeploy('web', 'v2')).toBe('SUCCEEDED');
      const second = await running('web', 2);
      expect(await answersOf(second)).toEqual(['version 2', 'version 2']);
      for (const { taskId } of first)
        expect((await api.history(taskId.id)).taskUpdates.at(-1)?.taskState).toMatch(/^TASK_(KILLED|FINISHED)$/);
    });

    test('a broken version is rolled back, and the one before it is not touched', async () => {
      const before = await running('web', 2);
      await api.deploy(webDeploy('v3', `response.statusCode = 500; response.end('broken')`));
      expect(await stateOfDeploy('web', 'v3')).toBe('FAILED');
      const after = await running('web', 2);
      expect(idsOf(after)).toEqual(idsOf(before));
      expect((await api.request('web')).requestDeployState?.activeDeploy?.deployId).toBe('v2');
      expect(await answersOf(after)).toEqual(['version 2', 'version 2']);
    });

    test('a cron job runs when it is due', async () => {
      await api.saveRequest({ id: 'tick', requestType: 'SCHEDULED', schedule: '*/5 * * * * *' });
      await api.deploy({ requestId: 'tick', id: 'v1', command: 'date', resources });
      const runs = await waitFor(
        'two runs',
        async () => {
          const ended = await api.endedTasks('tick');
          return ended.length >= 2 && ended;
        },
        slow,
      );
      for (const { taskId } of runs) {
        const { task, taskUpdates } = await api.history(taskId.id);
        expect(task.taskRequest.pendingTask.pendingTaskId.nextRunAt % 5_000).toBe(0);
        expect(taskUpdates.at(-1)?.taskState).toBe('TASK_FINISHED');
      }
      await api.post('requests/request/tick/pause');
    });

    test('a run on demand gets its arguments, and what it prints can be read; its exit code decides', async () => {
      await api.saveRequest({ id: 'greet', requestType: 'ON_DEMAND' });
      const script = 'for name in "$@"; do echo "Hello, $name!"; done; test "$1" = Ada';
      const words = ['-c', script, 'greet'];
      await api.deploy({ requestId: 'greet', id: 'v1', command: 'sh', arguments: words, resources });
      await stateOfDeploy('greet', 'v1');
      for (const [runId, first, end] of [
        ['run-1', 'Ada', 'TASK_FINISHED'],
        ['run-2', 'Eve', 'TASK_FAILED'],
      ] as const) {
        await api.post('requests/request/greet/run', { runId, commandLineArgs: [first, 'two words', '$HOME "q"'] });
        const { taskId } = await waitFor(
          `the end of ${runId}`,
          async () => {
            const run = await api.get<{ currentState?: string; taskId: { id: string } }>(`track/run/greet/${runId}`);
            return run.currentState === end && run;
          },
          slow,
        );
        const read = `sandbox/${taskId.id}/read?path=stdout&offset=0&length=1000`;
        const printed = `Hello, ${first}!\nHello, two words!\nHello, $HOME "q"!\n`;
        expect((await api.get<{ data: string }>(read)).data).toBe(printed);
      }
    });

    test('kill -9 of the scheduler: tasks run on, none is doubled or lost, and what ended meanwhile is seen', async () => {
      await api.saveRequest({ id: 'worker', requestType: 'WORKER', instances: 3 });
      await api.deploy({ requestId: 'worker', id: 'v1', command: 'exec sleep 1000', resources });
      expect(await stateOfDeploy('worker', 'v1')).toBe('SUCCEEDED');
      const before = idsOf(await running('worker', 3));
      const web = idsOf(await running('web', 2));
      await muster.kill9();
      const [victim, ...others] = before;
      killNow(pidsOfTask(victim!));
      for (const id of [...others, ...web]) expect(pidsOfTask(id).length).toBeGreaterThan(0);

      muster = await place.installation.start();
      ({ api } = muster);
      const after = await waitFor(
        'the replacement',
        async () => {
          const ids = idsOf(await running('worker', 3));
          return !ids.includes(victim!) && ids;
        },
        slow,
      );
      expect(after.filter((id) => before.includes(id))).toEqual(others);
      expect((await api.history(victim!)).taskUpdates.at(-1)?.taskState).toBe('TASK_FAILED');
      expect(idsOf(await running('web', 2))).toEqual(web);
      for (const id of [...after, ...web]) expect(pidsOfTask(id).length).toBeGreaterThan(0);
      expect(pidsOfTask(victim!)).toEqual([]);
    });
  });
});
