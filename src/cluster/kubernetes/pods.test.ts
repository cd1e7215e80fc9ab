import { expect, test } from 'vitest';
import { EventRecorder } from '../../../test/support/event-recorder.js';
import { isSilent } from '../../core/machines/silence.js';
import { KubernetesSettings } from '../../platform/settings/kubernetes-settings.js';
import type { AgentMachines, StatusUpdate } from '../cluster-driver.js';
import { podNameOf } from './names.js';
import { Nodes } from './nodes.js';
import type { Node, Pod } from './objects.js';
import { Pods } from './pods.js';

const created = '2026-01-01T00:00:00Z';
const start = Date.parse(created);
const ignored = { heard: () => undefined, failed: () => undefined };

/** Two nodes and no pods, at a time that the test moves. */
function cluster() {
  const clock = { now: start };
  const settings = KubernetesSettings.parse({ nodeSelector: { tasks: 'yes' } });
  const nodes = new Nodes({ ...settings, defaultRackId: 'DEFAULT' }, () => 0);
  const pods = new Pods('muster', nodes, () => clock.now);
  const nodeNews = nodes.follower(ignored, () => undefined);
  nodeNews.replaced([node('n1'), node('n2')]);
  nodes.foreignFollower(ignored, () => undefined).replaced([]);
  return { clock, nodes, pods, nodeNews, news: pods.follower(ignored, () => undefined), told: new EventRecorder() };
}
const node = (name: string, { ready = 'True', tasks = 'yes', uid = `uid of ${name}` } = {}): Node => ({
  metadata: { name, uid, labels: { tasks } },
  status: { allocatable: { cpu: '4' }, conditions: [{ type: 'Ready', status: ready, lastTransitionTime: created }] },
});
type Life = 'WAITS' | 'RUNS' | 'ENDED';
function pod(taskId: string, life: Life = 'WAITS', metadata: Pod['metadata'] = {}, nodeName = 'n1'): Pod {
  const startedAt = created;
  const states = { WAITS: {}, RUNS: { running: { startedAt } }, ENDED: { terminated: { exitCode: 0, startedAt } } };
  const phases = { WAITS: 'Pending', RUNS: 'Running', ENDED: 'Succeeded' };
  return {
    metadata: {
      name: podNameOf('muster', taskId),
      uid: `uid of ${taskId}`,
      creationTimestamp: created,
      ...metadata,
      annotations: { 'muster/task-id': taskId, 'muster/incarnation': 'i', ...metadata.annotations },
    },
    spec: { nodeName },
    status: { phase: phases[life], containerStatuses: [{ name: 'task', started: true, state: states[life] }] },
  };
}

test('each state is told once, and one that passed unseen with those after it', async () => {
  const { pods, news, told } = cluster();
  for (const life of ['WAITS', 'RUNS', 'RUNS', 'ENDED', 'ENDED'] as const) {
    news.changed(pod('a', life));
    await pods.report(told);
  }
  news.changed(pod('b', 'ENDED', {}, 'n2'));
  await pods.report(told);
  expect(told.updates.map(({ taskId, state, slaveId }) => `${taskId} ${state} ${slaveId}`)).toEqual([
    'a TASK_STARTING n1',
    'a TASK_RUNNING n1',
    'a TASK_FINISHED n1',
    'b TASK_STARTING n2',
    'b TASK_RUNNING n2',
    'b TASK_FINISHED n2',
  ]);
  expect(told.updates[0]).toMatchObject({
    number: 0,
    agentId: 'n1',
    incarnation: 'i',
    directory: '/mnt/cluster/sandbox',
  });
});

test('what could not be stored is told again, and only then its end is known', async () => {
  const { pods, news, told } = cluster();
  const name = podNameOf('muster', 'a');
  told.refuseNext(1);
  news.changed(pod('a', 'ENDED'));
  await expect(pods.report(told)).rejects.toThrow('the database is away');
  expect(pods.isOver(name)).toBe(false);
  expect(pods.hasChanges).toBe(true);
  await pods.report(told);
  expect(told.statesOf('a')).toEqual(['TASK_STARTING', 'TASK_RUNNING', 'TASK_FINISHED']);
  expect(pods.isOver(name)).toBe(true);
});

