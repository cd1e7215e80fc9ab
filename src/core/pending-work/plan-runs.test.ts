import { describe, expect, test } from 'vitest';
import type { PendingRequest, PendingTask } from '../model/task.js';
import type { PendingType } from '../model/enums.js';
import type { Request } from '../model/request.js';
import { makePendingTaskId, makeTaskId } from '../task-id.js';
import { type ActiveTask, planRuns, type RequestToRun } from './index.js';

const now = Date.UTC(2026, 0, 5, 12);
const hour = 3_600_000;

const waiting = (hoursAgo: number, more: Partial<PendingTask> = {}, deployId = 'd1'): PendingTask => {
  const at = now - hoursAgo * hour;
  const parts = {
    requestId: 'job',
    deployId,
    nextRunAt: at,
    instanceNo: 1,
    createdAt: at,
    pendingType: 'TASK_DONE',
  } as const;
  return { pendingTaskId: makePendingTaskId(parts), trigger: 'SCHEDULE', scheduledAt: at, ...more };
};
const entry = (more: Partial<PendingRequest> = {}): PendingRequest => ({
  requestId: 'job',
  deployId: 'd1',
  timestamp: now,
  pendingType: 'TASK_DONE',
  ...more,
});

interface Given {
  members?: Partial<Request>;
  state?: RequestToRun['state'];
  activeDeployId?: string;
  entries?: PendingRequest[];
  pendingTasks?: PendingTask[];
  tasks?: ActiveTask[];
  plannedUntil?: number;
  startedRuns?: number;
  newFlowId?: () => string;
}

function plan({ members, state = 'ACTIVE', activeDeployId = 'd1', startedRuns, ...given }: Given) {
  const request = {
    id: 'job',
    requestType: 'SCHEDULED',
    schedule: '0 * * * *',
    overlapPolicy: 'BUFFER_ALL',
    ...members,
  } as Request;
  const work = { entries: [], tasks: [], pendingTasks: [], failingFast: false, ...given };
  return planRuns({ ...work, request: { request, state, activeDeployId, startedRuns } }, 0, now);
}
const active = (pendingType: PendingType, more: Partial<ActiveTask> = {}): ActiveTask => {
  const parts = { requestId: 'job', deployId: 'd1', startedAt: now - 1, instanceNo: 1, host: 's1', rackId: 'r1' };
  return { taskId: makeTaskId(parts), slaveId: 's1', rackId: 'r1', killed: false, pendingType, ...more };
};
const hoursOf = (tasks: readonly PendingTask[]): number[] =>
  tasks.map(({ scheduledAt }) => (scheduledAt! - now) / hour);

