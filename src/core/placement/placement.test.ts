import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Deploy } from '../model/deploy.js';
import type { PendingType } from '../model/enums.js';
import type { Request } from '../model/request.js';
import type { PendingTask } from '../model/task.js';
import type { SlaveUsage } from '../model/usage.js';
import { scoring, slaveUsage, utilization as requestUtilization } from '../../../test/support/fixtures/usage.js';
import {
  explainPending,
  type Explanation,
  type MachineView,
  type PlacementOutcome,
  type PlacementRules,
  type PlacementSnapshot,
  placeTasks,
} from './index.js';
import { machine, now, pendingTask, placed, rules, scene } from '../../../test/support/placement-scene.js';

const place = (snapshot: PlacementSnapshot, own: Partial<PlacementRules> = {}) => [
  ...placeTasks(snapshot, rules(own), now, 7),
];
/** Slave per instance number, or the only reason (or reasons) against. */
const answers = (outcomes: PlacementOutcome[]): Record<number, string> =>
  Object.fromEntries(outcomes.map((outcome) => [outcome.pending.pendingTaskId.instanceNo, text(outcome)] as const));
const text = (outcome: PlacementOutcome): string => {
  if (outcome.kind === 'place') return outcome.machine.slaveId;
  return outcome.kind === 'wait' && outcome.why === 'NO_MATCHING_SLAVE'
    ? [...outcome.rejections.keys()].join()
    : outcome.why;
};