test.each([
  { name: 'ends', change: (news: ReturnType<typeof cluster>['news']) => news.changed(pod('a', 'ENDED')) },
  {
    name: 'ends and is removed',
    change: (news: ReturnType<typeof cluster>['news']) => news.removed(pod('a', 'ENDED')),
  },
])('a pod that $name while its start is being told is told of as ended by the next report', async ({ change }) => {
  const { pods, news, told } = cluster();
  const name = podNameOf('muster', 'a');
  news.changed(pod('a', 'RUNS'));
  const report = pods.report(told);
  change(news);
  await report;
  expect(told.statesOf('a')).toEqual(['TASK_STARTING', 'TASK_RUNNING']);
  expect(pods.isOver(name)).toBe(false);
  await pods.report(told);
  expect(told.statesOf('a')).toEqual(['TASK_STARTING', 'TASK_RUNNING', 'TASK_FINISHED']);
  expect(pods.hasChanges).toBe(false);
});

test('why a pod does not run yet is told as the message of its state, once, and again when that changes', async () => {
  const { clock, pods, news, nodeNews, told } = cluster();
  const waiting = (reason: string, message: string): Pod => {
    const status = { phase: 'Pending', startTime: created };
    return {
      ...pod('a'),
      status: { ...status, containerStatuses: [{ name: 'task', state: { waiting: { reason, message } } }] },
    };
  };
  const messages: (string | undefined)[] = [];
  const events = Object.assign(told, {
    statusUpdates: async (updates: readonly StatusUpdate[]) => {
      for (const { taskId, state, number, message } of updates) {
        expect([taskId, state, number]).toEqual(['a', 'TASK_STARTING', 0]);
        messages.push(message);
      }
    },
  });
  const reported = async () => {
    await pods.report(events);
    return messages.splice(0);
  };
  news.changed(pod('a'));
  expect(await reported()).toEqual([undefined]);
  pods.lookAgain();
  expect(pods.hasChanges).toBe(false);
  clock.now += 10_000;
  pods.lookAgain();
  expect(await reported()).toEqual([expect.stringContaining('has not begun to start it')]);
  for (const reason of ['ErrImagePull', 'ImagePullBackOff', 'ErrImagePull', 'ImagePullBackOff']) {
    news.changed(waiting(reason, reason === 'ErrImagePull' ? 'not found' : 'Back-off pulling image "x"'));
    clock.now += 60_000;
    pods.lookAgain();
    messages.push(...(await reported()));
  }
  expect(messages.splice(0)).toEqual([expect.stringMatching(/cannot pull image .*: ErrImagePull: not found$/)]);
  nodeNews.changed(node('n1', { ready: 'False' }));
  pods.lookAgain();
  expect(await reported()).toEqual([expect.stringMatching(/'n1' is not ready/)]);
  // A silent one may run it by now.
  nodeNews.changed(node('n1', { ready: 'Unknown' }));
  news.changed(waiting('ErrImagePull', 'another'));
  expect(await reported()).toEqual([]);
});

test('a pod that says it is of another task is none of ours', async () => {
  const { pods, news, told } = cluster();
  news.replaced([pod('a', 'RUNS', { name: podNameOf('muster', 'b') }), pod('c', 'RUNS', { name: 'c' })]);
  await pods.report(told);
  expect(told.updates).toEqual([]);
});

test.each([
  { name: 'is lost where its node is heard', ready: 'True', last: 'TASK_LOST' },
  { name: 'may run on where its node is silent', ready: 'Unknown', last: 'TASK_RUNNING' },
])('a pod that is removed by force before its end $name', async ({ ready, last }) => {
  for (const isMissed of [false, true]) {
    const { pods, news, nodeNews, told } = cluster();
    news.replaced([pod('a', 'RUNS')]);
    await pods.report(told);
    nodeNews.changed(node('n1', { ready }));
    if (isMissed) news.replaced([]);
    else news.removed(pod('a', 'RUNS'));
    await pods.report(told);
    expect(told.statesOf('a').at(-1)).toBe(last);
    expect(pods.find(podNameOf('muster', 'a'))).toBeUndefined();
  }
});

test('a pod that runs after its end was stored is one to end, once', async () => {
  const { pods, news, told } = cluster();
  const revived = () =>
    pods
      .live()
      .filter(pods.isRevived)
      .map(({ metadata }) => metadata?.annotations?.['muster/task-id']);
  for (const life of ['RUNS', 'ENDED'] as const) {
    news.changed(pod('a', life));
    await pods.report(told);
    expect(revived()).toEqual([]);
  }
  news.changed(pod('a', 'RUNS'));
  await pods.report(told);
  expect(told.statesOf('a')).toEqual(['TASK_STARTING', 'TASK_RUNNING', 'TASK_FINISHED']);
  expect(revived()).toEqual(['a']);
  news.changed(pod('a', 'RUNS', { deletionTimestamp: created }));
  expect(revived()).toEqual([]);
});

