import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PendingType, RequestType } from '../model/enums.js';
import type { Request } from '../model/request.js';
import { isDue, isDueAtOnce, type PendingRequest } from '../model/task.js';
import { makePendingTaskId, makeTaskId } from '../task-id.js';
import {
  drain,
  isPlannedTooFar,
  rackCount,
  spreadRules,
  type ActiveTask,
  type PendingWork,
  type SpreadSlave,
  type WaitingRequest,
  type WorkDecision,
  type WorkRules,
} from './index.js';

const now = Date.parse('2026-11-01T12:00:30Z');
const minute = 60_000;

const rules = (own: Partial<WorkRules> = {}): WorkRules => ({
  cooldownMinScheduleMillis: 120_000,
  rebalanceRacksOnScaleDown: false,
  rackCount: 2,
  attributesOf: () => ({}),
  ...own,
});

const entry = (pendingType: PendingType, own: Partial<PendingRequest> = {}): PendingRequest => ({
  requestId: 'svc',
  deployId: 'd1',
  timestamp: now - 1_000,
  pendingType,
  ...own,
});

const active = (instanceNo: number, own: Partial<ActiveTask> & { deployId?: string; startedAt?: number } = {}) => {
  const { deployId = 'd1', startedAt = 1, ...rest } = own;
  const taskId = makeTaskId({ requestId: 'svc', deployId, startedAt, instanceNo, host: 'h', rackId: 'r1' });
  return { taskId, slaveId: 's1', rackId: 'r1', killed: false, ...rest };
};

const waiting = (requestType: RequestType, own: Partial<Request> & Partial<Omit<WaitingRequest, 'request'>> = {}) => {
  const { state = 'ACTIVE', activeDeployId = 'd1', pendingDeploy, ...request } = own;
  const schedule = requestType === 'SCHEDULED' ? { quartzSchedule: '0 * * * * ?' } : {};
  return { request: { id: 'svc', requestType, ...schedule, ...request }, state, activeDeployId, pendingDeploy };
};

const work = (
  request: WaitingRequest | undefined,
  entries: PendingRequest[],
  own: Partial<PendingWork> = {},
): PendingWork => ({
  request,
  deployId: 'd1',
  entries,
  tasks: [],
  pendingTaskIds: new Set(),
  runWaits: false,
  failingFast: false,
  ...own,
});

const kinds = (decision: WorkDecision) =>
  decision.outcomes.map((outcome) => (outcome.kind === 'obsolete' ? outcome.why : outcome.kind));
const numbers = (decision: WorkDecision) => decision.create.map((task) => task.pendingTaskId.instanceNo);
/** From now on; 0: at once. */
const times = (decision: WorkDecision) =>
  decision.create.map(({ pendingTaskId: id }) => (isDueAtOnce(id) ? 0 : id.nextRunAt - now));

const progress = (target: number, own = {}) => ({
  targetActiveInstances: target,
  currentActiveInstances: 0,
  deployInstanceCountPerStep: 1,
  deployStepWaitTimeMs: 0,
  stepComplete: false,
  autoAdvanceDeploySteps: true,
  failedDeployTasks: [],
  timestamp: 0,
  ...own,
});