describe('which machine', () => {
  interface Case {
    name: string;
    machines: MachineView[];
    request?: Partial<Request>;
    deploy?: Partial<Deploy>;
    averageRuntimeMillis?: number;
    rules?: Partial<PlacementRules>;
    on: string;
  }
  test.each<Case>([
    {
      name: 'the emptier one',
      machines: [machine('s1', { used: { cpus: 1, memoryMb: 0, diskMb: 0 } }), machine('s2')],
      on: 's2',
    },
    { name: 'the smaller id among equals', machines: [machine('s2'), machine('s1')], on: 's1' },
    { name: 'none without machines', machines: [], on: '' },
    { name: 'not an unknown one', machines: [machine('s1', { state: undefined })], on: 'SLAVE_UNKNOWN' },
    {
      name: 'not a frozen one, even if it is too small as well',
      machines: [machine('s1', { state: 'FROZEN', cpus: 0 })],
      on: 'SLAVE_FROZEN',
    },
    {
      name: 'not one that is decommissioned',
      machines: [machine('s1', { state: 'STARTING_DECOMMISSION' })],
      on: 'SLAVE_DECOMMISSIONING',
    },
    { name: 'not a dead one', machines: [machine('s1', { state: 'DEAD' })], on: 'SLAVE_INACTIVE' },
    {
      name: 'not one on a host marked inactive',
      machines: [machine('s1', { hostIsInactive: true })],
      on: 'HOST_INACTIVE',
    },
    { name: 'not one in a frozen rack', machines: [machine('s1', { rackState: 'FROZEN' })], on: 'RACK_FROZEN' },
    {
      name: 'not one without cpus',
      machines: [machine('s1', { used: { cpus: 3.5, memoryMb: 0, diskMb: 0 } })],
      on: 'NOT_ENOUGH_CPUS',
    },
    { name: 'not one without memory', machines: [machine('s1', { memoryMb: 63.9 })], on: 'NOT_ENOUGH_MEMORY' },
    {
      name: 'one that it fills to the last core',
      machines: [machine('s1', { cpus: 0.7, used: { cpus: 0.6, memoryMb: 0, diskMb: 0 } })],
      deploy: { resources: { cpus: 0.1 } },
      on: 's1',
    },
    {
      name: 'not one without disk',
      machines: [machine('s1')],
      deploy: { resources: { diskMb: 1 } },
      on: 'NOT_ENOUGH_DISK',
    },
    {
      name: 'not one that is back and was not asked yet what it runs',
      machines: [machine('s1', { isReturning: true, closedBecause: 'cordoned' })],
      on: 'SLAVE_RETURNING',
    },
    {
      name: 'not one that its cluster has closed',
      machines: [machine('s1', { closedBecause: 'cordoned', isDiskFull: true })],
      on: 'SLAVE_CLOSED',
    },
    {
      name: 'not one whose disk is almost full, whatever the task asks for',
      machines: [machine('s1', { isDiskFull: true, diskMb: 1_000 })],
      on: 'SLAVE_DISK_FULL',
    },
    {
      name: 'not one without ports',
      machines: [machine('s1')],
      deploy: { resources: { numPorts: 11 } },
      on: 'NOT_ENOUGH_PORTS',
    },
    {
      name: 'one with as many of an extended resource as it asks for',
      machines: [machine('s1', { extended: { 'a.b/gpu': 1 } }), machine('s2', { extended: { 'a.b/gpu': 2 } })],
      deploy: { resources: { extended: { 'a.b/gpu': 2 } } },
      on: 's2',
    },
    {
      name: 'none where others use too many of them',
      machines: [
        machine('s1', {
          extended: { 'a.b/gpu': 2 },
          used: { cpus: 0, memoryMb: 0, diskMb: 0, extended: { 'a.b/gpu': 1 } },
        }),
      ],
      deploy: { resources: { extended: { 'a.b/gpu': 2 } } },
      on: 'NOT_ENOUGH_EXTENDED_RESOURCES',
    },
    {
      name: 'none without one of two extended resources',
      machines: [machine('s1', { extended: { 'a.b/gpu': 2 } })],
      deploy: { resources: { extended: { 'a.b/gpu': 1, 'a.b/fpga': 1 } } },
      on: 'NOT_ENOUGH_EXTENDED_RESOURCES',
    },
    {
      name: 'none that runs as many tasks as it may',
      machines: [machine('s1', { maxTasks: 2, used: { cpus: 0, memoryMb: 0, diskMb: 0, tasks: 2 } })],
      on: 'TOO_MANY_TASKS',
    },
    {
      name: 'none on a machine for no tasks',
      machines: [machine('s1', { maxTasks: 0 })],
      on: 'TOO_MANY_TASKS',
    },
    {
      name: 'one that may run one more task',
      machines: [machine('s1', { maxTasks: 2, used: { cpus: 0, memoryMb: 0, diskMb: 0, tasks: 1 } })],
      on: 's1',
    },
    {
      name: 'one without extended resources, for a task that asks for none',
      machines: [machine('s1')],
      on: 's1',
    },
    {
      name: 'only one in a rack of its affinity',
      machines: [machine('s1'), machine('s2', { rackId: 'r2' })],
      request: { rackAffinity: ['r2'] },
      on: 's2',
    },
    {
      name: 'only one with the required attributes',
      machines: [machine('s1'), machine('s2', { attributes: { gpu: 'a' } })],
      request: { requiredSlaveAttributes: { gpu: 'a' } },
      on: 's2',
    },
    {
      name: 'none when an attribute has another value',
      machines: [machine('s1', { attributes: { gpu: 'b' } })],
      request: { requiredSlaveAttributes: { gpu: 'a' } },
      on: 'SLAVE_ATTRIBUTES_DO_NOT_MATCH',
    },
    {
      name: 'none reserved for others',
      machines: [machine('s1', { attributes: { gpu: 'a' } })],
      rules: { reservedAttributes: { gpu: ['a'] } },
      on: 'SLAVE_ATTRIBUTES_DO_NOT_MATCH',
    },
    {
      name: 'a reserved one that it may use',
      machines: [machine('s1', { attributes: { gpu: 'a' } })],
      request: { allowedSlaveAttributes: { gpu: 'a' } },
      rules: { reservedAttributes: { gpu: ['a'] } },
      on: 's1',
    },
    {
      name: 'one kept for short runs, when its runs are short',
      machines: [machine('s1', { attributes: { spot: 'y' } })],
      request: { requestType: 'ON_DEMAND' as const },
      averageRuntimeMillis: 1_000,
      rules: { preemptibleOnlyAttributes: { spot: 'y' } },
      on: 's1',
    },
    {
      name: 'none kept for short runs, when nothing is known of them',
      machines: [machine('s1', { attributes: { spot: 'y' } })],
      request: { requestType: 'ON_DEMAND' as const },
      rules: { preemptibleOnlyAttributes: { spot: 'y' } },
      on: 'SLAVE_ATTRIBUTES_DO_NOT_MATCH',
    },
    {
      name: 'the preferred one, if not much fuller',
      machines: [machine('s1'), machine('s2', { attributes: { ssd: 'y' }, used: { cpus: 1, memoryMb: 0, diskMb: 0 } })],
      request: { slavePlacement: 'OPTIMISTIC' as const, allowedSlaveAttributes: { ssd: 'y' } },
      on: 's2',
    },
    {
      name: 'the emptier one where any will do',
      machines: [machine('s1'), machine('s2', { attributes: { ssd: 'y' }, used: { cpus: 1, memoryMb: 0, diskMb: 0 } })],
      request: { allowedSlaveAttributes: { ssd: 'y' } },
      on: 's1',
    },
  ])('takes $name', ({ machines, on, request, deploy, averageRuntimeMillis, rules: own }) =>
    expect(answers(place(scene({ machines, request, deploy, averageRuntimeMillis }), own))).toEqual({ 1: on }),
  );

  test('a run asks for its own attributes and resources', () => {
    const machines = [machine('s1'), machine('s2', { attributes: { gpu: 'a' }, cpus: 8 })];
    const byAttribute = pendingTask(1, { requiredSlaveAttributeOverrides: { gpu: 'a' } });
    const bySize = pendingTask(2, { resources: { cpus: 5 }, requiredSlaveAttributeOverrides: {} });
    const request = { requiredSlaveAttributes: {} };
    expect(answers(place(scene({ machines, request, due: [byAttribute, bySize] })))).toEqual({ 1: 's2', 2: 's2' });
  });

  test('resources of an executor count on top', () => {
    const deploy = { customExecutorCmd: 'x', customExecutorResources: { cpus: 1 }, resources: { cpus: 3.5 } };
    expect(answers(place(scene({ machines: [machine('s1')], deploy })))).toEqual({ 1: 'NOT_ENOUGH_CPUS' });
  });
});

