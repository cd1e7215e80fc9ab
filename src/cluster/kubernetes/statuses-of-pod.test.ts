import { describe, expect, test } from 'vitest';
import type { Pod } from './objects.js';
import { isKeptOpen, statusesOfPod } from './statuses-of-pod.js';

const created = '2026-01-01T00:00:00Z';
const at = (seconds: number): string => new Date(Date.parse(created) + seconds * 1_000).toISOString();

type Changes = Pod['status'] & { metadata?: Pod['metadata']; spec?: Pod['spec'] };
const pod = ({ metadata, spec, ...status }: Changes = {}): Pod => ({
  metadata: { creationTimestamp: created, ...metadata },
  spec,
  status: { phase: 'Pending', ...status },
});
const ended = (terminated: object, changes: Changes = {}): Pod =>
  pod({
    phase: 'Failed',
    containerStatuses: [
      { name: 'task', state: { terminated: { startedAt: at(1), finishedAt: at(5), ...terminated } } },
    ],
    ...changes,
  });
const disrupted = (reason: string) => [
  { type: 'DisruptionTarget', status: 'True', reason, message: 'why', lastTransitionTime: at(7) },
];

test.each([
  { name: 'created', given: pod(), states: ['TASK_STARTING'] },
  {
    name: 'waiting for its image',
    given: pod({ containerStatuses: [{ name: 'task', state: { waiting: { reason: 'ErrImagePull' } } }] }),
    states: ['TASK_STARTING'],
  },
  {
    name: 'running',
    given: pod({
      phase: 'Running',
      containerStatuses: [{ name: 'task', started: true, state: { running: { startedAt: at(1) } } }],
    }),
    states: ['TASK_STARTING', 'TASK_RUNNING'],
  },
  {
    name: 'running, and its probe has not passed',
    given: pod({
      phase: 'Running',
      containerStatuses: [{ name: 'task', started: false, state: { running: { startedAt: at(1) } } }],
    }),
    states: ['TASK_STARTING'],
  },
  {
    name: 'over before anything looked',
    given: ended({ exitCode: 0 }),
    states: ['TASK_STARTING', 'TASK_RUNNING', 'TASK_FINISHED'],
  },
  {
    name: 'over, and whether its probe had passed is not known',
    given: ended({ exitCode: 1 }, { spec: { containers: [{ name: 'task', startupProbe: {} }] } }),
    states: ['TASK_STARTING', 'TASK_FAILED'],
  },
  {
    name: 'deleted by force, and perhaps running on',
    given: pod({
      phase: 'Running',
      metadata: { deletionTimestamp: at(3), deletionGracePeriodSeconds: 0 },
      containerStatuses: [{ name: 'task', state: { running: { startedAt: at(1) } } }],
    }),
    states: ['TASK_STARTING', 'TASK_RUNNING'],
  },
  { name: 'without a status', given: {}, states: ['TASK_STARTING'] },
])('$name', ({ given, states }) => expect(statusesOfPod(given).map(({ state }) => state)).toEqual(states));