describe('which entries count', () => {
  const service = waiting('SERVICE');
  const job = waiting('SCHEDULED');
  const rollout = waiting('SERVICE', {
    pendingDeploy: { deployId: 'd1', state: 'WAITING', progress: progress(1) },
    activeDeployId: undefined,
  });
  test.each([
    { name: 'no request', request: undefined, entries: [entry('BOUNCE')], tasks: [], is: ['REQUEST_GONE'] },
    {
      name: 'a paused request',
      request: { ...service, state: 'PAUSED' as const },
      entries: [entry('BOUNCE')],
      tasks: [],
      is: ['REQUEST_NOT_RUNNABLE'],
    },
    {
      name: 'a new deploy that is over',
      request: service,
      entries: [entry('NEW_DEPLOY')],
      tasks: [],
      is: ['NO_DEPLOY_PENDING'],
    },
    {
      name: 'a new deploy that is pending',
      request: rollout,
      entries: [entry('NEW_DEPLOY')],
      tasks: [],
      is: ['scheduled'],
    },
    {
      name: 'a deploy that was replaced',
      request: service,
      entries: [entry('BOUNCE', { deployId: 'd0' })],
      tasks: [],
      is: ['DEPLOY_NOT_IN_USE'],
    },
    {
      name: 'a replaced deploy of a RUN_ONCE request',
      request: waiting('RUN_ONCE', { activeDeployId: 'd2' }),
      entries: [entry('NEW_DEPLOY')],
      tasks: [],
      is: ['scheduled'],
    },
    {
      name: 'a lost run of a replaced deploy of a RUN_ONCE request',
      request: waiting('RUN_ONCE', { activeDeployId: 'd2' }),
      entries: [entry('RETRY')],
      tasks: [active(1, { deployId: 'd2' })],
      is: ['scheduled'],
    },
    {
      name: 'what would plan the next turn, beside a lost run',
      request: job,
      entries: [entry('NEW_DEPLOY'), entry('RETRY'), entry('UPDATED_REQUEST'), entry('STARTUP'), entry('TASK_DONE')],
      tasks: [],
      is: ['hold', 'scheduled', 'hold', 'hold', 'hold'],
    },
    {
      name: 'what would plan the next turn, while a promised run waits',
      request: job,
      entries: [entry('UPDATED_REQUEST'), entry('STARTUP'), entry('IMMEDIATE')],
      tasks: [],
      runWaits: true,
      is: ['hold', 'hold', 'scheduled'],
    },
    {
      name: 'a deploy over a running job',
      request: job,
      entries: [entry('NEW_DEPLOY')],
      tasks: [active(1)],
      is: ['hold'],
    },
    {
      name: 'a start-up over a running job',
      request: job,
      entries: [entry('STARTUP')],
      tasks: [active(1)],
      is: ['scheduled'],
    },
    {
      name: 'anything else over a running job',
      request: job,
      entries: [entry('UPDATED_REQUEST')],
      tasks: [active(1)],
      is: ['scheduled'],
    },
    {
      name: 'anything over a running job of another deploy, whose end plans nothing of this one',
      request: job,
      entries: [entry('UNPAUSED'), entry('STARTUP')],
      tasks: [active(1, { deployId: 'd0' })],
      is: ['hold', 'hold'],
    },
    ...(['FINISHED', 'DELETING'] as const).map((state) => ({
      name: `a request that is ${state}`,
      request: { ...service, state },
      entries: [entry('BOUNCE'), entry('IMMEDIATE')],
      tasks: [],
      is: ['REQUEST_NOT_RUNNABLE', 'REQUEST_NOT_RUNNABLE'],
    })),
    ...(['ACTIVE', 'SYSTEM_COOLDOWN', 'DEPLOYING_TO_UNPAUSE'] as const).map((state) => ({
      name: `a request that is ${state}`,
      request: { ...service, state },
      entries: [entry('BOUNCE')],
      tasks: [],
      is: ['scheduled'],
    })),
    {
      name: 'entries of other types after the first one',
      request: job,
      entries: [entry('TASK_DONE'), entry('UPDATED_REQUEST'), entry('IMMEDIATE')],
      tasks: [],
      is: ['scheduled', 'later', 'scheduled'],
    },
    {
      name: 'two entries',
      request: service,
      entries: [entry('BOUNCE'), entry('TASK_DONE')],
      tasks: [],
      is: ['scheduled', 'later'],
    },
    {
      name: 'runs asked for',
      request: waiting('ON_DEMAND'),
      entries: [entry('ONEOFF'), entry('ONEOFF'), entry('RETRY')],
      tasks: [],
      is: ['scheduled', 'scheduled', 'scheduled'],
    },
    {
      name: 'an immediate run of a job that was to be planned',
      request: job,
      entries: [entry('IMMEDIATE'), entry('TASK_DONE'), entry('NEW_DEPLOY')],
      tasks: [],
      is: ['scheduled', 'replaced', 'replaced'],
    },
  ])('$name', ({ request, entries, tasks, is, ...own }) =>
    expect(kinds(drain(work(request, entries, { tasks, ...own }), rules(), now))).toEqual(is),
  );
});