describe('a look at the times of a request', () => {
  test('plans the next one, with what the entry says, and says when to look again', () => {
    const { create, outcomes, lookAt, plannedUntil } = plan({ entries: [entry({ user: 'me' })] });
    expect([hoursOf(create), create[0]?.user, create[0]?.trigger]).toEqual([[1], 'me', 'SCHEDULE']);
    expect([outcomes, lookAt, plannedUntil]).toEqual([[{ kind: 'scheduled' }], now + hour, now + hour]);
  });

  test('leaves the one that is planned, and takes back one of another schedule', () => {
    expect(plan({ pendingTasks: [waiting(-1)] })).toMatchObject({ create: [], drop: [] });
    const other = waiting(-0.5);
    expect(plan({ pendingTasks: [other] })).toMatchObject({ drop: [other.pendingTaskId.id] });
  });

  test('moves what waits under an old deploy to the new one', () => {
    const old = waiting(1, { buffered: true }, 'd0');
    const { create, drop } = plan({ pendingTasks: [old], entries: [entry({ pendingType: 'NEW_DEPLOY' })] });
    expect([drop, hoursOf(create)]).toEqual([[old.pendingTaskId.id], [-1, 1]]);
    expect(create.map(({ pendingTaskId, buffered }) => [pendingTaskId.deployId, buffered])).toEqual([
      ['d1', true],
      ['d1', undefined],
    ]);
  });

  test('makes a run that a caller asked for beside those of the schedule', () => {
    const { create } = plan({
      entries: [entry({ pendingType: 'IMMEDIATE', runId: 'now' })],
      pendingTasks: [waiting(-1)],
    });
    expect(create.map(({ runId, trigger }) => [runId, trigger])).toEqual([['now', undefined]]);
  });

  test('plans nothing for a request that may not run, or has no deploy', () => {
    const obsolete = { kind: 'obsolete', why: 'REQUEST_NOT_RUNNABLE' };
    expect(plan({ state: 'PAUSED', entries: [entry()], plannedUntil: 5 })).toMatchObject({
      outcomes: [obsolete],
      create: [],
      plannedUntil: 5,
    });
    expect(plan({ entries: [entry({ deployId: 'd0' })] }).outcomes).toEqual([
      { ...obsolete, why: 'DEPLOY_NOT_IN_USE' },
    ]);
  });

  test('finishes a request without a further time, once nothing of it waits', () => {
    const members = { endAt: now };
    expect(plan({ members }).finishes).toBe(true);
    expect(plan({ members, pendingTasks: [waiting(0)] }).finishes).toBe(false);
    expect(plan({ members: { maxRuns: 3 }, startedRuns: 3 }).finishes).toBe(true);
    expect(plan({ members: { maxRuns: 3 }, startedRuns: 2 })).toMatchObject({ finishes: false, create: [{}] });
  });

  test('looks at the next time while the last run of maxRuns waits, which may be for a newer one', () => {
    const members: Partial<Request> = { maxRuns: 1, overlapPolicy: 'SKIP', missedRuns: { policy: 'LAST' } };
    expect(plan({ members, pendingTasks: [waiting(0)], plannedUntil: now }).lookAt).toBe(now + hour);
  });

  test('finds the last time of a busy schedule that has been silent since', () => {
    // Every five seconds until three hours ago: more times than are looked at one by one.
    const members: Partial<Request> = {
      quartzSchedule: '0/5 * 1-8 * * ?',
      schedule: undefined,
      scheduleType: 'QUARTZ',
      missedRuns: { policy: 'LAST' },
    };
    const { create } = plan({ members, plannedUntil: now - 12 * hour });
    expect(create.map(({ scheduledAt }) => new Date(scheduledAt!).toISOString())).toContain('2026-01-05T08:59:55.000Z');
  });
  test('finds the last of tens of thousands of times, and the last one of long ago', () => {
    const members = { schedule: undefined, quartzSchedule: '* * * * * ?' };
    const second = plan({ members, plannedUntil: now - 24 * hour });
    expect(second.create.filter(({ scheduledAt }) => scheduledAt! < now - 60_000)).toEqual([]);
    const yearly = plan({ members: { schedule: '0 0 1 1 *' }, plannedUntil: now - 1_000 * hour });
    expect(hoursOf(yearly.create)[0]).toBe(-108);
  });
});

describe('times that passed without a leader', () => {
  // Hours at which nothing starts; it is noon.
  const exclusions = [{ from: now - 2.5 * hour, to: now - 0.5 * hour }];
  test.each<[string, Partial<Request>, number[]]>([
    ['get one run, for the newest that is not excluded', {}, [-3, 1]],
    ['get one for the newest in an exclusion with LAST', { missedRuns: { policy: 'LAST' } }, [-1, 1]],
    ['get none with SKIP', { missedRuns: { policy: 'SKIP' } }, [1]],
  ])('%s', (_name, members, expected) => {
    const schedule = '0 0-11,13 * * *';
    const { create, drop } = plan({
      members: { schedule, exclusions, ...members },
      plannedUntil: now - 5 * hour,
      pendingTasks: [waiting(5)],
    });
    expect(hoursOf(create)).toEqual(expected);
    expect(drop).toEqual([waiting(5).pendingTaskId.id]);
  });
});