test('resources of sidecars count on top', () => {
  const sidecar = { name: 'a', command: 'true', resources: { cpus: 0.5 } };
  const on = (sidecars: (typeof sidecar)[]) =>
    answers(place(scene({ machines: [machine('s1')], deploy: { resources: { cpus: 3.5 }, tasks: { sidecars } } })));
  expect(on([sidecar])).toEqual({ 1: 's1' });
  expect(on([sidecar, { ...sidecar, name: 'c' }])).toEqual({ 1: 'NOT_ENOUGH_CPUS' });
});

describe('by use', () => {
  const sample = (load: number): SlaveUsage =>
    slaveUsage({ systemCpusTotal: 4, systemLoad1Min: load, systemLoad5Min: load });
  const on = (machines: MachineView[], own: Parameters<typeof scoring>[0] = {}) =>
    answers(place(scene({ machines }), { scoring: scoring(own) }));

  test('the less busy machine is taken, though both are as empty', () =>
    expect(on([machine('s1', { usage: sample(3) }), machine('s2', { usage: sample(0) })])).toEqual({ 1: 's2' }));
  test('what was promised since the sample counts', () => {
    const full = machine('s1', { usage: sample(0), used: { cpus: 3, memoryMb: 3_000, diskMb: 0 } });
    expect(on([full, machine('s2', { usage: sample(1) })])).toEqual({ 1: 's2' });
  });
  test('an overloaded machine is left out where that is set', () => {
    const machines = [machine('s1', { usage: sample(3.5) })];
    expect(on(machines, { omitOverloaded: true })).toEqual({ 1: 'SLAVE_OVERLOADED' });
    expect(on(machines)).toEqual({ 1: 's1' });
  });
  test('a machine without a sample is left out where that is set', () => {
    expect(on([machine('s1')], { omitForMissingUsage: true })).toEqual({ 1: 'SLAVE_USAGE_UNKNOWN' });
    expect(on([machine('s1')])).toEqual({ 1: 's1' });
  });
  test('tasks placed in the round make a machine busier for the next', () => {
    const machines = [machine('s1', { usage: sample(0) }), machine('s2', { usage: sample(0.5) })];
    const due = [pendingTask(1), pendingTask(2)];
    expect(answers(place(scene({ machines, due }), { scoring: scoring() }))).toEqual({ 1: 's1', 2: 's2' });
  });
  test('a task that mostly computes prefers a machine with much cpu per memory left', () => {
    const machines = [machine('s1', { cpus: 4, memoryMb: 16_000 }), machine('s2', { cpus: 4, memoryMb: 1_500 })];
    const utilization = requestUtilization({ numTasks: 1, cpuUsed: 2, maxCpuUsed: 2, memBytesUsed: 250_000_000 });
    const own = { machines, request: { slavePlacement: 'OPTIMISTIC' as const }, view: { utilization } };
    const preference = { highCpuCutOff: 1.5, highMemoryCutOff: 0.5, scaleFactor: 1.5 };
    expect(answers(place(scene(own), { preference }))).toEqual({ 1: 's2' });
    expect(answers(place(scene({ ...own, request: {} }), { preference }))).toEqual({ 1: 's1' });
  });
});