describe('how many', () => {
  const rolling = (own = {}, state: 'WAITING' | 'CANCELING' = 'WAITING') =>
    waiting('SERVICE', {
      instances: 4,
      activeDeployId: 'd0',
      pendingDeploy: { deployId: 'd1', state, progress: progress(2, own) },
    });
  test.each([
    {
      name: 'all of a new service',
      request: waiting('SERVICE', { instances: 3 }),
      type: 'STARTUP' as const,
      tasks: [],
      numbers: [1, 2, 3],
    },
    {
      name: 'one when instances is not set',
      request: waiting('WORKER'),
      type: 'STARTUP' as const,
      tasks: [],
      numbers: [1],
    },
    {
      name: 'gaps first',
      request: waiting('SERVICE', { instances: 4 }),
      type: 'TASK_DONE' as const,
      tasks: [active(2), active(5)],
      numbers: [1, 3],
    },
    {
      name: 'one for each that goes, under the same number',
      request: waiting('SERVICE', { instances: 2 }),
      type: 'BOUNCE' as const,
      tasks: [active(1, { cleaning: 'BOUNCING' }), active(2, { killed: true })],
      numbers: [1, 2],
    },
    {
      name: 'tasks of another deploy do not count',
      request: waiting('SERVICE', { instances: 1 }),
      type: 'STARTUP' as const,
      tasks: [active(1, { deployId: 'd0' })],
      numbers: [1],
    },
    {
      name: 'nothing when all are there',
      request: waiting('SERVICE', { instances: 1 }),
      type: 'STARTUP' as const,
      tasks: [active(1)],
      numbers: [],
    },
    {
      name: 'the target of a deploy step',
      request: rolling(),
      type: 'NEXT_DEPLOY_STEP' as const,
      tasks: [active(1)],
      numbers: [2],
    },
    {
      name: 'nothing for a deploy that is given up',
      request: rolling({}, 'CANCELING'),
      type: 'NEXT_DEPLOY_STEP' as const,
      tasks: [],
      numbers: [],
    },
    {
      name: 'one run on demand',
      request: waiting('ON_DEMAND'),
      type: 'ONEOFF' as const,
      tasks: [active(1)],
      numbers: [2],
    },
    {
      name: 'no run on demand by a bounce',
      request: waiting('ON_DEMAND'),
      type: 'BOUNCE' as const,
      tasks: [],
      numbers: [],
    },
    {
      name: 'one run per RUN_ONCE deploy, beside an older one',
      request: waiting('RUN_ONCE'),
      type: 'NEW_DEPLOY' as const,
      tasks: [active(1, { deployId: 'd0' })],
      numbers: [2],
    },
    {
      name: 'the lost run of a RUN_ONCE deploy again, beside a newer one',
      request: waiting('RUN_ONCE', { activeDeployId: 'd2' }),
      type: 'RETRY' as const,
      tasks: [active(1, { deployId: 'd2' })],
      numbers: [2],
    },
    {
      name: 'and nothing of a RUN_ONCE deploy that has its run, whatever runs beside it',
      request: waiting('RUN_ONCE'),
      type: 'UPDATED_REQUEST' as const,
      tasks: [active(1), active(2, { deployId: 'd0' })],
      numbers: [],
    },
    {
      name: 'but the run that it has not, whatever runs beside it',
      request: waiting('RUN_ONCE'),
      type: 'UNPAUSED' as const,
      tasks: [active(1, { deployId: 'd0' })],
      numbers: [2],
    },
    {
      name: 'and none of a RUN_ONCE deploy whose run has ended',
      request: waiting('RUN_ONCE'),
      type: 'UPDATED_REQUEST' as const,
      tasks: [],
      lastEnd: 'TASK_FAILED' as const,
      numbers: [],
    },
    {
      name: 'nor when the request is no longer paused',
      request: waiting('RUN_ONCE'),
      type: 'UNPAUSED' as const,
      tasks: [],
      lastEnd: 'TASK_FINISHED' as const,
      numbers: [],
    },
    {
      name: 'but the run that a pause took away',
      request: waiting('RUN_ONCE'),
      type: 'UNPAUSED' as const,
      tasks: [],
      lastEnd: 'TASK_KILLED' as const,
      numbers: [1],
    },
    {
      name: 'and a run of a RUN_ONCE deploy that is tried again',
      request: waiting('RUN_ONCE'),
      type: 'RETRY' as const,
      tasks: [],
      lastEnd: 'TASK_FAILED' as const,
      numbers: [1],
    },
    {
      name: 'no second run of a job, of whatever deploy',
      request: waiting('SCHEDULED'),
      type: 'TASK_DONE' as const,
      tasks: [active(1, { deployId: 'd0', killed: true })],
      numbers: [],
    },
  ])('$name', ({ request, type, tasks, numbers: expected, ...own }) =>
    expect(numbers(drain(work(request, [entry(type)], { tasks, ...own }), rules(), now))).toEqual(expected),
  );

  test.each([
    {
      name: 'the old deploy keeps what the step takes over',
      own: { currentActiveInstances: 1 },
      tasks: 1,
      expected: 2,
    },
    {
      name: 'however many tasks a user asked the step for',
      own: { currentActiveInstances: 1, targetActiveInstances: 4 },
      tasks: 1,
      expected: 2,
    },
    {
      name: 'and gets back what a lowered target gives back',
      own: { currentActiveInstances: 3, targetActiveInstances: 1 },
      tasks: 1,
      expected: 2,
    },
    {
      name: 'in canary groups it gives up what accepted groups run',
      own: { canary: true, currentActiveInstances: 2 },
      tasks: 1,
      expected: 1,
    },
    {
      name: 'a canary deploy in one swap leaves it whole until the end',
      own: { canary: false, currentActiveInstances: 4, targetActiveInstances: 4, stepComplete: true },
      tasks: 1,
      expected: 3,
    },
    { name: 'and gives it up once the step is complete', own: { stepComplete: true }, tasks: 1, expected: 1 },
    {
      name: 'a deploy in one step leaves the old one whole',
      own: { deployInstanceCountPerStep: 4 },
      tasks: 1,
      expected: 3,
    },
  ])('$name', ({ own, tasks, expected }) => {
    const there = Array.from({ length: tasks }, (_, index) => active(index + 1, { deployId: 'd0' }));
    const decision = drain(
      work(rolling(own), [entry('BOUNCE', { deployId: 'd0' })], { tasks: there, deployId: 'd0' }),
      rules(),
      now,
    );
    expect(decision.create).toHaveLength(expected);
  });

  test('no task of a deploy that is given up is ended while the load balancer may still need it', () => {
    const tasks = [1, 2, 3, 4].map((instanceNo) => active(instanceNo));
    const decision = drain(work(rolling({}, 'CANCELING'), [entry('TASK_DONE')], { tasks }), rules(), now);
    expect(decision).toMatchObject({ create: [], cleanups: [] });
  });

  test('a run in progress is joined by none: what was planned is dropped', () => {
    const decision = drain(
      work(waiting('SCHEDULED'), [entry('UPDATED_REQUEST')], { tasks: [active(1)] }),
      rules(),
      now,
    );
    expect(decision).toMatchObject({ replacesPendingTasks: true, create: [], finishes: false });
  });

  test('whether an entry is held is decided by the request that its deploy brings, how many start by the stored one', () => {
    const updatedRequest: Request = {
      id: 'svc',
      requestType: 'SCHEDULED',
      instances: 2,
      quartzSchedule: '0 * * * * ?',
    };
    const request = waiting('SCHEDULED', {
      activeDeployId: 'd0',
      pendingDeploy: { deployId: 'd1', state: 'WAITING', updatedRequest },
    });
    const one = { tasks: [active(1, { deployId: 'd0' })] };
    const decision = drain(work(request, [entry('NEW_DEPLOY')], one), rules(), now);
    expect(kinds(decision)).toEqual(['scheduled']);
    expect(numbers(decision)).toEqual([]);
  });

  test('the order in which tasks are listed never changes the decision', () =>
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4 }),
        fc.array(fc.record({ instanceNo: fc.integer({ min: 1, max: 6 }), rack: fc.nat({ max: 2 }) }), { maxLength: 8 }),
        (instances, list) => {
          const tasks = list.map(({ instanceNo, rack }, index) =>
            active(instanceNo, { startedAt: index, rackId: `r${rack}`, slaveId: `s${rack}` }),
          );
          const own = { instances, rackSensitive: true, slaveAttributeMinimums: { zone: { s1: 50 } } };
          const ruled = rules({ rebalanceRacksOnScaleDown: true, attributesOf: (zone) => ({ zone }) });
          const decide = (listed: ActiveTask[]) =>
            drain(work(waiting('SERVICE', own), [entry('UPDATED_REQUEST')], { tasks: listed }), ruled, now);
          expect(decide(tasks.toReversed())).toEqual(decide(tasks));
        },
      ),
    ));

  test('the whole pending set is recomputed, except for runs on demand', () => {
    expect(drain(work(waiting('SERVICE'), [entry('STARTUP')]), rules(), now).replacesPendingTasks).toBe(true);
    expect(drain(work(waiting('ON_DEMAND'), [entry('ONEOFF')]), rules(), now).replacesPendingTasks).toBe(false);
  });

  test('runs asked for in the same millisecond all get pending tasks of their own', () => {
    const taken = `svc-d1-${now - 1_000}-1-ONEOFF-${now - 1_000}`;
    const decision = drain(
      work(waiting('ON_DEMAND'), [entry('ONEOFF', { runId: 'a' }), entry('ONEOFF', { runId: 'b' })], {
        pendingTaskIds: new Set([taken]),
      }),
      rules(),
      now,
    );
    expect(decision.create.map((task) => [task.runId, task.pendingTaskId.createdAt - now])).toEqual([
      ['a', -999],
      ['b', -998],
    ]);
  });

  test('a pending task carries everything its entry asked for', () => {
    const asked = {
      user: 'u',
      runId: 'r',
      message: 'm',
      actionId: 'a',
      cmdLineArgsList: ['-x'],
      resources: { cpus: 2 },
      envOverrides: { A: 'b' },
      runAsUserOverride: 'root',
      requiredSlaveAttributeOverrides: { c: 'd' },
      allowedSlaveAttributeOverrides: { e: 'f' },
      extraArtifacts: [{ uri: 'http://x/y' }],
      skipHealthchecks: true,
      objstoreUploaderAdditionalFiles: [{ filename: 'z' }],
      trigger: 'AFTER' as const,
      scheduledAt: now - 5_000,
      attempt: 2,
      flowId: 'f',
      parentRuns: ['p'],
    };
    expect(drain(work(waiting('ON_DEMAND'), [entry('ONEOFF', asked)]), rules(), now).create[0]).toMatchObject(asked);
  });
});