describe('times that passed in a pause', () => {
  const paused = { plannedUntil: now - 4.5 * hour, entries: [entry({ pendingType: 'UNPAUSED' })] };
  test.each<[string, Partial<Request>, number[]]>([
    ['get no run by themselves', { overlapPolicy: 'ALLOW', instances: 9 }, [1]],
    ['nor with BUFFER_ALL', { overlapPolicy: 'BUFFER_ALL' }, [1]],
    ['get one by LAST', { missedRuns: { policy: 'LAST' } }, [0, 1]],
    ['get each by ALL', { missedRuns: { policy: 'ALL' } }, [-4, -3, -2, -1, 0, 1]],
  ])('%s', (_name, members, expected) => {
    expect(hoursOf(plan({ ...paused, members }).create)).toEqual(expected);
  });

  test.each<[string, Partial<Request>, boolean]>([
    ['goes', {}, true],
    ['goes for a newer one with LAST', { missedRuns: { policy: 'LAST' } }, true],
    ['stays with ALL', { missedRuns: { policy: 'ALL' } }, false],
  ])('the run of one that was planned before the pause %s', (_name, more, goes) => {
    const late = waiting(1);
    const members: Partial<Request> = { overlapPolicy: 'ALLOW', instances: 9, ...more };
    const { drop } = plan({ ...paused, plannedUntil: now - hour, pendingTasks: [late], members });
    expect(drop).toEqual(goes ? [late.pendingTaskId.id] : []);
  });

  test('get no run by one that waits for the end of another', () => {
    const late = waiting(1, { buffered: true });
    expect(plan({ ...paused, plannedUntil: now, pendingTasks: [late] }).drop).toEqual([late.pendingTaskId.id]);
  });

  test.each<[string, Partial<Request>, number[]]>([
    ['are made up for by ALL, those that had waited as well', { missedRuns: { policy: 'ALL' } }, [-2, -1, 0, 1]],
    ['are left out by SKIP, those that had waited as well', { missedRuns: { policy: 'SKIP' } }, [0, 1]],
    ['get one by LAST, for the newest', { missedRuns: { policy: 'LAST' } }, [0, 1]],
  ])('that no leader saw %s', (_name, members, expected) => {
    const late = waiting(2, { buffered: true });
    const { create, drop } = plan({ ...paused, plannedUntil: now - 2 * hour - 1, pendingTasks: [late], members });
    expect(hoursOf(create)).toEqual(expected);
    expect(drop).toEqual([late.pendingTaskId.id]);
  });

  test('get one late run where the leader was away after its end', () => {
    const entries = [entry({ pendingType: 'UNPAUSED', timestamp: now - 2.5 * hour })];
    expect(hoursOf(plan({ ...paused, entries }).create)).toEqual([0, 1]);
    expect(hoursOf(plan({ ...paused, entries, members: { schedule: '30 * * * *' } }).create)).toEqual([-0.5, 0.5]);
  });
});

describe('times of a busy schedule that passed in a pause', () => {
  const second = 1_000;
  const secondsOf = (tasks: readonly PendingTask[]): number[] =>
    tasks.filter(({ scheduledAt }) => scheduledAt! <= now).map(({ scheduledAt }) => (scheduledAt! - now) / second);
  const busy = (members: Partial<Request>, pausedSeconds: number, each = 5) =>
    plan({
      members: { schedule: undefined, quartzSchedule: `0/${each} * * * * ?`, overlapPolicy: 'SKIP', ...members },
      plannedUntil: now - pausedSeconds * second,
      entries: [entry({ pendingType: 'UNPAUSED' })],
    });
  test.each<[string, Partial<Request>, number, number[]]>([
    ['of half a minute get one run, for the newest, by LAST', { missedRuns: { policy: 'LAST' } }, 30, [0]],
    ['of half a minute get one run, for the newest, by SKIP', { missedRuns: { policy: 'SKIP' } }, 30, [0]],
    ['of minutes get one run, for the newest', { missedRuns: { policy: 'LAST' } }, 75, [0]],
    [
      'get one for the newest within withinMillis',
      { missedRuns: { policy: 'LAST', withinMillis: 10 * second }, endAt: now - 4 * second },
      75,
      [-5],
    ],
    ['end with endAt, which gets the run', { missedRuns: { policy: 'LAST' }, endAt: now - 25 * second }, 50, [-25]],
    ['get each a run by ALL', { missedRuns: { policy: 'ALL' } }, 20, [-15, -10, -5, 0]],
  ])('%s', (_name, members, pausedSeconds, expected) => {
    expect(secondsOf(busy(members, pausedSeconds).create)).toEqual(expected);
  });

  test.each([
    [120, 20],
    [3_000, 2_900],
    // More are not counted one by one.
    [90_000, 3_900],
  ])('of %d seconds get 100 runs by ALL, the newest, and %d are told as skipped', (seconds, skipped) => {
    const found = busy({ missedRuns: { policy: 'ALL' } }, seconds, 1);
    expect(secondsOf(found.create)).toEqual(Array.from({ length: 100 }, (_, index) => index - 99));
    expect(found.skipped).toBe(skipped);
  });
});

test('of several times that wait for machines, one is looked at again when it is missed', () => {
  const members: Partial<Request> = { overlapPolicy: 'ALLOW', instances: 2, endAt: now - 1 };
  const [old, newer] = [waiting(50 / 3_600), waiting(40 / 3_600)];
  expect(plan({ members, pendingTasks: [old, newer] })).toMatchObject({ drop: [], lookAt: now + 10_001 });
  const [missed, onTime] = [waiting(61 / 3_600), waiting(51 / 3_600)];
  expect(plan({ members, pendingTasks: [missed, onTime] }).drop).toEqual([missed.pendingTaskId.id]);
});