describe('spreading', () => {
  const two = [machine('s1'), machine('s2')];
  const tasks = [pendingTask(1), pendingTask(2), pendingTask(3)];
  test.each([
    {
      name: 'SEPARATE puts one on each',
      slavePlacement: 'SEPARATE' as const,
      view: {},
      on: { 1: 's1', 2: 's2', 3: 'SLAVE_SATURATED' },
    },
    {
      name: 'SPREAD_ALL_SLAVES too',
      slavePlacement: 'SPREAD_ALL_SLAVES' as const,
      view: {},
      on: { 1: 's1', 2: 's2', 3: 'SLAVE_SATURATED' },
    },
    {
      name: 'SEPARATE ignores tasks of other deploys',
      slavePlacement: 'SEPARATE' as const,
      view: { tasks: [placed('s1', 1, { deployId: 'd0' }), placed('s2', 2)] },
      on: { 1: 's1', 2: 'SLAVE_SATURATED', 3: 'SLAVE_SATURATED' },
    },
    {
      name: 'SEPARATE keeps away from cleaning tasks',
      slavePlacement: 'SEPARATE_BY_DEPLOY' as const,
      view: { tasks: [placed('s1', 1, { cleaning: true })] },
      on: { 1: 's2', 2: 'SLAVE_SATURATED', 3: 'SLAVE_SATURATED' },
    },
    {
      name: 'SEPARATE_BY_REQUEST counts other deploys',
      slavePlacement: 'SEPARATE_BY_REQUEST' as const,
      view: { tasks: [placed('s1', 1, { deployId: 'd0' })] },
      on: { 1: 's2', 2: 'SLAVE_SATURATED', 3: 'SLAVE_SATURATED' },
    },
    {
      name: 'GREEDY goes where there is room',
      slavePlacement: 'GREEDY' as const,
      view: {},
      on: { 1: 's1', 2: 's2', 3: 's1' },
    },
    {
      name: 'OPTIMISTIC stays near the average',
      slavePlacement: 'OPTIMISTIC' as const,
      view: { tasks: [placed('s1', 4), placed('s1', 5), placed('s2', 6)], pendingTasks: 3 },
      on: { 1: 's2', 2: 's1', 3: 's2' },
    },
  ])('$name', ({ slavePlacement, view, on }) =>
    expect(
      answers(place(scene({ machines: two, request: { slavePlacement, instances: 3 }, due: tasks, view }))),
    ).toEqual(on),
  );

  test('OPTIMISTIC refuses a slave that is far above the average', () => {
    const view = { tasks: [placed('s1', 4), placed('s1', 5), placed('s1', 6), placed('s2', 7)], pendingTasks: 1 };
    const machines = [machine('s1'), machine('s2', { used: { cpus: 4, memoryMb: 0, diskMb: 0 } })];
    const outcome = place(scene({ machines, request: { slavePlacement: 'OPTIMISTIC' }, view }));
    expect(answers(outcome)).toEqual({ 1: 'SLAVE_SATURATED,NOT_ENOUGH_CPUS' });
  });

  test('a bounce may stand beside the task it replaces, where that is allowed', () => {
    const view = { tasks: [placed('s1', 1, { cleaning: true })] };
    const bounce = { pendingType: 'BOUNCE' as const, actionId: 'a1' };
    const due = [pendingTask(1, bounce), pendingTask(2, bounce)];
    const request = { slavePlacement: 'SEPARATE' as const };
    const machines = [machine('s1')];
    const bySetting = (allowBounceToSameHost: boolean) =>
      answers(place(scene({ machines, request, view, due }), { allowBounceToSameHost }));
    expect(bySetting(true)).toEqual({ 1: 's1', 2: 'SLAVE_SATURATED' });
    expect(bySetting(false)).toEqual({ 1: 'SLAVE_SATURATED', 2: 'SLAVE_SATURATED' });
  });

  test('rack sensitive tasks fill racks evenly', () => {
    const machines = [machine('s1', { cpus: 40 }), machine('s2', { rackId: 'r2' })];
    const due = [1, 2, 3, 4].map((instanceNo) => pendingTask(instanceNo));
    const request = { rackSensitive: true, instances: 4 };
    expect(answers(place(scene({ machines, request, due })))).toEqual({ 1: 's1', 2: 's2', 3: 's1', 4: 's2' });
    expect(answers(place(scene({ machines: [machines[0]!], request, due })))).toEqual({
      1: 's1',
      2: 's1',
      3: 'RACK_SATURATED',
      4: 'RACK_SATURATED',
    });
  });

  test('what operators set for all requests comes before what each says itself', () => {
    const due = [pendingTask(1), pendingTask(2)];
    const greedy = scene({ machines: [machine('s1')], request: { slavePlacement: 'GREEDY', instances: 2 }, due });
    const override = { slavePlacement: 'SEPARATE_BY_REQUEST' as const, ignoresRackSensitivity: false };
    expect(answers(place(greedy))).toEqual({ 1: 's1', 2: 's1' });
    expect(answers(place(greedy, { override }))).toEqual({ 1: 's1', 2: 'SLAVE_SATURATED' });
    const racks = scene({
      machines: [machine('s1', { cpus: 40 })],
      request: { rackSensitive: true, instances: 2 },
      due,
    });
    expect(answers(place(racks, { rackCount: 2 }))).toEqual({ 1: 's1', 2: 'RACK_SATURATED' });
    const ignored = { rackCount: 2, override: { ignoresRackSensitivity: true } };
    expect(answers(place(racks, ignored))).toEqual({ 1: 's1', 2: 's1' });
  });

  test('a minimum share of machines with an attribute is kept free for it', () => {
    const machines = [machine('s1', { cpus: 40 }), machine('s2', { attributes: { ssd: 'y' }, cpus: 2 })];
    const request = { instances: 4, slaveAttributeMinimums: { ssd: { y: 50 } } };
    const due = [1, 2, 3, 4].map((instanceNo) => pendingTask(instanceNo));
    expect(Object.values(answers(place(scene({ machines, request, due })))).toSorted()).toEqual([
      's1',
      's1',
      's2',
      's2',
    ]);
  });

  test('no machine takes more tasks in a round than it may run', () => {
    const due = [pendingTask(1), pendingTask(2), pendingTask(3)];
    const machines = [machine('s1', { maxTasks: 3, used: { cpus: 0, memoryMb: 0, diskMb: 0, tasks: 1 } })];
    expect(answers(place(scene({ machines, due })))).toEqual({ 1: 's1', 2: 's1', 3: 'TOO_MANY_TASKS' });
  });

  test('no machine takes more than its share of a round', () => {
    const due = [pendingTask(1), pendingTask(2)];
    expect(answers(place(scene({ machines: [machine('s1')], due }), { maxTasksPerMachine: 1 }))).toEqual({
      1: 's1',
      2: 'TOO_MANY_TASKS_THIS_ROUND',
    });
  });
});