describe('when', () => {
  test.each([
    { name: 'a service at once', request: waiting('SERVICE'), own: {}, type: 'STARTUP' as const, at: 0 },
    { name: 'a job at its next hit', request: waiting('SCHEDULED'), own: {}, type: 'TASK_DONE' as const, at: 30_000 },
    {
      name: 'a job in its zone',
      request: waiting('SCHEDULED', { quartzSchedule: '0 0 14 * * ?', scheduleTimeZone: 'Europe/Paris' }),
      own: {},
      type: 'TASK_DONE' as const,
      at: 3_570_000,
    },
    {
      name: 'a job by its RFC 5545 rule',
      request: waiting('SCHEDULED', {
        quartzSchedule: undefined,
        schedule: 'DTSTART=20260101T140000 RRULE:FREQ=DAILY',
        scheduleType: 'RFC5545',
        scheduleTimeZone: 'Europe/Paris',
      }),
      own: {},
      type: 'TASK_DONE' as const,
      at: 3_570_000,
    },
    {
      name: 'a time of a schedule that was found before, and has passed since, at once',
      request: waiting('SCHEDULED'),
      own: { runAt: now - 50 },
      type: 'UNPAUSED' as const,
      at: 0,
    },
    {
      name: 'a time of a schedule that was found before, not the one before it',
      request: waiting('SCHEDULED'),
      own: { runAt: now + 90_000 },
      type: 'UNPAUSED' as const,
      at: 90_000,
    },
    { name: 'a job run by hand at once', request: waiting('SCHEDULED'), own: {}, type: 'IMMEDIATE' as const, at: 0 },
    { name: 'a retried job at once', request: waiting('SCHEDULED'), own: {}, type: 'RETRY' as const, at: 0 },
    {
      name: 'a run at the time asked for',
      request: waiting('ON_DEMAND'),
      own: { runAt: now + minute },
      type: 'ONEOFF' as const,
      at: minute,
    },
    {
      name: 'a run asked for in the past now',
      request: waiting('ON_DEMAND'),
      own: { runAt: now - minute },
      type: 'ONEOFF' as const,
      at: 0,
    },
    {
      name: 'after a rest',
      request: waiting('WORKER', { waitAtLeastMillisAfterTaskFinishesForReschedule: 5_000 }),
      own: {},
      type: 'TASK_DONE' as const,
      at: 5_000,
    },
    {
      name: 'a rest that ends after the next hit',
      request: waiting('SCHEDULED', { waitAtLeastMillisAfterTaskFinishesForReschedule: 40_000 }),
      own: {},
      type: 'TASK_DONE' as const,
      at: 40_000,
    },
    {
      name: 'later while in cooldown',
      request: waiting('SERVICE', { state: 'SYSTEM_COOLDOWN' }),
      own: {},
      type: 'TASK_DONE' as const,
      failingFast: true,
      at: 120_000,
    },
  ])('$name', ({ request, own, type, failingFast = false, at }) =>
    expect(times(drain(work(request, [entry(type, own)], { failingFast }), rules(), now))).toEqual([at]),
  );

  test('cooldown ends when the failures have aged out', () => {
    const decision = drain(work(waiting('SERVICE', { state: 'SYSTEM_COOLDOWN' }), [entry('TASK_DONE')]), rules(), now);
    expect(decision.leavesCooldown).toBe(true);
    expect(times(decision)).toEqual([0]);
  });

  test.each([
    { name: 'asked for by a clock ahead', asked: 600_000, planned: 0, later: 0 },
    { name: 'planned by a clock ahead', asked: 0, planned: 600_000, later: 0 },
    { name: 'planned before the clock was set back', asked: -1_000, planned: 0, later: -600_000 },
  ])('a run $name is due at once', ({ asked, planned, later }) => {
    const entries = [entry('ONEOFF', { timestamp: now + asked })];
    const [task] = drain(work(waiting('ON_DEMAND'), entries), rules(), now + planned).create;
    expect(isDue(task!.pendingTaskId, now + later)).toBe(true);
  });

  test.each([
    { name: 'a hit', request: waiting('SCHEDULED'), type: 'TASK_DONE' as const, own: {} },
    { name: 'a time', request: waiting('ON_DEMAND'), type: 'ONEOFF' as const, own: { runAt: now + minute } },
  ])('a run that waits for $name does so, also when it was asked for by a clock ahead', ({ request, type, own }) => {
    const entries = [entry(type, { timestamp: now + 600_000, ...own })];
    const [task] = drain(work(request, entries), rules(), now).create;
    expect(isDue(task!.pendingTaskId, now + 29_999)).toBe(false);
  });

  test.each<{
    name: string;
    at: number;
    tooFar?: boolean;
    own?: Partial<Request>;
    state?: WaitingRequest['state'];
    type?: PendingType;
    requestType?: RequestType;
  }>([
    { name: 'the next hit', at: 30_000, tooFar: false },
    { name: 'a hit after that', at: 90_000, tooFar: true },
    { name: 'the end of its rest', at: 45_000, own: { waitAtLeastMillisAfterTaskFinishesForReschedule: 50_000 } },
    { name: 'the end of a cooldown', at: 60_000, state: 'SYSTEM_COOLDOWN' },
    { name: 'long after a cooldown', at: 700_000, state: 'SYSTEM_COOLDOWN', tooFar: true },
    { name: 'a time that was asked for', at: 700_000, type: 'IMMEDIATE' },
    { name: 'a service', at: 700_000, requestType: 'SERVICE' },
    { name: 'no further hit', at: 700_000, own: { quartzSchedule: '0 0 0 1 1 ? 2020' } },
  ])(
    'the next run of a schedule planned for $name',
    ({ at, tooFar = false, own, state = 'ACTIVE', type = 'TASK_DONE', requestType = 'SCHEDULED' }) => {
      const { request } = waiting(requestType, own);
      const parts = { requestId: 'svc', deployId: 'd1', instanceNo: 1, pendingType: type, createdAt: now };
      const id = makePendingTaskId({ ...parts, nextRunAt: now + at });
      expect(isPlannedTooFar(id, { request, state }, minute, now)).toBe(tooFar);
    },
  );

  test('a schedule without a further run finishes the request', () => {
    const request = waiting('SCHEDULED', { quartzSchedule: '0 0 0 1 1 ? 2020' });
    const decision = drain(work(request, [entry('TASK_DONE')]), rules(), now);
    expect(decision).toMatchObject({ finishes: true, create: [], replacesPendingTasks: true });
  });

  test('a run asked for by hand goes on although the schedule has ended', () => {
    const request = waiting('SCHEDULED', { quartzSchedule: '0 0 0 1 1 ? 2020' });
    const decision = drain(work(request, [entry('TASK_DONE'), entry('IMMEDIATE', { runId: 'r' })]), rules(), now);
    expect(decision).toMatchObject({ finishes: false, create: [{ runId: 'r' }] });
    expect(times(decision)).toEqual([0]);
  });
});