test.each([
  { name: 'exit code 0', given: ended({ exitCode: 0 }), end: { state: 'TASK_FINISHED', message: 'Exit code 0' } },
  {
    name: 'another',
    given: ended({ exitCode: 3 }),
    end: { state: 'TASK_FAILED', message: 'Exit code 3', exitCode: 3 },
  },
  {
    name: 'a signal',
    given: ended({ exitCode: 139 }),
    end: { state: 'TASK_FAILED', message: 'Exit code 139 (signal 11)', exitCode: 139 },
  },
  {
    name: 'a code that counts as a success',
    given: ended({ exitCode: 3 }, { metadata: { annotations: { 'muster/successful-exit-codes': '3,4' } } }),
    end: { state: 'TASK_FINISHED' },
  },
  {
    name: '0 where others count',
    given: ended({ exitCode: 0 }, { metadata: { annotations: { 'muster/successful-exit-codes': '3,4' } } }),
    end: { state: 'TASK_FAILED' },
  },
  {
    name: 'too much memory',
    given: ended({ exitCode: 137, reason: 'OOMKilled' }),
    end: { state: 'TASK_FAILED', reason: 'REASON_CONTAINER_LIMITATION_MEMORY' },
  },
  {
    name: 'too much disk',
    given: pod({
      phase: 'Failed',
      reason: 'Evicted',
      message: 'Pod ephemeral local storage usage exceeds the total limit of containers 10Mi.',
    }),
    end: { state: 'TASK_FAILED', reason: 'REASON_CONTAINER_LIMITATION_DISK' },
  },
  {
    name: 'more of its disk than it may take, as its agent says',
    given: ended(
      { exitCode: 137 },
      { metadata: { deletionTimestamp: at(6), annotations: { 'muster/over-disk': '50', 'muster/killed': 'true' } } },
    ),
    end: {
      state: 'TASK_FAILED',
      reason: 'REASON_CONTAINER_LIMITATION_DISK',
      message: 'Disk limit exceeded: 50 MB',
    },
  },
  {
    name: 'a node that has too little of something',
    given: pod({
      phase: 'Failed',
      reason: 'Evicted',
      message: 'The node was low on resource: ephemeral-storage. Threshold quantity exceeded',
    }),
    end: { state: 'TASK_LOST', reason: 'REASON_CONTAINER_PREEMPTED' },
  },
  {
    name: 'no such program',
    given: ended({ exitCode: 128, reason: 'StartError', message: 'no such file' }),
    end: { state: 'TASK_FAILED', reason: 'REASON_CONTAINER_LAUNCH_FAILED', message: 'Could not start: no such file' },
  },
  {
    name: 'refused by its node',
    given: pod({ phase: 'Failed', reason: 'OutOfcpu', message: 'no room' }),
    end: {
      state: 'TASK_LOST',
      reason: 'REASON_INVALID_OFFERS',
      message: 'Its node does not take it: OutOfcpu: no room',
    },
  },
  {
    name: 'a port that another pod has',
    given: pod({ phase: 'Failed', reason: 'NodePorts' }),
    end: { state: 'TASK_LOST', reason: 'REASON_INVALID_OFFERS' },
  },
  {
    name: 'drained',
    given: ended(
      { exitCode: 143 },
      { metadata: { deletionTimestamp: at(9) }, conditions: disrupted('EvictionByEvictionAPI') },
    ),
    end: { state: 'TASK_LOST', reason: 'REASON_AGENT_REMOVED' },
  },
  {
    name: 'its node is gone',
    given: pod({ phase: 'Failed', conditions: disrupted('DeletionByPodGC') }),
    end: { state: 'TASK_LOST', reason: 'REASON_AGENT_REMOVED', timestamp: Date.parse(at(7)) },
  },
  {
    name: 'preempted',
    given: ended({ exitCode: 143 }, { conditions: disrupted('PreemptionByScheduler') }),
    end: { state: 'TASK_LOST', reason: 'REASON_CONTAINER_PREEMPTED' },
  },
  {
    name: 'killed',
    given: ended({ exitCode: 0 }, { metadata: { deletionTimestamp: at(13), deletionGracePeriodSeconds: 10 } }),
    end: { state: 'TASK_KILLED', message: 'Killed, exit code 0', timestamp: Date.parse(at(5)) },
  },
  {
    name: 'killed by Muster, when its node is done with it late',
    given: ended(
      { exitCode: 0 },
      {
        metadata: {
          deletionTimestamp: at(59),
          deletionGracePeriodSeconds: 0,
          annotations: { 'muster/killed': 'true' },
        },
      },
    ),
    end: { state: 'TASK_KILLED', message: 'Killed, exit code 0' },
  },
  {
    name: 'killed, when its node is done with it',
    given: ended(
      { exitCode: 0 },
      {
        metadata: { deletionTimestamp: at(7), deletionGracePeriodSeconds: 0 },
        spec: { terminationGracePeriodSeconds: 2 },
      },
    ),
    end: { state: 'TASK_KILLED' },
  },
  {
    name: 'given up, and ended by its node as a kubelet ends what it never made',
    given: ended(
      { exitCode: 137, reason: 'ContainerStatusUnknown', startedAt: null, finishedAt: null },
      { metadata: { deletionTimestamp: at(60), annotations: { 'muster/gave-up': 'Could not start' } } },
    ),
    end: { state: 'TASK_FAILED', message: 'Could not start', reason: 'REASON_CONTAINER_LAUNCH_FAILED' },
  },
  {
    name: 'given up in the moment in which it began',
    given: ended(
      { exitCode: 143 },
      { metadata: { deletionTimestamp: at(5), annotations: { 'muster/gave-up': 'Did not start' } } },
    ),
    end: { state: 'TASK_KILLED' },
  },
  {
    name: 'killed, and forgotten by its node',
    given: pod({ phase: 'Failed', metadata: { deletionTimestamp: at(13) } }),
    end: { state: 'TASK_KILLED', message: 'Killed before it ran' },
  },
  {
    name: 'ended by itself before it was deleted',
    given: ended({ exitCode: 2 }, { metadata: { deletionTimestamp: at(60), deletionGracePeriodSeconds: 30 } }),
    end: { state: 'TASK_FAILED', message: 'Exit code 2', exitCode: 2 },
  },
  {
    name: 'given up',
    given: pod({
      phase: 'Failed',
      metadata: { deletionTimestamp: at(60), annotations: { 'muster/gave-up': 'Did not start' } },
    }),
    end: { state: 'TASK_FAILED', reason: 'REASON_CONTAINER_LAUNCH_FAILED', message: 'Did not start' },
  },
  {
    name: 'forgotten by its node',
    given: ended({ exitCode: 137, reason: 'ContainerStatusUnknown' }),
    end: { state: 'TASK_LOST', reason: 'REASON_AGENT_RESTARTED' },
  },
  { name: 'nothing is known', given: pod({ phase: 'Failed' }), end: { state: 'TASK_LOST' } },
])('the end: $name', ({ given, end }) => expect(statusesOfPod(given).at(-1)).toMatchObject(end));

