import { chmodSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { KubernetesApi } from '../../src/cluster/kubernetes/kubernetes-api.js';
import { KubernetesDriver } from '../../src/cluster/kubernetes/kubernetes-driver.js';
import { annotations, requestLabel, tombstoneLabel } from '../../src/cluster/kubernetes/names.js';
import type { Metadata, Pod } from '../../src/cluster/kubernetes/objects.js';
import { hasEnded } from '../../src/cluster/kubernetes/statuses-of-pod.js';
import type { Deploy } from '../../src/core/model/deploy.js';
import type { Task } from '../../src/core/model/task.js';
import type { RequestExplanationDto } from '../../src/scheduler/explain/dto/explanation.dto.js';
import { Api } from '../e2e/support/api.js';
import { killNow, pidsOfTask } from '../e2e/support/processes.js';
import { createDatabase } from '../support/test-database.js';
import { startTestApp, testSettings, type TestApp } from '../support/test-app.js';
import { waitFor } from '../support/wait-for.js';
import { ApiProxy } from './lab/api-proxy.js';
import { pauseImage, testImage } from './lab/image.js';
import { Lab, labBinaries } from './lab/lab.js';
import { SkewedNode } from './lab/skewed-node.js';
import { startWebhook } from './lab/webhook.js';

/* Faults of the cluster and of those who share it. After each: exactly the wanted instances, each started once. */

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined };
const slow = { timeoutMillis: 120_000, everyMillis: 250 };
const namespace = '/api/v1/namespaces/muster';