describe('scale down', () => {
  const cleaned = (
    instances: number,
    tasks: ActiveTask[],
    own: Partial<Request> = {},
    ruled: Partial<WorkRules> = {},
  ) => {
    const decision = drain(
      work(waiting('SERVICE', { instances, ...own }), [entry('UPDATED_REQUEST', { user: 'u' })], { tasks }),
      rules(ruled),
      now,
    );
    return {
      cleanups: decision.cleanups.map(
        ({ taskId, cleanupType }) => `${cleanupType} ${taskId.instanceNo}/${taskId.startedAt}`,
      ),
      create: numbers(decision),
    };
  };
  test('the highest numbers go', () =>
    expect(cleaned(1, [active(1), active(3), active(2)])).toEqual({
      cleanups: ['SCALING_DOWN 3/1', 'SCALING_DOWN 2/1'],
      create: [],
    }));
  test('of two with the same number the later one goes although their count is right, and what is missing is planned', () =>
    expect(cleaned(3, [active(1), active(1, { startedAt: 2 }), active(2)])).toEqual({
      cleanups: ['SCALING_DOWN 1/2'],
      create: [3],
    }));
  test('of two with the same number the later one goes', () =>
    expect(cleaned(1, [active(1, { startedAt: 2 }), active(1)])).toEqual({
      cleanups: ['SCALING_DOWN 1/2'],
      create: [],
    }));
  test('numbers beyond the count go even if too few remain', () =>
    expect(cleaned(2, [active(3), active(4), active(5)]).cleanups).toHaveLength(3));
  test('a rack that keeps too many gives one up and gets its replacement elsewhere', () => {
    const tasks = [active(1), active(2), active(3)];
    const own = { rackSensitive: true };
    expect(cleaned(2, tasks, own, { rebalanceRacksOnScaleDown: true })).toEqual({
      cleanups: ['SCALING_DOWN 3/1'],
      create: [],
    });
    const four = [1, 2, 3, 4, 5].map((number) => active(number));
    expect(cleaned(4, four, own, { rebalanceRacksOnScaleDown: true })).toEqual({
      cleanups: ['SCALING_DOWN 5/1', 'REBALANCE_RACKS 2/1'],
      create: [2],
    });
  });
  test('while a deploy is pending the lowest numbers go first, of two with the same number the later one', () => {
    const request = waiting('SERVICE', {
      instances: 2,
      activeDeployId: 'd1',
      pendingDeploy: { deployId: 'd2', state: 'WAITING', progress: progress(1, { deployInstanceCountPerStep: 2 }) },
    });
    const tasks = [active(2), active(1, { startedAt: 2 }), active(1)];
    const decision = drain(work(request, [entry('UPDATED_REQUEST')], { tasks }), rules(), now);
    expect(decision.cleanups.map(({ taskId }) => taskId.startedAt)).toEqual([2]);
  });
  test('racks are left alone unless that is switched on and the request is rack sensitive', () => {
    const tasks = [1, 2, 3, 4, 5].map((number) => active(number));
    const down = ['SCALING_DOWN 5/1'];
    expect(cleaned(4, tasks, { rackSensitive: true }).cleanups).toEqual(down);
    expect(cleaned(4, tasks, {}, { rebalanceRacksOnScaleDown: true }).cleanups).toEqual(down);
  });
  test('never more than half as many tasks as there are racks move for the racks, and never instance 1', () => {
    const on = { rebalanceRacksOnScaleDown: true, rackCount: 4 };
    const tasks = [1, 2, 3, 4, 5, 6].map((number) => active(number));
    expect(cleaned(5, tasks, { rackSensitive: true }, on).cleanups).toEqual([
      'SCALING_DOWN 6/1',
      'REBALANCE_RACKS 4/1',
      'REBALANCE_RACKS 3/1',
    ]);
    const ones = [active(1), active(2, { rackId: 'r2' })];
    expect(cleaned(1, ones, { rackSensitive: true }, on).cleanups).toEqual(['SCALING_DOWN 2/1']);
  });
  test('a share that is a whole number is not rounded up', () => {
    const tasks = Array.from({ length: 101 }, (_, index) =>
      active(index + 1, { slaveId: index < 7 ? 'ssd' : 'other' }),
    );
    const own = { slaveAttributeMinimums: { ssd: { y: 7 } } };
    const attributesOf = (slaveId: string): Record<string, string> => (slaveId === 'ssd' ? { ssd: 'y' } : {});
    expect(cleaned(100, tasks, own, { attributesOf }).cleanups).toEqual(['SCALING_DOWN 101/1']);
  });
  test('an attribute that no machine has counts as held by none', () => {
    const own = { slaveAttributeMinimums: { gpu: { y: 50 } } };
    expect(cleaned(2, [active(1), active(2), active(3)], own)).toEqual({
      cleanups: ['SCALING_DOWN 3/1', 'REBALANCE_SLAVE_ATTRIBUTES 2/1'],
      create: [2],
    });
  });
  test('two values of one attribute move different tasks, and leave alone those that a value needs', () => {
    const zones: Record<string, string> = { s1: 'a', s2: 'c', s3: 'c', s4: 'a' };
    const attributesOf = (slaveId: string): Record<string, string> => ({ zone: zones[slaveId] ?? 'a' });
    const tasks = [1, 2, 3, 4, 5].map((number) => active(number, { slaveId: `s${number}` }));
    const own = { slaveAttributeMinimums: { zone: { a: 50, b: 25, d: 25 } } };
    expect(cleaned(4, tasks, own, { attributesOf })).toEqual({
      cleanups: ['SCALING_DOWN 5/1', 'REBALANCE_SLAVE_ATTRIBUTES 3/1', 'REBALANCE_SLAVE_ATTRIBUTES 2/1'],
      create: [2, 3],
    });
  });
  test('a task that moves for its rack moves for an attribute, too', () => {
    const tasks = [1, 2, 3].map((number) => active(number));
    const own = { rackSensitive: true, slaveAttributeMinimums: { ssd: { y: 50 } } };
    expect(cleaned(2, tasks, own, { rebalanceRacksOnScaleDown: true, rackCount: 2 }).cleanups).toEqual([
      'SCALING_DOWN 3/1',
      'REBALANCE_SLAVE_ATTRIBUTES 2/1',
    ]);
    expect(cleaned(2, tasks, own, { rebalanceRacksOnScaleDown: true, rackCount: 3 }).cleanups).toHaveLength(2);
  });
  test('tasks that are in the way of an attribute minimum move', () => {
    const tasks = [1, 2, 3].map((number) => active(number, { slaveId: `s${number}` }));
    const own = { slaveAttributeMinimums: { ssd: { y: 100 } } };
    const attributesOf = (slaveId: string): Record<string, string> => (slaveId === 's1' ? { ssd: 'y' } : {});
    expect(cleaned(2, tasks, own, { attributesOf })).toEqual({
      cleanups: ['SCALING_DOWN 3/1', 'REBALANCE_SLAVE_ATTRIBUTES 2/1'],
      create: [2],
    });
  });
});