describe('what is placed at all', () => {
  const job = { requestType: 'SCHEDULED' as const, schedule: '0 * * * *', instances: undefined };
  test.each([
    { name: 'request gone', own: { due: [pendingTask(1, { requestId: 'other' })] }, why: 'REQUEST_GONE' },
    { name: 'request paused', own: { view: { state: 'PAUSED' as const } }, why: 'REQUEST_NOT_RUNNABLE' },
    { name: 'deploy gone', own: { due: [pendingTask(1, { deployId: 'd9' })] }, why: 'DEPLOY_GONE' },
    { name: 'deploy no longer in use', own: { view: { activeDeployId: 'd2' } }, why: 'DEPLOY_NOT_IN_USE' },
    {
      name: 'a RUN_ONCE run of an older deploy',
      own: { request: { requestType: 'RUN_ONCE' as const }, view: { activeDeployId: 'd2' } },
      why: 's1',
    },
    {
      name: 'a run too many',
      own: { request: { requestType: 'ON_DEMAND' as const, instances: 1 }, view: { tasks: [placed('s1', 1)] } },
      why: 'INSTANCE_LIMIT',
    },
    {
      name: 'a run of a schedule that may have no further one',
      own: { request: { ...job, overlapPolicy: 'REPLACE' as const }, view: { tasks: [placed('s1', 1)] } },
      why: 'INSTANCE_LIMIT',
    },
    {
      name: 'a run of a schedule beside one for a time of the past',
      own: {
        request: { ...job, missedRuns: { policy: 'ALL' as const } },
        view: { tasks: [placed('s1', 1, { pendingType: 'BACKFILL' })] },
      },
      why: 's1',
    },
    {
      name: 'a run for a time of the past beside one of the schedule and one that is to be tried again',
      own: {
        request: { ...job, overlapPolicy: 'BUFFER_ALL' as const },
        view: { tasks: [placed('s1', 1)], waitingRetries: 1 },
        due: [pendingTask(1, { pendingType: 'BACKFILL' })],
      },
      why: 's1',
    },
  ])('$name', ({ own, why }) =>
    expect(answers(place(scene({ machines: [machine('s1')], ...own })))).toEqual({ 1: why }),
  );

  test.each([
    { name: 'within it', hoursAgo: 24.5, why: 'EXCLUDED_TIME' },
    { name: 'before it', hoursAgo: 23.5, why: 's1' },
    { name: 'after it', hoursAgo: 25.5, why: 's1' },
  ])('an exclusion by a rule without a start counts from when it was saved: $name', ({ hoursAgo, why }) => {
    const hour = 3_600_000;
    const rule = { schedule: 'FREQ=HOURLY;INTERVAL=6', scheduleType: 'RFC5545' as const, durationMillis: hour };
    const request = { ...job, exclusions: [rule] };
    const view = { scheduleSince: now - hoursAgo * hour };
    const due = [pendingTask(1, { pendingType: 'TASK_DONE', trigger: 'SCHEDULE' })];
    expect(answers(place(scene({ machines: [machine('s1')], request, view, due })))).toEqual({ 1: why });
  });

  test.each<[string, Partial<PendingTask>, PendingType, string]>([
    ['a run of the schedule', { trigger: 'SCHEDULE' }, 'TASK_DONE', 'EXCLUDED_TIME'],
    ['one that failed, and is tried again', { trigger: 'RETRY', attempt: 2 }, 'RETRY', 'EXCLUDED_TIME'],
    ['one that was lost with its machine', { trigger: 'SCHEDULE' }, 'RETRY', 'EXCLUDED_TIME'],
    ['one that a caller asked for', { trigger: 'RUN_NOW' }, 'IMMEDIATE', 's1'],
    ['one of a backfill', { trigger: 'BACKFILL' }, 'BACKFILL', 's1'],
    ['one of a backfill that is tried again', { trigger: 'RETRY' }, 'BACKFILL', 's1'],
  ])('in an exclusion: %s', (_name, run, pendingType, where) => {
    const request = { ...job, exclusions: [{ from: now - 1, to: now + 1 }] };
    const due = [pendingTask(1, { pendingType, ...run })];
    expect(answers(place(scene({ machines: [machine('s1')], request, due })))).toEqual({ 1: where });
  });

  test('runs of one round count against each other', () => {
    const due = [pendingTask(1, { createdAt: 1 }), pendingTask(2, { createdAt: 2 })];
    const own = {
      machines: [machine('s1')],
      due,
      request: { requestType: 'ON_DEMAND' as const, instances: undefined },
    };
    expect(answers(place(scene(own), { maxActiveOnDemandTasks: 1 }))).toEqual({ 1: 's1', 2: 'INSTANCE_LIMIT' });
  });

  test('a task of the pending deploy carries the request that the deploy brings', () => {
    const updatedRequest = { id: 'svc', requestType: 'SERVICE' as const, instances: 9 };
    const view = { activeDeployId: undefined, pendingDeploy: { deployId: 'd1', updatedRequest } };
    expect(place(scene({ machines: [machine('s1')], view }))[0]).toMatchObject({
      kind: 'place',
      request: updatedRequest,
    });
  });

  test('the longer due one goes first, weighed by priority', () => {
    const due = [
      pendingTask(1, { nextRunAt: now - 1_000 }),
      pendingTask(2, { nextRunAt: now - 2_000 }),
      pendingTask(3, { nextRunAt: now - 1_500, requestId: 'worker' }),
    ];
    const snapshot = scene({ machines: [machine('s1')], due });
    const requests = new Map(snapshot.requests);
    const worker = { ...requests.get('svc')!, request: { id: 'worker', requestType: 'WORKER' as const } };
    const deploys = new Map(snapshot.deploys).set('worker-d1', { deploy: { requestId: 'worker', id: 'd1' } });
    const outcomes = place({ ...snapshot, requests: requests.set('worker', worker), deploys });
    // 2000 x 0.7 leads its request; 1500 x 0.5 comes after both tasks of the heavier request.
    expect(outcomes.map((outcome) => outcome.pending.pendingTaskId.instanceNo)).toEqual([2, 1, 3]);
  });

  test('equal instance numbers on one machine still get different ids', () => {
    const due = [pendingTask(1, { createdAt: 1 }), pendingTask(1, { createdAt: 2 })];
    const taken = `svc-d1-${now}-1-host_s1-r1`;
    const outcomes = place(scene({ machines: [machine('s1')], due, takenTaskIds: [taken] }));
    const ids = outcomes.map((outcome) => outcome.kind === 'place' && outcome.taskId.startedAt);
    expect(ids).toEqual([now + 1, now + 2]);
  });
});

