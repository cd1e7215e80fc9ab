import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { KubernetesDriver } from '../../src/cluster/kubernetes/kubernetes-driver.js';
import type { Node, Pod } from '../../src/cluster/kubernetes/objects.js';
import type { Task } from '../../src/core/model/task.js';
import { Api } from '../e2e/support/api.js';
import { killNow, pidsOfTask } from '../e2e/support/processes.js';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';
import { createDatabase } from '../support/test-database.js';
import { startTestApp, testSettings, type TestApp } from '../support/test-app.js';
import { waitFor } from '../support/wait-for.js';
import { Lab, labBinaries } from './lab/lab.js';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined };
const slow = { timeoutMillis: 90_000, everyMillis: 250 };
const resources = { cpus: 0.1, memoryMb: 32 };

describe.skipIf(labBinaries === undefined)('what goes wrong with a Kubernetes of two nodes', () => {
  let lab: Lab;
  let line: TcpProxy;
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let driver: KubernetesDriver;
  let muster: TestApp<KubernetesDriver>;
  let api: Api;

  beforeAll(async () => {
    lab = await Lab.start({ nodes: 2, hasAgents: true });
    line = await startTcpProxy({ host: '127.0.0.1', port: lab.apiServerPort });
    database = await createDatabase();
    await startMuster();
    await api.saveRequest({ id: 'web', requestType: 'SERVICE', instances: 2, slavePlacement: 'SEPARATE' });
    const command = 'exec sleep 100000';
    const deploy = { requestId: 'web', id: 'v1', command, resources, considerHealthyAfterRunningForSeconds: 0 };
    await api.deploy(deploy);
    await api.deployEnded('web', 'v1', 120_000);
  });
  afterAll(async () => {
    await stopMuster();
    await line?.close();
    await database?.remove();
    await lab?.stop();
  });

  /** A scheduler that reaches the API server by a line which can be cut. */
  async function startMuster(): Promise<void> {
    const kubeconfig = join(lab.folder, 'by-the-line');
    const text = readFileSync(lab.kubeconfig, 'utf8').replace(`:${lab.apiServerPort}`, `:${line.port}`);
    writeFileSync(kubeconfig, text);
    const base = testSettings();
    const settings = {
      ...base,
      clusterDriver: 'kubernetes' as const,
      cluster: { ...base.cluster, kubernetes: lab.settings({ kubeconfig }), agentReregisterTimeoutSeconds: 1 },
    };
    const { kubernetes, defaultRackId } = settings.cluster;
    driver = await KubernetesDriver.open({ now: Date.now, settings: kubernetes, defaultRackId, log: quiet });
    muster = await startTestApp({ driver, settings, databaseUrl: database.url });
    api = new Api(muster.url);
  }
  async function stopMuster(): Promise<void> {
    await muster?.close();
    await driver?.close();
  }

  const nodeOf = (task: Task): string => task.clusterTask?.slaveId?.value ?? '';
  const statesOf = async (taskId: string): Promise<string[]> =>
    (await api.history(taskId)).taskUpdates.map(({ taskState }) => taskState);
  const podOf = async (taskId: string): Promise<Pod | undefined> =>
    (await lab.pods()).find(({ metadata }) => metadata?.annotations?.['muster/task-id'] === taskId);
  const stateOf = async (slaveId: string): Promise<string | undefined> => {
    const slaves = await api.get<{ id: string; currentState: { state: string } }[]>('slaves');
    return slaves.find(({ id }) => id === slaveId)?.currentState.state;
  };

  /** Two tasks run, as processes too, and nothing else of the service does. */
  const steady = (placement: 'SEPARATE' | 'GREEDY' = 'SEPARATE'): Promise<Task[]> =>
    waitFor(
      'two tasks, and no more',
      async () => {
        const tasks = await api.running('web', 2, 60_000);
        const nodes = new Set(tasks.map(nodeOf)).size;
        const ended = (await api.endedTasks('web')).map(({ taskId }) => taskId.id);
        const areLeft = ended.some((id) => pidsOfTask(id).length > 0);
        const run = tasks.every(({ taskId }) => pidsOfTask(taskId.id).length > 0);
        return (placement === 'GREEDY' || nodes === 2) && run && !areLeft && tasks;
      },
      slow,
    );
  const idOn = (tasks: readonly Task[], node: string): string => tasks.find((task) => nodeOf(task) === node)!.taskId.id;
  const untilReplaced = (taskId: string, state: string) =>
    waitFor(`${state} of ${taskId}`, async () => (await statesOf(taskId)).includes(state), slow);
  async function place(slavePlacement: 'SEPARATE' | 'GREEDY'): Promise<void> {
    const { request } = await api.request('web');
    await api.saveRequest({ ...request, slavePlacement });
  }
  /** From wherever the tasks are to one on each node. */
  async function spread(): Promise<Task[]> {
    await place('SEPARATE');
    const tasks = await api.running('web', 2, 60_000);
    if (new Set(tasks.map(nodeOf)).size < 2) await api.call('DELETE', `tasks/task/${tasks[0]!.taskId.id}`);
    return steady();
  }

  test('the API server is killed for 10 s: tasks run on, and what ends meanwhile is told afterwards', async () => {
    const before = await steady();
    const [victim, other] = [idOn(before, 'node-1'), idOn(before, 'node-2')];
    await lab.stopApiServer();
    killNow(pidsOfTask(victim));
    await delay(10_000);
    expect(pidsOfTask(other).length).toBeGreaterThan(0);
    await lab.startApiServer();
    await untilReplaced(victim, 'TASK_FAILED');
    expect((await steady()).map(({ taskId }) => taskId.id)).toContain(other);
  });

  test.each(['cut', 'frozen'] as const)('the watch is %s: nothing that happens meanwhile is missed', async (how) => {
    const before = await steady();
    const [victim, other] = [idOn(before, 'node-2'), idOn(before, 'node-1')];
    if (how === 'cut') line.cut();
    else line.freeze();
    killNow(pidsOfTask(victim));
    await delay(3_000);
    expect(await statesOf(victim)).not.toContain('TASK_FAILED');
    line.restore();
    await untilReplaced(victim, 'TASK_FAILED');
    expect((await steady()).map(({ taskId }) => taskId.id)).toContain(other);
  });

  test('a kubelet is killed and comes back: its tasks run on, and what ended meanwhile is told', async () => {
    const before = await steady();
    const [victim, other] = [idOn(before, 'node-2'), idOn(before, 'node-1')];
    const node = lab.nodes[1]!;
    await node.killKubelet();
    killNow(pidsOfTask(victim));
    await delay(3_000);
    await node.startKubelet();
    await untilReplaced(victim, 'TASK_FAILED');
    expect((await steady()).map(({ taskId }) => taskId.id)).toContain(other);
    expect(await statesOf(victim)).not.toContain('TASK_LOST');
  });

  test.each([
    { name: 'its pod stays', isForced: false },
    { name: 'its pod is deleted by force', isForced: true },
  ])('a node is lost and comes back, $name: the old task is killed, one instance is left', async ({ isForced }) => {
    const before = await spread();
    const [old, other] = [idOn(before, 'node-2'), idOn(before, 'node-1')];
    await place('GREEDY');
    await lab.nodes[1]!.killKubelet();
    await waitFor('the node to be lost', async () => !(await lab.isReady('node-2')), slow);
    if (isForced) await lab.deleteByForce((await podOf(old))!);
    // Nothing is concluded before its time, whatever becomes of the object.
    expect(await statesOf(old)).not.toContain('TASK_LOST');
    await untilReplaced(old, 'TASK_UNREACHABLE');
    expect(await stateOf('node-2')).toBe('DEAD');
    const replaced = await api.running('web', 2, 60_000);
    expect(replaced.map(nodeOf)).toEqual(['node-1', 'node-1']);
    // It runs on beside the two, and none of us can reach it.
    expect(pidsOfTask(old).length).toBeGreaterThan(0);

    await lab.nodes[1]!.startKubelet();
    await waitFor('the old one to end', () => pidsOfTask(old).length === 0, slow);
    const after = await steady('GREEDY');
    expect(after.map(({ taskId }) => taskId.id).toSorted()).toEqual(replaced.map(({ taskId }) => taskId.id).toSorted());
    expect(after.map(({ taskId }) => taskId.id)).toContain(other);
    expect(await stateOf('node-2')).toBe('ACTIVE');
  });

  test('a node is removed while no scheduler runs: its tasks are lost at once, and end when it comes back as another', async () => {
    const before = await spread();
    const old = idOn(before, 'node-2');
    await place('GREEDY');
    await stopMuster();
    await lab.nodes[1]!.killKubelet();
    await lab.api.call('/api/v1/nodes/node-2', { method: 'DELETE' });
    await startMuster();
    await untilReplaced(old, 'TASK_LOST');
    expect((await api.running('web', 2, 60_000)).map(nodeOf)).toEqual(['node-1', 'node-1']);
    expect(pidsOfTask(old).length).toBeGreaterThan(0);
    await lab.nodes[1]!.startKubelet();
    await waitFor('the old one to end', () => pidsOfTask(old).length === 0, slow);
    await waitFor('the node to be a slave again', async () => (await stateOf('node-2')) === 'ACTIVE', slow);
    await lab.givePorts(lab.nodes[1]!);
    await steady('GREEDY');
  });

  describe('what operators decide is shown in Kubernetes', () => {
    const node = (name: string): Promise<Node> => lab.api.call<Node>(`/api/v1/nodes/${name}`);
    const untilCordoned = (name: string, isCordoned: boolean) =>
      waitFor(
        `node ${name} ${isCordoned ? 'to be cordoned' : 'to be open'}`,
        async () => ((await node(name)).spec?.unschedulable ?? false) === isCordoned,
        slow,
      );
    const ask = (slaveId: string, what: string) => api.post(`slaves/slave/${slaveId}/${what}`, { message: 'a test' });

    test('freeze cordons, activate uncordons, and a cordon of another stays', async () => {
      await spread();
      await ask('node-1', 'freeze');
      await untilCordoned('node-1', true);
      expect((await node('node-1')).metadata?.annotations?.['muster/cordoned']).toBe('muster');
      await ask('node-1', 'activate');
      await untilCordoned('node-1', false);
      expect((await node('node-1')).metadata?.annotations).not.toHaveProperty('muster/cordoned');

      await lab.cordon('node-1', true);
      await waitFor('it to be seen', () => driver.machines()[0]?.closedBecause === 'cordoned', slow);
      await ask('node-1', 'freeze');
      await ask('node-1', 'activate');
      await delay(5_000);
      expect((await node('node-1')).spec?.unschedulable).toBe(true);
      await lab.cordon('node-1', false);
      expect((await steady()).map(nodeOf).toSorted()).toEqual(['node-1', 'node-2']);
    });

    test('decommission cordons and drains by the rules of Muster, also where the scheduler was away in between', async () => {
      await spread();
      await place('GREEDY');
      await ask('node-2', 'decommission');
      await untilCordoned('node-2', true);
      await waitFor('the drain', async () => (await stateOf('node-2')) === 'DECOMMISSIONED', slow);
      expect((await steady('GREEDY')).map(nodeOf)).toEqual(['node-1', 'node-1']);
      await stopMuster();
      await lab.cordon('node-2', false);
      await startMuster();
      await untilCordoned('node-2', true);
      await ask('node-2', 'activate');
      await untilCordoned('node-2', false);
    });
  });
});