test('two looks after anything happened a service has exactly its instances', () =>
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 6 }),
      fc.array(
        fc.record({ instanceNo: fc.integer({ min: 1, max: 8 }), cleaning: fc.boolean(), killed: fc.boolean() }),
        { maxLength: 8 },
      ),
      (instances, list) => {
        let tasks: ActiveTask[] = list.map(({ instanceNo, cleaning, killed }, index) =>
          active(instanceNo, { startedAt: index, killed, cleaning: cleaning ? 'BOUNCING' : undefined }),
        );
        // The second look finds the tasks that the first one planned and not those it cleaned.
        for (let look = 0; look < 2; look++) {
          const decision = drain(
            work(waiting('SERVICE', { instances }), [entry('TASK_DONE')], { tasks }),
            rules(),
            now,
          );
          const gone = new Set(decision.cleanups.map((cleanup) => cleanup.taskId.id));
          tasks = tasks.filter((task) => !gone.has(task.taskId.id));
          tasks.push(...numbers(decision).map((number) => active(number, { startedAt: 100 + look })));
        }
        const kept = tasks.filter((task) => !task.killed && task.cleaning === undefined);
        expect(kept).toHaveLength(instances);
      },
    ),
  ));

describe('how tasks are to be spread', () => {
  const slaves: SpreadSlave[] = [
    { id: 's1', rackId: 'r1', rackState: 'ACTIVE', attributes: { zone: 'a' } },
    { id: 's2', rackId: 'r1', rackState: 'ACTIVE', attributes: {} },
    { id: 's3', rackId: 'r2', rackState: 'DEAD', attributes: {} },
  ];
  test('over the racks that are ACTIVE, or as many as are expected', () => {
    expect(rackCount({}, slaves)).toBe(1);
    expect(rackCount({ expectedRacksCount: 3 }, slaves)).toBe(3);
  });
  test('by the attributes of the slaves; an unknown slave has none', () => {
    const { attributesOf } = spreadRules({ rebalanceRacksOnScaleDown: true }, slaves);
    expect(attributesOf('s1')).toEqual({ zone: 'a' });
    expect(attributesOf('s9')).toEqual({});
  });
});