describe('ports', () => {
  const ports = (snapshot: PlacementSnapshot): number[][] =>
    place(snapshot).flatMap((outcome) => (outcome.kind === 'place' ? [outcome.ports] : []));
  test('come in one block where there is one', () => {
    const used = [31_003];
    const [first] = ports(
      scene({ machines: [machine('s1', { usedPorts: used })], deploy: { resources: { numPorts: 5 } } }),
    );
    expect(first!.map((port) => port - first![0]!)).toEqual([0, 1, 2, 3, 4]);
    expect(first![0]).toBeGreaterThan(31_003);
  });
  test('are gathered from pieces where there is none', () => {
    const used = [31_002, 31_005, 31_008];
    const [first] = ports(
      scene({ machines: [machine('s1', { usedPorts: used })], deploy: { resources: { numPorts: 7 } } }),
    );
    expect(first!.toSorted()).toEqual([31_000, 31_001, 31_003, 31_004, 31_006, 31_007, 31_009]);
  });
  test('a literal host port must be free and is never handed out otherwise', () => {
    const docker = { image: 'x', privileged: false, portMappings: [{ containerPort: 80, hostPort: 31_004 }] };
    const deploy = { resources: { numPorts: 9 }, containerInfo: { type: 'DOCKER' as const, docker } };
    const [first] = ports(scene({ machines: [machine('s1')], deploy }));
    expect(first!.at(-1)).toBe(31_004);
    expect(new Set(first).size).toBe(10);
    expect(ports(scene({ machines: [machine('s1', { usedPorts: [31_004] })], deploy }))).toEqual([]);
  });
});