describe('containers that others have added', () => {
  const added = { name: 'added', state: { running: { startedAt: at(1) } } };
  const spec = { containers: [{ name: 'added' }, { name: 'task' }] };
  const main = (state: object) => ({ name: 'task', started: true, state });
  const over = main({ terminated: { exitCode: 0, startedAt: at(2), finishedAt: at(5) } });
  const withBoth = (status: ReturnType<typeof main>, changes: Changes = {}): Pod =>
    pod({ phase: 'Running', spec, containerStatuses: [added, status], ...changes });
  const states = (given: Pod) => statusesOfPod(given).map(({ state }) => state);

  test('the main program tells the life, wherever it stands among them', () => {
    expect(states(withBoth(main({ waiting: {} })))).toEqual(['TASK_STARTING']);
    const running = statusesOfPod(withBoth(main({ running: { startedAt: at(2) } })));
    expect(running.at(-1)).toMatchObject({ state: 'TASK_RUNNING', timestamp: Date.parse(at(2)) });
    expect(states(withBoth(over))).toEqual(['TASK_STARTING', 'TASK_RUNNING', 'TASK_KILLING']);
  });

  test('they keep a pod open whose main program is over, and only that', () => {
    expect(isKeptOpen(withBoth(over))).toBe(true);
    expect(isKeptOpen(withBoth(main({ running: {} })))).toBe(false);
    expect(isKeptOpen(pod({ phase: 'Running', containerStatuses: [over] }))).toBe(false);
    expect(isKeptOpen(withBoth(over, { metadata: { deletionTimestamp: at(9) } }))).toBe(false);
    expect(isKeptOpen(withBoth(over, { phase: 'Failed' }))).toBe(false);
  });

  test('a task whose rest was ended has the end of its main program, whatever the clocks say', () => {
    const metadata = { deletionTimestamp: at(5), annotations: { 'muster/main-ended': 'true' } };
    const end = statusesOfPod(withBoth(over, { phase: 'Failed', metadata })).at(-1);
    expect(end).toMatchObject({ state: 'TASK_FINISHED', message: 'Exit code 0' });
  });

  test('an init container of others that fails is named', () => {
    const failed = { name: 'added-init', state: { terminated: { exitCode: 3 } } };
    const waiting = [{ name: 'task', state: { waiting: { reason: 'PodInitializing' } } }];
    const given = pod({ phase: 'Failed', initContainerStatuses: [failed], containerStatuses: waiting });
    const message = "Container 'added-init' of its pod ended with exit code 3";
    expect(statusesOfPod(given).at(-1)).toMatchObject({ state: 'TASK_LOST', message });
  });
});

test('times are never before that of the pod, and messages have an end', () => {
  const statuses = statusesOfPod(
    ended({
      exitCode: 1,
      reason: 'StartError',
      message: 'x'.repeat(5_000),
      startedAt: at(-9),
      finishedAt: '1970-01-01T00:00:00Z',
    }),
  );
  for (const { timestamp } of statuses) expect(timestamp).toBe(Date.parse(created));
  expect(statuses.at(-1)?.message).toHaveLength(1_000);
});

test('times of a node whose clock is behind are later by as much as it saw the pod too soon', () => {
  const states = { startedAt: at(-598), finishedAt: at(-540) };
  const given = ended({ exitCode: 143, ...states }, { startTime: at(-600) });
  expect(statusesOfPod(given).map(({ timestamp }) => timestamp)).toEqual(
    [0, 2, 60].map((each) => Date.parse(at(each))),
  );
  const deleted = { metadata: { deletionTimestamp: at(89), deletionGracePeriodSeconds: 30 } };
  const killed = ended({ exitCode: 143, ...states }, { startTime: at(-600), ...deleted });
  expect(statusesOfPod(killed).at(-1)).toMatchObject({ state: 'TASK_KILLED' });
  // Whole seconds alone are no sign of it.
  const usual = ended({ exitCode: 0, startedAt: at(3), finishedAt: at(9) }, { startTime: at(-1) });
  expect(statusesOfPod(usual).at(-1)?.timestamp).toBe(Date.parse(at(9)));
});

test('a task with too many threads says how many', () => {
  const given = ended({ exitCode: 143 }, { metadata: { annotations: { 'muster/over-threads': '12, limit 10' } } });
  expect(statusesOfPod(given).at(-1)).toMatchObject({
    state: 'TASK_FAILED',
    message: 'Killed for too many threads: 12, limit 10',
    reason: 'REASON_CONTAINER_LIMITATION',
  });
});