describe('runs of a backfill', () => {
  const backfill = (run: number) => entry('BACKFILL', { runId: `b-${run}`, trigger: 'BACKFILL', scheduledAt: run });
  const schedule: PendingType[] = ['STARTUP', 'TASK_DONE', 'NEW_DEPLOY', 'RETRY', 'IMMEDIATE', 'UPDATED_REQUEST'];

  test('go beside the schedule: it plans as if there were none, and none of them is lost', () =>
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...schedule), { maxLength: 4 }),
        fc.array(fc.nat(), { maxLength: 4 }),
        fc.nat(2),
        fc.nat(3),
        fc.boolean(),
        (types, places, runs, active_, runWaits) => {
          const entries = types.map((type, index) => entry(type, { timestamp: now - 1_000 + index }));
          const tasks = runs > 0 ? [active(1)] : [];
          const beside = Array.from({ length: active_ }, (_, index) =>
            active(1, { startedAt: 10 + index, pendingType: 'BACKFILL' }),
          );
          const request = waiting('SCHEDULED');
          const alone = drain(work(request, entries, { tasks, runWaits }), rules(), now);
          const mixed: PendingRequest[] = [...entries];
          for (const [run, place] of places.entries()) mixed.splice(place % (mixed.length + 1), 0, backfill(run));
          const taken = makePendingTaskId({
            requestId: 'svc',
            deployId: 'd1',
            nextRunAt: now - 1_000,
            instanceNo: 1,
            pendingType: 'BACKFILL',
            createdAt: now - 1_000,
          }).id;
          const pendingTaskIds = new Set([taken]);
          const found = drain(
            work(request, mixed, { tasks: [...tasks, ...beside], runWaits, pendingTaskIds }),
            rules(),
            now,
          );
          const isOwn = ({ pendingTaskId }: { pendingTaskId: { pendingType: PendingType } }) =>
            pendingTaskId.pendingType !== 'BACKFILL';
          expect(found.outcomes.filter((_, index) => mixed[index]!.pendingType !== 'BACKFILL')).toEqual(alone.outcomes);
          expect(found.create.filter(isOwn)).toEqual(alone.create);
          expect([found.cleanups, found.replacesPendingTasks, found.finishes]).toEqual([
            alone.cleanups,
            alone.replacesPendingTasks,
            alone.finishes,
          ]);
          const made = found.create.filter((task) => !isOwn(task));
          expect(made.map(({ runId }) => runId).toSorted()).toEqual(places.map((_, run) => `b-${run}`).toSorted());
          const ids = made.map(({ pendingTaskId }) => pendingTaskId.id);
          expect(new Set([...ids, taken]).size).toBe(ids.length + 1);
        },
      ),
    ));

  test('begin at once, and keep the time that they are for', () => {
    const decision = drain(work(waiting('SCHEDULED'), [backfill(5)]), rules(), now);
    expect(times(decision)).toEqual([0]);
    expect(decision.create[0]).toMatchObject({ trigger: 'BACKFILL', scheduledAt: 5, runId: 'b-5' });
  });
});

describe('a deploy that ends old tasks first', () => {
  const pendingDeploy = { deployId: 'd2', state: 'WAITING' as const, progress: progress(1, { maxUnavailable: 1 }) };
  const deploying = waiting('SERVICE', { instances: 3, pendingDeploy });
  const decided = (tasks: ActiveTask[]) => drain(work(deploying, [entry('TASK_DONE')], { tasks }), rules(), now);

  test('gives no old task back whose place it takes', () =>
    expect(numbers(decided([active(2), active(3)]))).toEqual([]));
  test('gives back others that failed', () => expect(numbers(decided([active(2)]))).toEqual([1]));
  test('says itself when old tasks end', () => expect(decided([active(1), active(2), active(3)]).cleanups).toEqual([]));
});