describe('explain', () => {
  const explain = (own: Parameters<typeof scene>[0], rulesOf: Partial<PlacementRules> = {}, task = pendingTask(1)) =>
    explainPending(task, scene(own), rules(rulesOf), now);
  const counts = (explanation: Explanation) =>
    Object.fromEntries(explanation.rejections.map(({ reason, slaves }) => [reason, slaves]));

  test('counts the machines by the first reason against each', () => {
    const machines = [machine('s2', { state: 'FROZEN' }), machine('s1', { cpus: 0.5 }), machine('s4', { cpus: 0.1 })];
    const explanation = explain({ machines });
    expect(explanation).toMatchObject({ reason: 'NO_MATCHING_SLAVE', slaves: 3, fitting: 0 });
    expect(explanation.rejections).toEqual([
      { reason: 'NOT_ENOUGH_CPUS', slaves: 2, asked: 1, largest: 0.5, free: 0.5 },
      { reason: 'SLAVE_FROZEN', slaves: 1 },
    ]);
  });
  test('says that it fits, and on how many machines', () =>
    expect(explain({ machines: [machine('s1'), machine('s2', { cpus: 0 })] })).toMatchObject({
      reason: 'PLACEABLE',
      slaves: 2,
      fitting: 1,
    }));

  interface Case {
    name: string;
    own: Parameters<typeof scene>[0];
    rules?: Partial<PlacementRules>;
    task?: PendingTask;
    reason: string;
    counts?: Record<string, number>;
  }
  const one = [machine('s1')];
  test.each<Case>([
    {
      name: 'no machine with enough memory',
      own: { machines: [machine('s1', { memoryMb: 63 })] },
      reason: 'NO_MATCHING_SLAVE',
      counts: { NOT_ENOUGH_MEMORY: 1 },
    },
    {
      name: 'a wrong attribute',
      own: { machines: one, request: { requiredSlaveAttributes: { gpu: 'a' } } },
      reason: 'NO_MATCHING_SLAVE',
      counts: { SLAVE_ATTRIBUTES_DO_NOT_MATCH: 1 },
    },
    {
      name: 'all racks full',
      own: { machines: one, request: { rackSensitive: true, instances: 2 }, view: { tasks: [placed('s1', 2)] } },
      reason: 'NO_MATCHING_SLAVE',
      counts: { RACK_SATURATED: 1 },
    },
    {
      name: 'a frozen slave',
      own: { machines: [machine('s1', { state: 'FROZEN' })] },
      reason: 'NO_MATCHING_SLAVE',
      counts: { SLAVE_FROZEN: 1 },
    },
    { name: 'no machine at all', own: { machines: [] }, reason: 'NO_MATCHING_SLAVE', counts: {} },
    {
      name: 'a priority freeze',
      own: { machines: one },
      rules: { minimumPriorityLevel: 0.8 },
      reason: 'PRIORITY_FREEZE',
    },
    { name: 'placement switched off', own: { machines: one }, rules: { disabled: true }, reason: 'PLACEMENT_DISABLED' },
    {
      name: 'the instance limit',
      own: { machines: one, request: { requestType: 'ON_DEMAND', instances: 1 }, view: { tasks: [placed('s1', 1)] } },
      reason: 'INSTANCE_LIMIT',
    },
    {
      name: 'a cooldown',
      own: { machines: one, view: { state: 'SYSTEM_COOLDOWN' } },
      task: pendingTask(1, { nextRunAt: now + 1, pendingType: 'TASK_DONE' }),
      reason: 'COOLDOWN',
    },
    {
      name: 'a schedule that is not due',
      own: { machines: one, request: { requestType: 'SCHEDULED' } },
      task: pendingTask(1, { nextRunAt: now + 1 }),
      reason: 'NOT_DUE',
    },
    { name: 'a paused request', own: { machines: one, view: { state: 'PAUSED' } }, reason: 'REQUEST_NOT_RUNNABLE' },
    {
      name: 'a deploy that is gone',
      own: { machines: one },
      task: pendingTask(1, { deployId: 'x' }),
      reason: 'DEPLOY_GONE',
    },
  ])('$name', ({ own, rules: rulesOf, task, reason, counts: wanted }) => {
    const explanation = explain(own, rulesOf, task);
    expect(explanation.reason).toBe(reason);
    if (wanted) expect(counts(explanation)).toEqual(wanted);
  });
});