describe('a run that REPLACE ends', () => {
  test.each<[string, Partial<ActiveTask>, number]>([
    ['goes on', {}, 1],
    ['goes on through a pause', { cleaning: 'PAUSING' }, 1],
    ['is left to its end on a machine that is decommissioned', { cleaning: 'DECOMISSIONING' }, 1],
    ['was told before', { cleaning: 'REPLACED_BY_NEXT_RUN' }, 0],
    ['is killed for another reason', { cleaning: 'USER_REQUESTED' }, 0],
    ['is being killed', { cleaning: 'PAUSING', killed: true }, 0],
  ])('%s', (_name, more, ends) => {
    const members: Partial<Request> = { overlapPolicy: 'REPLACE' };
    const { end } = plan({ members, tasks: [active('TASK_DONE', more)], pendingTasks: [waiting(0)] });
    expect(end).toHaveLength(ends);
  });
});

describe('a run that is to be tried again', () => {
  const due = waiting(0);
  const retry = waiting(-1, { trigger: 'RETRY' });
  retry.pendingTaskId.pendingType = 'RETRY';
  const retried = entry({ pendingType: 'RETRY', trigger: 'RETRY', runAt: now + hour });

  test('goes before the next time that waits', () => {
    const { buffer, drop } = plan({ pendingTasks: [retry, due] });
    expect([buffer, drop]).toEqual([[due.pendingTaskId.id], []]);
  });

  test('is replaced by the next time, also while it waits', () => {
    const members: Partial<Request> = { overlapPolicy: 'REPLACE' };
    const { buffer, drop, end } = plan({ members, pendingTasks: [retry, due] });
    expect([buffer, drop, end]).toEqual([[], [retry.pendingTaskId.id], []]);
    const asked = plan({ members, pendingTasks: [due], entries: [retried] });
    expect(asked.create.map(({ trigger }) => trigger)).toEqual(['SCHEDULE']);
    expect(plan({ members, entries: [retried] }).create.map(({ trigger }) => trigger)).toEqual(['RETRY', 'SCHEDULE']);
  });
});

test('each run begins a flow of its own where others follow its request', () => {
  let made = 0;
  const ids = (given: Given) => {
    const { create } = plan({ ...given, newFlowId: () => `flow ${++made}` });
    return create.map(({ flowId }) => flowId);
  };
  expect(ids({})).toEqual(['flow 1']);
  expect(ids({ plannedUntil: now - hour })).toEqual(['flow 2', 'flow 3']);
  const now1 = entry({ pendingType: 'IMMEDIATE', triggersFollowers: false });
  const again = entry({ pendingType: 'RETRY', flowId: 'known' });
  expect(ids({ entries: [now1, again], pendingTasks: [waiting(-1)] })).toEqual([undefined, 'known']);
});

describe('runs for times of the past go beside those of the schedule', () => {
  const due = waiting(0);
  const looks = (members: Partial<Request>, given: Pick<Given, 'tasks' | 'pendingTasks'>) => {
    const { buffer, drop, end, skipped } = plan({ members, ...given, plannedUntil: now });
    return { waits: buffer.length, dropped: drop.length, ended: end.length, skipped };
  };
  const free = { waits: 0, dropped: 0, ended: 0, skipped: 0 };
  const past = waiting(5, { trigger: 'BACKFILL' });
  past.pendingTaskId.pendingType = 'BACKFILL';
  test.each<Partial<Request>>([
    { overlapPolicy: 'SKIP', missedRuns: { policy: 'ALL' } },
    { overlapPolicy: 'ALLOW', instances: 1 },
    { overlapPolicy: 'BUFFER_ONE' },
    { overlapPolicy: 'BUFFER_ALL' },
    { overlapPolicy: 'REPLACE' },
  ])('$overlapPolicy', (members) => {
    expect(looks(members, { tasks: [active('BACKFILL')], pendingTasks: [due] })).toEqual(free);
    expect(looks(members, { pendingTasks: [past, due] })).toEqual(free);
    expect(looks(members, { tasks: [active('TASK_DONE')], pendingTasks: [due] })).not.toEqual(free);
  });

  test('REPLACE ends the run of the schedule alone', () => {
    const [own, beside] = [active('TASK_DONE'), active('BACKFILL')];
    const { end } = plan({ members: { overlapPolicy: 'REPLACE' }, tasks: [beside, own], pendingTasks: [due] });
    expect(end).toEqual([own.taskId]);
  });

  test('the request has not finished before they have ended', () => {
    const members = { endAt: now };
    expect(plan({ members, tasks: [active('BACKFILL')] }).finishes).toBe(false);
    expect(plan({ members, pendingTasks: [past] }).finishes).toBe(false);
  });
});