test('the end that a removed pod shows is told', async () => {
  const { pods, news, told } = cluster();
  news.changed(pod('a', 'RUNS'));
  news.removed(pod('a', 'ENDED'));
  await pods.report(told);
  expect(told.statesOf('a')).toEqual(['TASK_STARTING', 'TASK_RUNNING', 'TASK_FINISHED']);
});

test('ended pods are kept for a while, the newest longest, and never those whose end is not stored', async () => {
  const { clock, pods, news, told } = cluster();
  const due = (atMost: number) =>
    pods
      .toRemove({ keepMillis: 3_600_000, atMost })
      .ended.map(({ metadata }) => metadata?.annotations?.['muster/task-id']);
  for (const taskId of ['a', 'b', 'c']) {
    news.changed(pod(taskId, 'ENDED'));
    await pods.report(told);
    clock.now += 60_000;
  }
  news.changed(pod('d', 'ENDED'));
  expect(due(3)).toEqual([]);
  expect(due(2)).toEqual(['a']);
  expect(due(1)).toEqual(['a', 'b']);
  clock.now = start + 3_600_000;
  expect(due(3)).toEqual(['a']);
  clock.now += 3_600_000;
  expect(due(3)).toEqual(['a', 'b', 'c']);
});

test('tombstones are no tasks, and go when nothing can come after them', async () => {
  const { clock, pods, news, told } = cluster();
  news.changed(pod('a', 'WAITS', { labels: { 'muster/tombstone': 'true' } }));
  await pods.report(told);
  expect(told.updates).toEqual([]);
  const due = () => pods.toRemove({ keepMillis: 1, atMost: 1 }).tombstones;
  expect(due()).toEqual([]);
  clock.now += 15 * 60_000;
  expect(due()).toEqual([podNameOf('muster', 'a')]);
});

test('machines are told when something about them changes, and not while they are silent', async () => {
  const { nodes, nodeNews, told } = cluster();
  const up: string[] = [];
  const events = Object.assign(Object.create(told) as EventRecorder, {
    machines: async (agents: readonly AgentMachines[]) => {
      for (const { slaveId, closedBecause } of agents.flatMap(({ machines }) => machines))
        up.push(`${slaveId} ${closedBecause ?? 'open'}`);
    },
  });
  await nodes.report(events);
  await nodes.report(events);
  nodeNews.changed(node('n1'));
  nodeNews.changed({ ...node('n2'), spec: { unschedulable: true } });
  await nodes.report(events);
  nodeNews.changed(node('n1', { ready: 'Unknown' }));
  nodeNews.changed(node('n3', { ready: 'Unknown' }));
  nodeNews.changed(node('n4', { tasks: 'no' }));
  nodeNews.changed(node('n2', { tasks: 'no' }));
  await nodes.report(events);
  expect(up).toEqual(['n1 open', 'n2 open', 'n2 cordoned', expect.stringMatching(/^n2 not one that/)]);
  expect(nodes.machines().map(({ slaveId }) => slaveId)).toEqual(['n1', 'n2', 'n3']);
  // One that falls silent is so from then on; one that was so before counts as silent at once, whatever the clock of Kubernetes says.
  const silence = Object.fromEntries(nodes.machines().map((one) => [one.slaveId, isSilent(one.silentForMillis)]));
  expect(silence).toEqual({ n1: false, n2: false, n3: true });
  nodeNews.removed(node('n1'));
  nodeNews.removed(node('n4'));
  await nodes.report(events);
  expect(told.machinesDown).toEqual(['n1']);
});

test('machines that could not be stored are told again', async () => {
  const { nodes, told } = cluster();
  let isAway = true;
  const events = Object.assign(Object.create(told) as EventRecorder, {
    machines: async (agents: readonly AgentMachines[]) => {
      if (isAway) throw new Error('the database is away');
      await told.machines(agents);
    },
  });
  await expect(nodes.report(events)).rejects.toThrow('away');
  isAway = false;
  await nodes.report(events);
  expect([...told.slaves.keys()]).toEqual(['n1', 'n2']);
});