describe('laws', () => {
  const anyMachines = fc
    .array(
      fc.record({
        cpus: fc.integer({ min: 0, max: 8 }),
        memoryMb: fc.integer({ min: 0, max: 512 }),
        rackId: fc.constantFrom('r1', 'r2'),
        attributes: fc.constantFrom<Record<string, string>>({}, { ssd: 'y' }),
        state: fc.constantFrom('ACTIVE' as const, 'FROZEN' as const),
        usedPorts: fc.uniqueArray(fc.integer({ min: 31_000, max: 31_009 })),
      }),
      { maxLength: 6 },
    )
    .map((list) => list.map((own, index) => machine(`s${index}`, own)));
  const anyScene = fc
    .record({
      machines: anyMachines,
      tasks: fc.integer({ min: 1, max: 12 }),
      numPorts: fc.integer({ min: 0, max: 3 }),
      cpus: fc.constantFrom(0.1, 0.7, 1, 2),
      rackSensitive: fc.boolean(),
      slavePlacement: fc.constantFrom('GREEDY' as const, 'SEPARATE' as const, 'OPTIMISTIC' as const),
      allowedSlaveAttributes: fc.constantFrom<Record<string, string>>({}, { ssd: 'y' }),
    })
    .map(({ machines, tasks, numPorts, cpus, ...request }) =>
      scene({
        machines,
        request: { instances: tasks, ...request },
        deploy: { resources: { cpus, numPorts } },
        due: Array.from({ length: tasks }, (_, index) => pendingTask(index + 1)),
      }),
    );

  test('the order in which rows are listed never changes the answer', () =>
    fc.assert(
      fc.property(anyScene, (snapshot) => {
        const reversed = { ...snapshot, machines: snapshot.machines.toReversed(), due: snapshot.due.toReversed() };
        expect(place(reversed)).toEqual(place(snapshot));
      }),
    ));

  test('no machine is ever given more than it has, and no port twice', () =>
    fc.assert(
      fc.property(anyScene, (snapshot) => {
        const resources = snapshot.deploys.get('svc-d1')!.deploy.resources!;
        for (const view of snapshot.machines) {
          const there = place(snapshot).filter((outcome) => outcome.kind === 'place' && outcome.machine === view);
          expect(there.length * resources.cpus!).toBeLessThanOrEqual(view.cpus + 1e-9);
          expect(there.length * 64).toBeLessThanOrEqual(view.memoryMb);
          const ports = there.flatMap((outcome) => (outcome.kind === 'place' ? outcome.ports : []));
          expect(new Set([...ports, ...view.usedPorts]).size).toBe(ports.length + [...view.usedPorts].length);
          if (there.length > 0) expect(view.state).toBe('ACTIVE');
        }
      }),
    ));

  test('a task waits only where every machine has a reason against it', () =>
    fc.assert(
      fc.property(anyScene, (snapshot) => {
        const [first] = place(snapshot);
        const explained = explainPending(first!.pending, snapshot, rules(), now);
        expect(explained.reason).toBe(first!.kind === 'place' ? 'PLACEABLE' : 'NO_MATCHING_SLAVE');
        if (first!.kind !== 'wait' || first!.why !== 'NO_MATCHING_SLAVE') return;
        expect([...first!.rejections.values()].reduce((sum, count) => sum + count, 0)).toBe(snapshot.machines.length);
        expect(new Map(explained.rejections.map(({ reason, slaves }) => [reason, slaves]))).toEqual(first!.rejections);
      }),
    ));

  test('equal machines fill evenly', () =>
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 20 }), (machines, tasks) => {
        const due = Array.from({ length: tasks }, (_, index) => pendingTask(index + 1));
        const all = Array.from({ length: machines }, (_, index) => machine(`s${index}`));
        const counts = new Map(all.map((view) => [view.slaveId, 0]));
        for (const outcome of place(scene({ machines: all, due }))) {
          if (outcome.kind === 'place') counts.set(outcome.machine.slaveId, counts.get(outcome.machine.slaveId)! + 1);
        }
        expect(Math.max(...counts.values()) - Math.min(...counts.values())).toBeLessThanOrEqual(1);
      }),
    ));
});
