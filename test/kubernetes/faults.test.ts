import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { KubernetesDriver } from '../../src/cluster/kubernetes/kubernetes-driver.js';
import type { Pod } from '../../src/cluster/kubernetes/objects.js';
import type { Task, TaskHistory } from '../../src/core/model/task.js';
import { startTestApp, testSettings, type TestApp } from '../support/test-app.js';
import { waitFor } from '../support/wait-for.js';
import { Lab, labBinaries } from './lab/lab.js';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined };
const slow = { timeoutMillis: 90_000, everyMillis: 250 };

describe.skipIf(labBinaries === undefined)('the whole scheduler on two nodes', () => {
  let lab: Lab;
  let driver: KubernetesDriver;
  let muster: TestApp<KubernetesDriver>;

  beforeAll(async () => {
    lab = await Lab.start({ nodes: 2 });
    const base = testSettings();
    const settings = {
      ...base,
      clusterDriver: 'kubernetes' as const,
      cluster: { ...base.cluster, kubernetes: lab.settings(), agentReregisterTimeoutSeconds: 1 },
    };
    driver = await KubernetesDriver.open({
      settings: settings.cluster.kubernetes,
      defaultRackId: 'DEFAULT',
      log: quiet,
    });
    muster = await startTestApp({ driver, settings });
  });
  afterAll(async () => {
    await muster?.close();
    await driver?.close();
    await lab?.stop();
  });

  async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(`${muster.url}/api/${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  }
  const statesOf = async (taskId: string): Promise<string[]> =>
    (await call<TaskHistory>('GET', `history/task/${taskId}`)).taskUpdates.map(({ taskState }) => taskState);
  const activeTasks = async (requestId: string): Promise<Task[]> =>
    (await call<Task[]>('GET', 'tasks/active')).filter(({ taskId }) => taskId.requestId === requestId);
  const runningPods = async (): Promise<Pod[]> =>
    (await lab.pods()).filter(({ status, metadata }) => status?.phase === 'Running' && !metadata?.deletionTimestamp);
  const deployEnded = (requestId: string, deployId: string): Promise<string> =>
    waitFor(
      `the end of deploy ${deployId}`,
      async () => {
        const path = `history/request/${requestId}/deploy/${deployId}`;
        return (await call<{ deployResult?: { deployState: string } }>('GET', path)).deployResult?.deployState;
      },
      slow,
    );
  const nodeOf = (task: Task): string => task.clusterTask?.slaveId?.value ?? '';

  const web = {
    requestId: 'web',
    command: 'echo ok >index.html; exec httpd -f -p "$PORT"',
    resources: { cpus: 0.1, memoryMb: 32, numPorts: 1 },
    healthcheck: { uri: '/index.html', startupIntervalSeconds: 1, intervalSeconds: 1 },
  };

  test('a service is healthy behind ports of its nodes', async () => {
    await call('POST', 'requests', { id: 'web', requestType: 'SERVICE', instances: 2, slavePlacement: 'SEPARATE' });
    await call('POST', 'deploys', { deploy: { ...web, id: 'v1' } });
    expect(await deployEnded('web', 'v1')).toBe('SUCCEEDED');
    const tasks = await activeTasks('web');
    expect(tasks.map(nodeOf).toSorted()).toEqual(['node-1', 'node-2']);
    expect(await runningPods()).toHaveLength(2);
  });

  test('a broken deploy fails, and says why', async () => {
    await call('POST', 'deploys', { deploy: { ...web, id: 'v2', command: 'exit 7' } });
    expect(await deployEnded('web', 'v2')).toBe('FAILED');
    await waitFor('the former two alone', async () => (await activeTasks('web')).length === 2, slow);
  });

  test('a run on demand prints and ends', async () => {
    await call('POST', 'requests', { id: 'job', requestType: 'ON_DEMAND' });
    const resources = { cpus: 0.1, memoryMb: 32 };
    await call('POST', 'deploys', { deploy: { requestId: 'job', id: 'v1', command: 'echo hello', resources } });
    expect(await deployEnded('job', 'v1')).toBe('SUCCEEDED');
    await call('POST', 'requests/request/job/run', { runId: 'first' });
    await waitFor(
      'the end of the run',
      async () =>
        (await call<{ currentState?: string }>('GET', 'track/run/job/first')).currentState === 'TASK_FINISHED',
      slow,
    );
    const { taskId } = await call<{ taskId: { id: string } }>('GET', 'history/request/job/run/first');
    const printed = (offset: number) =>
      call<{ data: string }>('GET', `sandbox/${taskId.id}/read?path=stdout&offset=${offset}`);
    expect((await printed(0)).data).toBe('hello\n');
    expect((await printed(3)).data).toBe('lo\n');
    const { files } = await call<{ files: object[] }>('GET', `sandbox/${taskId.id}/browse`);
    expect(files).toMatchObject([{ name: 'stdout', size: 6 }]);
  });

  test('while the API server is away tasks run on, and what ends meanwhile is told afterwards', async () => {
    const before = (await activeTasks('web')).map(({ taskId }) => taskId.id);
    await lab.stopApiServer();
    await delay(10_000);
    await lab.startApiServer();
    const [first] = before;
    await call('DELETE', `tasks/task/${first}`);
    await waitFor('the end of it', async () => (await statesOf(first!)).includes('TASK_KILLED'), slow);
    await waitFor('another in its place', async () => (await runningPods()).length === 2, slow);
    expect(await statesOf(before[1]!)).not.toContain('TASK_LOST');
  });

  test('tasks of a node that is lost are replaced, and as many as there should be are left when it is back', async () => {
    const tasks = await waitFor(
      'two tasks',
      async () => {
        const active = await activeTasks('web');
        return active.length === 2 && new Set(active.map(nodeOf)).size === 2 ? active : undefined;
      },
      slow,
    );
    const old = tasks.find((task) => nodeOf(task) === 'node-2')!.taskId.id;
    const { request } = await call<{ request: object }>('GET', 'requests/request/web');
    await call('POST', 'requests', { ...request, slavePlacement: 'GREEDY' });
    await lab.nodes[1]!.killKubelet();
    await waitFor('it to be given up', async () => (await statesOf(old)).includes('TASK_UNREACHABLE'), slow);
    const onNode1 = () => runningPods().then((pods) => pods.filter(({ spec }) => spec?.nodeName === 'node-1'));
    await waitFor('another in its place', async () => (await onNode1()).length === 2, slow);
    // By force: its object may go, and its program runs on.
    expect((await runningPods()).filter(({ spec }) => spec?.nodeName === 'node-2')).toHaveLength(1);
    await lab.nodes[1]!.startKubelet();
    // It is taken up again, for its deploy still runs, and one that is too many goes.
    await waitFor('it to be heard of', async () => (await statesOf(old)).at(-1) !== 'TASK_UNREACHABLE', slow);
    const isSteady = async () => (await runningPods()).length === 2 && (await activeTasks('web')).length === 2;
    await waitFor('as many as there should be', isSteady, slow);
    await delay(5_000);
    expect(await isSteady()).toBe(true);
  });
});