test('cordons are set where none is, and taken back where they are ours', async () => {
  const { nodes, nodeNews, told } = cluster();
  const cordoned = (name: string, by?: string): Node => {
    const { metadata, status } = node(name);
    return {
      metadata: { ...metadata, annotations: by ? { 'muster/cordoned': by } : {} },
      spec: { unschedulable: true },
      status,
    };
  };
  const held = (...names: string[]) => nodes.toHold(new Set(names)).map(({ name, isHeld }) => `${name} ${isHeld}`);
  nodeNews.changed(cordoned('ours', 'muster'));
  nodeNews.changed(cordoned('of another installation', 'b'));
  nodeNews.changed(cordoned('of an operator'));
  nodeNews.changed(node('not ours', { tasks: 'no' }));
  await nodes.report(told);
  expect(held('n1', 'not ours', 'unknown')).toEqual(['n1 true', 'ours false']);
  expect(held('ours', 'of another installation', 'of an operator')).toEqual([]);
  const uncordoned = { ...cordoned('ours', 'muster'), spec: {} };
  nodeNews.changed(uncordoned);
  expect(held('ours')).toEqual(['ours true']);
  expect(held()).toEqual(['ours false']);
});

test('a node that a former leader chose, and that has lost its label since, is there as long as tasks run on it', async () => {
  const settings = KubernetesSettings.parse({ nodeSelector: { tasks: 'yes' } });
  const nodes = new Nodes(
    { ...settings, defaultRackId: 'DEFAULT' },
    () => 0,
    (name) => name === 'n1',
  );
  nodes.follower(ignored, () => undefined).replaced([node('n1', { tasks: 'no' }), node('n2', { tasks: 'no' })]);
  expect(nodes.isReported).toBe(false);
  nodes.foreignFollower(ignored, () => undefined).replaced([]);
  await nodes.report(new EventRecorder());
  expect(nodes.isReported).toBe(true);
  expect(nodes.machines()).toMatchObject([{ slaveId: 'n1', closedBecause: expect.stringContaining('nodeSelector') }]);
});

test('what outlived its node is to be ended where another one has its name, once that one is heard', () => {
  const { pods, news, nodeNews } = cluster();
  const strays = () =>
    pods
      .live()
      .filter(pods.isStray)
      .map(({ metadata }) => metadata?.annotations?.['muster/task-id']);
  const of = (uid: string) => ({ annotations: { 'muster/incarnation': uid } });
  news.replaced([pod('a', 'RUNS', of('uid of n1')), pod('b', 'RUNS', of('former'))]);
  news.changed(pod('c', 'ENDED', of('former')));
  news.changed(pod('d', 'RUNS', { ...of('former'), deletionTimestamp: created }));
  expect(strays()).toEqual(['b']);
  nodeNews.changed(node('n1', { ready: 'Unknown' }));
  expect(strays()).toEqual([]);
});

test('a node whose agent is not ready takes no tasks, and one whose agent has too little room says so', async () => {
  const settings = KubernetesSettings.parse({});
  const agent = { isReady: false, isDiskFull: false };
  const nodes = new Nodes(
    { ...settings, defaultRackId: 'DEFAULT' },
    () => 0,
    undefined,
    () => agent,
  );
  nodes.follower(ignored, () => undefined).replaced([node('n1')]);
  nodes.foreignFollower(ignored, () => undefined).replaced([]);
  const told = new EventRecorder();
  const machine = async () => {
    nodes.touch('n1');
    await nodes.report(told);
    return told.slaves.get('n1')!;
  };
  expect(await machine()).toMatchObject({ closedBecause: 'its agent is not ready' });
  agent.isReady = true;
  expect(await machine()).not.toHaveProperty('closedBecause');
  agent.isDiskFull = true;
  expect(await machine()).toMatchObject({ isDiskFull: true });
});

test('an end is told when what its agent has to say before it is', async () => {
  const { nodes, told } = cluster();
  const order: string[] = [];
  const pods = new Pods(
    'muster',
    nodes,
    () => start,
    async (name, taskIds) => {
      order.push(`${name} ${taskIds.join()} before ${told.updates.length} updates`);
    },
  );
  const news = pods.follower(ignored, () => undefined);
  news.changed(pod('a', 'RUNS'));
  await pods.report(told);
  news.changed(pod('a', 'ENDED'));
  news.changed(pod('b', 'RUNS'));
  await pods.report(told);
  expect(order).toEqual(['n1 a before 2 updates']);
  expect(told.statesOf('a').at(-1)).toBe('TASK_FINISHED');
});