describe.skipIf(labBinaries === undefined)('what goes wrong around a Kubernetes of two nodes', () => {
  let lab: Lab;
  let proxy: ApiProxy;
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let driver: KubernetesDriver;
  let muster: TestApp<KubernetesDriver>;
  let api: Api;

  beforeAll(async () => {
    lab = await Lab.start({ nodes: 2, controllers: ['resourcequota'], hasAccounts: true });
    mkdirSync(starts());
    chmodSync(starts(), 0o777);
    proxy = await ApiProxy.start(lab);
    database = await createDatabase();
    proxy.writeConfig(kubeconfig());
    await startMuster();
    await api.saveRequest({ id: 'web', requestType: 'SERVICE', instances: 2, slavePlacement: 'GREEDY' });
    await api.deploy(deployOf('web', 'v1'));
    await api.deployEnded('web', 'v1', 120_000);
  });
  afterAll(async () => {
    await stopMuster();
    await proxy?.close();
    await database?.remove();
    await lab?.stop();
  });
  beforeEach(async () => {
    await scale(2);
    await exactly(2);
  });
  afterEach(() => {
    proxy.answer = () => false;
  });

  const kubeconfig = () => join(lab.folder, 'by-the-proxy');
  /** A directory of the nodes, where each task writes its id into `log` when it starts. */
  const starts = () => join(lab.folder, 'starts');
  const startsSoFar = (): string[] => {
    const log = join(starts(), 'log');
    return existsSync(log) ? readFileSync(log, 'utf8').split('\n').filter(Boolean) : [];
  };

  async function startMuster(): Promise<void> {
    const base = testSettings();
    const changes = { kubeconfig: kubeconfig(), callTimeoutMillis: 3_000, allowedHostPaths: [starts()] };
    const settings = {
      ...base,
      clusterDriver: 'kubernetes' as const,
      cluster: { ...base.cluster, kubernetes: lab.settings(changes) },
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

  const resources = { cpus: 0.1, memoryMb: 32 };
  const deployOf = (requestId: string, id: string, last = 'exec sleep 100000'): Deploy => ({
    requestId,
    id,
    shell: true,
    command: `echo "$TASK_ID" >>/starts/log; ${last}`,
    containerInfo: {
      type: 'DOCKER',
      docker: { image: testImage, privileged: false, network: 'BRIDGE' },
      volumes: [{ containerPath: '/starts', hostPath: starts(), mode: 'RW' }],
    },
    resources,
    considerHealthyAfterRunningForSeconds: 0,
    killGracePeriodMillis: 1_000,
  });
  async function scale(instances: number): Promise<void> {
    const { request } = await api.request('web');
    await api.saveRequest({ ...request, instances });
  }
  const explain = (requestId = 'web') => api.get<RequestExplanationDto>(`requests/request/${requestId}/explain`);
  const nodeOf = (task: Task): string => task.clusterTask?.slaveId?.value ?? '';
  const idsOf = (tasks: readonly Task[]): string[] => tasks.map(({ taskId }) => taskId.id).toSorted();
  const podsOf = async (requestId: string): Promise<Pod[]> =>
    (await lab.pods()).filter(
      ({ metadata }) => metadata?.labels?.[requestLabel] === requestId && metadata.labels[tombstoneLabel] === undefined,
    );
  const podOf = async (taskId: string): Promise<Pod> =>
    (await lab.pods()).find(({ metadata }) => metadata?.annotations?.[annotations.taskId] === taskId)!;
  const endOf = async (taskId: string, state: string) => {
    const found = () =>
      api.history(taskId).then(({ taskUpdates }) => taskUpdates.find((each) => each.taskState === state));
    return waitFor(`${state} of ${taskId}`, found, slow);
  };

  /** So many run and no more: tasks, pods and processes are the same ones, and each has told its start. */
  async function exactly(count: number, requestId = 'web'): Promise<Task[]> {
    const tasks = await waitFor(
      `exactly ${count} of ${requestId}`,
      async () => {
        const tasks = await api.running(requestId, count, 90_000);
        const ids = idsOf(tasks);
        const live = (await podsOf(requestId)).filter((pod) => !hasEnded(pod));
        const inPods = live.map(({ metadata }) => metadata?.annotations?.[annotations.taskId]).toSorted();
        const ended = (await api.endedTasks(requestId)).map(({ taskId }) => taskId.id);
        const areLeft = ended.some((id) => pidsOfTask(id).length > 0);
        const told = startsSoFar();
        const run = ids.every((id) => told.includes(id) && pidsOfTask(id).length > 0);
        return inPods.join() === ids.join() && run && !areLeft && tasks;
      },
      slow,
    );
    expect(startsSoFar()).toHaveLength(new Set(startsSoFar()).size);
    return tasks;
  }
  /** The reason for which a task waits that its cluster does not take. */
  const notAdmitted = (requestId = 'web') =>
    waitFor(
      'the reason',
      async () => (await explain(requestId)).pendingTasks.find(({ reason }) => reason === 'NOT_ADMITTED')?.message,
      slow,
    );
  /** The reason for which a launch is not answered. */
  const notAnswered = () => waitFor('the reason', async () => (await explain()).unansweredLaunches?.[0]?.message, slow);

  test('the API server is killed three times within seconds while a service scales and deploys', async () => {
    await lab.stopApiServer();
    await scale(4);
    expect(await notAnswered()).toMatch(/^Slave 'node-\d' has not answered its launch, .*: No answer from/);
    await lab.startApiServer();
    await api.deploy(deployOf('web', 'v2'));
    for (let time = 2; time <= 3; time++) {
      await lab.stopApiServer();
      await lab.startApiServer();
    }
    expect((await api.deployEnded('web', 'v2', 120_000)).deployResult).toMatchObject({ deployState: 'SUCCEEDED' });
    expect(new Set((await exactly(4)).map(({ taskId }) => taskId.deployId))).toEqual(new Set(['v2']));
  });

  test.each(['stands still', 'is killed'] as const)(
    'etcd %s and comes back, the API server stays: what ends or is wanted meanwhile is not missed',
    async (how) => {
      const [victim = '', other] = idsOf(await exactly(2));
      const { etcd } = lab.daemons;
      if (how === 'stands still') process.kill(etcd.pid!, 'SIGSTOP');
      else await etcd.stop('SIGKILL');
      killNow(pidsOfTask(victim));
      await scale(3);
      expect(await notAnswered()).toMatch(/has not answered its launch, .*: .+/);
      if (how === 'stands still') process.kill(etcd.pid!, 'SIGCONT');
      else etcd.start();
      await endOf(victim, 'TASK_FAILED');
      expect(idsOf(await exactly(3))).toContain(other);
    },
  );

  describe('a webhook of a third party', () => {
    test.each([
      { name: 'refuses the pods of tasks', answer: { denied: 'no pods on Fridays' }, told: /no pods on Fridays/ },
      { name: 'refuses them as a bad request', answer: { denied: 'no owner', code: 400 }, told: /no owner/ },
      { name: 'never answers', answer: 'NEVER' as const, told: /failed calling webhook/ },
    ])('$name: that is told, and when it goes the tasks run', async ({ answer, told }) => {
      const before = idsOf(await exactly(2));
      const webhook = await startWebhook(lab, 'Validating', () => answer);
      await scale(3);
      expect(await notAdmitted()).toMatch(told);
      await webhook.stop();
      expect(idsOf(await exactly(3))).toEqual(expect.arrayContaining(before));
      expect(await api.endedTasks('web')).not.toContainEqual(expect.objectContaining({ lastTaskState: 'TASK_LOST' }));
    });

    test('adds a container, labels and annotations, and changes the image: tasks run, end and are killed as ever', async () => {
      const added = {
        name: 'a-sidecar',
        image: testImage,
        command: ['/bin/sh', '-c', 'trap "exit 0" TERM; while :; do sleep 1; done'],
      };
      const webhook = await startWebhook(lab, 'Mutating', () => ({
        patch: [
          { op: 'add', path: '/spec/containers/0', value: added },
          { op: 'replace', path: '/spec/containers/1/image', value: pauseImage },
          { op: 'add', path: '/metadata/labels/third-party', value: 'yes' },
          { op: 'add', path: '/metadata/annotations/third-party', value: 'yes' },
        ],
      }));
      const before = idsOf(await exactly(2));
      await scale(3);
      const tasks = await exactly(3);
      const changed = idsOf(tasks).find((id) => !before.includes(id))!;
      const pod = await podOf(changed);
      expect(pod.metadata).toMatchObject({ labels: { 'third-party': 'yes' }, annotations: { 'third-party': 'yes' } });
      expect(pod.spec?.containers).toMatchObject([{ name: 'a-sidecar' }, { name: 'task', image: pauseImage }]);
      killNow(pidsOfTask(changed));
      // Its sidecar would run on for ever.
      expect(await endOf(changed, 'TASK_FAILED')).toMatchObject({ statusMessage: 'Exit code 137 (signal 9)' });
      await exactly(3);
      await scale(2);
      await exactly(2);

      await api.saveRequest({ id: 'job', requestType: 'ON_DEMAND' });
      await api.deploy({ ...deployOf('job', 'v1', 'exit 0'), runImmediately: { runId: 'run' } });
      const ended = async () => (await api.endedTasks('job')).find(({ runId }) => runId === 'run');
      expect(await waitFor('the end of the job', ended, slow)).toMatchObject({ lastTaskState: 'TASK_FINISHED' });
      await webhook.stop();
      await removed('job');
    });

    test('takes off the label by which pods are found: none stays, that is told, and when it goes the tasks run', async () => {
      const before = idsOf(await exactly(2));
      const path = '/metadata/labels/muster~1installation';
      const webhook = await startWebhook(lab, 'Mutating', () => ({ patch: [{ op: 'remove', path }] }));
      await scale(3);
      expect(await notAdmitted()).toMatch(/made its pod without its label muster\/installation, perhaps by a webhook/);
      const all = (await lab.pods()).filter(({ metadata }) => metadata?.labels?.['muster/installation'] === undefined);
      expect(all).toEqual([]);
      await webhook.stop();
      expect(idsOf(await exactly(3))).toEqual(expect.arrayContaining(before));
      // Those that were made and removed have not begun.
      const known = [...(await exactly(3)), ...(await api.endedTasks('web'))].map(({ taskId }) => taskId.id);
      const ofWeb = startsSoFar().filter((id) => id.startsWith('web-'));
      expect(ofWeb.filter((id) => !known.includes(id))).toEqual([]);
    });
  });

  /** It and its tasks are gone. */
  async function removed(requestId: string): Promise<void> {
    await api.call('DELETE', `requests/request/${requestId}`);
    const isGone = () =>
      api.request(requestId).then(
        () => false,
        () => true,
      );
    await waitFor(`${requestId} to be gone`, isGone, slow);
  }

  test('the quota of the namespace is exceeded: that is told, tried ever more rarely, and the rest runs when it is raised', async () => {
    const quotas = `${namespace}/resourcequotas`;
    const present = (await lab.pods()).filter((pod) => !hasEnded(pod)).length;
    const body = { metadata: { name: 'few' }, spec: { hard: { pods: String(present) } } };
    await lab.api.call(quotas, { method: 'POST', body });
    const isKnown = async () =>
      (await lab.api.call<{ status?: { hard?: object } }>(`${quotas}/few`)).status?.hard !== undefined;
    await waitFor('the quota to be counted', isKnown, slow);
    const from = proxy.calls.length;
    await scale(4);
    expect(await notAdmitted()).toMatch(/exceeded quota: few/);
    const tries = () =>
      proxy.calls.slice(from).filter(({ method, path }) => method === 'POST' && path === `${namespace}/pods`);
    // Each of the two at once, and after 5 and 10 seconds.
    await waitFor('some tries', () => tries().length >= 6, slow);
    const [first, , , , fifth] = tries();
    expect(fifth!.at - first!.at).toBeGreaterThanOrEqual(14_500);
    await lab.api.call(`${quotas}/few`, { method: 'PATCH', body: { spec: { hard: { pods: '100' } } } });
    await exactly(4);
    await lab.api.call(`${quotas}/few`, { method: 'DELETE' });
  });

  /** As `kubectl drain` does. */
  async function evict({ metadata }: Pod): Promise<void> {
    const path = `${namespace}/pods/${metadata?.name}/eviction`;
    const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: metadata?.name } };
    await lab.api.call(path, { method: 'POST', body });
  }

  test('a pod is evicted by the Eviction API: it is replaced, lost, and its reason is told', async () => {
    const [victim = '', other] = idsOf(await exactly(2));
    await evict(await podOf(victim));
    expect((await endOf(victim, 'TASK_LOST')).statusMessage).toMatch(/EvictionByEvictionAPI/);
    expect(idsOf(await exactly(2))).toContain(other);
  });

  test('a node is short of memory, and its kubelet evicts all: they are lost, the reason is told, and they run on the other node', async () => {
    const before = await exactly(2);
    const name = nodeOf(before[0]!);
    const [short, other] = name === 'node-1' ? lab.nodes : lab.nodes.toReversed();
    const [victims, others] = [name, other!.name].map((each) => idsOf(before.filter((task) => nodeOf(task) === each)));
    const restart = async (changes?: object) => {
      await short!.killKubelet();
      await short!.startKubelet(changes);
    };
    const isClosed = () => driver.machines().find(({ slaveId }) => slaveId === name)?.closedBecause;
    try {
      // A hard threshold would also be taken from what pods may request.
      const evictionSoft = { 'memory.available': '99.9%' };
      await restart({ evictionSoft, evictionSoftGracePeriod: { 'memory.available': '1s' } });
      for (const id of victims!)
        expect(await endOf(id, 'TASK_LOST')).toMatchObject({
          statusMessage: expect.stringContaining('low on resource: memory'),
          statusReason: 'REASON_CONTAINER_PREEMPTED',
        });
      await waitFor(
        'all on the other node',
        async () => (await exactly(2)).every((task) => nodeOf(task) !== name),
        slow,
      );
      expect(idsOf(await exactly(2))).toEqual(expect.arrayContaining(others!));
      expect(isClosed()).toContain('memory-pressure');
    } finally {
      await restart();
    }
    await waitFor('the node to take tasks', () => isClosed() === undefined, slow);
    await exactly(2);
  });

  test('a pod exceeds its limit of the disk, and its kubelet evicts it: it has failed, the reason is told, and one runs in its place', async () => {
    const once = '[ -e /starts/full ] || { touch /starts/full; dd if=/dev/zero of=/tmp/big bs=1048576 count=40; }';
    await api.saveRequest({ id: 'hungry', requestType: 'SERVICE' });
    await api.deploy({
      ...deployOf('hungry', 'v1', `${once}; exec sleep 100000`),
      resources: { ...resources, diskMb: 10 },
    });
    const ended = async () => (await api.endedTasks('hungry'))[0];
    const { taskId } = await waitFor('the end of the first', ended, slow);
    expect(await endOf(taskId.id, 'TASK_FAILED')).toMatchObject({
      statusMessage: expect.stringContaining('Disk limit exceeded'),
      statusReason: 'REASON_CONTAINER_LIMITATION_DISK',
    });
    await exactly(1, 'hungry');
    await removed('hungry');
  });

  test('a node is cordoned and drained by someone else: its instances run elsewhere, and it is used again when it is open', async () => {
    const requiredSlaveAttributes = { 'kubernetes.io/hostname': 'node-2' };
    await api.saveRequest({ id: 'pinned', requestType: 'SERVICE', requiredSlaveAttributes });
    await api.deploy(deployOf('pinned', 'v1'));
    const [pinned] = await exactly(1, 'pinned');
    await scale(6);
    const before = await exactly(6);
    const elsewhere = before.filter((task) => nodeOf(task) === 'node-1');
    await lab.cordon('node-2', true);
    const drained = (await lab.pods()).filter((pod) => pod.spec?.nodeName === 'node-2' && !hasEnded(pod));
    await Promise.all(drained.map(evict));
    expect((await endOf(pinned!.taskId.id, 'TASK_LOST')).statusMessage).toMatch(/EvictionByEvictionAPI/);
    // The ends of the others may be heard later.
    const moved = async () => {
      const tasks = await exactly(6);
      return tasks.every((task) => nodeOf(task) === 'node-1') && tasks;
    };
    expect(idsOf(await waitFor('all on node-1', moved, slow))).toEqual(expect.arrayContaining(idsOf(elsewhere)));
    const told = async () =>
      (await explain('pinned')).pendingTasks[0]?.rejections.find(({ reason }) => reason === 'SLAVE_CLOSED')?.because;
    expect(await waitFor('the reason', told, slow)).toBe('cordoned: node-2');
    expect((await lab.pods()).filter((pod) => pod.spec?.nodeName === 'node-2' && !hasEnded(pod))).toEqual([]);

    await lab.cordon('node-2', false);
    expect((await exactly(1, 'pinned')).map(nodeOf)).toEqual(['node-2']);
    await removed('pinned');
  });

  /*
   * Kubelets take the time from the kernel, past libraries that would change it, and time namespaces have no clock of the day: a node is
   * played whose lease and statuses have wrong times.
   */
  test.each([
    { name: 'ahead', skewMillis: 600_000 },
    { name: 'behind', skewMillis: -600_000 },
  ])(
    'the clock of a node is ten minutes $name: it stays, and times of its tasks are possible',
    async ({ name, skewMillis }) => {
      const node = new SkewedNode(lab, `skewed-${name}`, skewMillis);
      onTestFinished(() => node.stop());
      await node.start();
      const states = async () =>
        (await api.get<{ state: string }[]>(`slaves/slave/${node.name}`)).map(({ state }) => state);
      await waitFor('the slave', async () => (await states()).length > 0, slow);
      const onIt = { requiredSlaveAttributes: { 'kubernetes.io/hostname': node.name } };
      await api.saveRequest({ id: 'skewed', requestType: 'SERVICE', ...onIt });
      await api.deploy(deployOf('skewed', name));
      const [task] = await api.running('skewed', 1, 60_000);
      await api.saveRequest({ id: 'job', requestType: 'ON_DEMAND', ...onIt });
      await api.deploy({ ...deployOf('job', name), runImmediately: { runId: 'run' } });
      const ended = async () => (await api.endedTasks('job'))[0];
      const run = await waitFor('the end of the job', ended, slow);
      expect(run.lastTaskState).toBe('TASK_FINISHED');
      // Twice as long as Kubernetes waits for a node.
      const from = node.beats;
      await waitFor('the node to be looked at for long', () => node.beats >= from + 16, slow);
      const killedAt = Date.now();
      await api.call('DELETE', `tasks/task/${task!.taskId.id}`);
      // Kubelets tell whole seconds.
      expect((await endOf(task!.taskId.id, 'TASK_KILLED')).timestamp).toBeGreaterThanOrEqual(killedAt - 3_000);

      for (const { taskId } of [task!, run]) {
        const times = (await api.history(taskId.id)).taskUpdates.map(({ timestamp }) => timestamp);
        for (const time of times) {
          expect(time).toBeGreaterThanOrEqual(taskId.startedAt);
          expect(time).toBeLessThanOrEqual(Date.now());
        }
      }
      expect(await states()).toEqual(['ACTIVE']);
      await Promise.all(['skewed', 'job'].map(removed));
      await node.stop();
      await exactly(2);
    },
  );

  test.each(['status', 'event'] as const)(
    'watches are answered with 410 as %s again and again: nothing is missed, and lists are read ever more rarely',
    async (how) => {
      const [victim = '', other] = idsOf(await exactly(2));
      proxy.answer = ({ isWatch }, response) => {
        if (!isWatch) return false;
        const gone = { kind: 'Status', status: 'Failure', code: 410, reason: 'Expired', message: 'too old' };
        response.writeHead(how === 'status' ? 410 : 200, { 'content-type': 'application/json' });
        response.end(`${JSON.stringify(how === 'status' ? gone : { type: 'ERROR', object: gone })}\n`);
        return true;
      };
      const [from, begunAt] = [proxy.calls.length, performance.now()];
      proxy.breakWatches();
      killNow(pidsOfTask(victim));
      await scale(3);
      await endOf(victim, 'TASK_FAILED');
      expect(idsOf(await exactly(3))).toContain(other);
      const seconds = (performance.now() - begunAt) / 1_000;
      for (const path of ['/api/v1/nodes', '/api/v1/pods', `${namespace}/pods`]) {
        const lists = proxy.calls
          .slice(from)
          .filter((call) => call.path === path && call.method === 'GET' && !call.isWatch);
        // Pauses of 0.1, 0.2, 0.4, ... and then 10 seconds, each by half shorter at most.
        expect(lists.length).toBeLessThanOrEqual(9 + seconds / 5);
      }
      proxy.answer = () => false;
      await exactly(3);
    },
  );

  test('its token is over, and another stands in its file later: that is told, nothing is given up, and it goes on', async () => {
    const tokens = `${namespace}/serviceaccounts/muster/token`;
    const secrets = `${namespace}/secrets`;
    const { metadata } = await lab.api.call<{ metadata: Metadata }>(secrets, {
      method: 'POST',
      body: { metadata: { name: 'holder' } },
    });
    // A token lasts for ten minutes at least: this one is over when the object is gone that it is bound to.
    const boundObjectRef = { apiVersion: 'v1', kind: 'Secret', name: 'holder', uid: metadata.uid };
    const token = async (spec: object): Promise<string> =>
      (await lab.api.call<{ status: { token: string } }>(tokens, { method: 'POST', body: { spec } })).status.token;
    await stopMuster();
    proxy.writeConfig(kubeconfig(), await token({ boundObjectRef }));
    await startMuster();
    const before = idsOf(await exactly(2));

    await lab.api.call(`${secrets}/holder`, { method: 'DELETE' });
    const own = await KubernetesApi.open(lab.settings({ kubeconfig: kubeconfig() }));
    const isOver = () =>
      own.call(`${namespace}/pods`).then(
        () => false,
        (cause: Error) => cause.message === 'Unauthorized',
      );
    await waitFor('the token to be over', isOver, slow);
    await own.close();
    await scale(3);
    expect(await notAnswered()).toMatch(/Unauthorized/);
    const degraded = async () =>
      ((await (await fetch(`${muster.url}/readyz`)).json()) as { degraded?: string[] }).degraded?.find((line) =>
        line.includes('does not take our credentials'),
      );
    await waitFor('word of it', degraded, slow);
    for (const id of before) {
      expect(pidsOfTask(id).length).toBeGreaterThan(0);
      const states = (await api.history(id)).taskUpdates.map(({ taskState }) => taskState);
      expect(states.toSorted()).toEqual(['TASK_LAUNCHED', 'TASK_RUNNING', 'TASK_STARTING']);
    }

    proxy.writeConfig(kubeconfig(), await token({}));
    expect(idsOf(await exactly(3))).toEqual(expect.arrayContaining(before));
    await waitFor('nothing more to be told', async () => !(await degraded()), slow);
  });
});
