import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { lawSettings } from '../../../test/support/law-settings.js';
import { missedRunPolicies, overlapPolicies } from '../model/enums.js';
import type { PendingRequest, PendingTask } from '../model/task.js';
import type { Request, TimeWindow } from '../model/request.js';
import {
  exclusionAt,
  nextRun,
  readSchedule,
  readTimetable,
  runsAtOnce,
  type ScheduleSpec,
} from '../schedules/index.js';
import { timingProblems } from '../request-validation/index.js';
import { type ActiveTask, planRuns } from './index.js';

/*
 * Each planned time has exactly the run that the policies of its request say: a scheduler that dies and comes back, on one side, and
 * on the other side a list of times that is gone through once.
 */

const minute = 60_000;
const hour = 60 * minute;
const graceMillis = 20_000;

interface Case {
  request: Request;
  from: number;
  to: number;
  /** Times without a leader, in their order. */
  absences: readonly { from: number; to: number }[];
  /** Run times, by turns of the planned minute. */
  runMillis: readonly number[];
}
/** A run: its planned time, its start, and when it ends. */
interface Run {
  at: number;
  start: number;
  end: number;
}

const lengthOf = ({ runMillis }: Case, at: number): number => runMillis[Math.floor(at / minute) % runMillis.length]!;

/** The scheduler: looks when it has to, dies, and goes on with what is stored. */
function simulate(given: Case): Run[] {
  const { request, from, to, absences } = given;
  const timetable = readTimetable(request);
  if ('errors' in timetable) throw new Error('cannot be read');
  const runs: Run[] = [];
  let [rows, plannedUntil, lookAt, startedRuns, isFinished] = [
    [] as PendingTask[],
    undefined as number | undefined,
    undefined as number | undefined,
    0,
    false,
  ];
  const done = (timestamp: number): PendingRequest => ({
    requestId: request.id,
    deployId: 'd',
    timestamp,
    pendingType: 'TASK_DONE',
  });
  let entries = [done(from)];
  let active: Run[] = [];
  const look = (now: number): void => {
    const plan = planRuns(
      {
        request: { request, state: 'ACTIVE', activeDeployId: 'd', startedRuns },
        entries,
        tasks: active.map((run) => activeTask(request, run)),
        pendingTasks: rows,
        plannedUntil,
        failingFast: false,
      },
      0,
      now,
    );
    entries = [];
    ({ plannedUntil, lookAt, finishes: isFinished } = plan);
    rows = rows
      .filter(({ pendingTaskId }) => !plan.drop.includes(pendingTaskId.id))
      .map((row) => (plan.buffer.includes(row.pendingTaskId.id) ? { ...row, buffered: true } : row))
      .concat(plan.create);
    for (const run of active) {
      if (plan.end.some(({ startedAt }) => startedAt === run.start)) run.end = Math.min(run.end, now + graceMillis);
    }
  };
  const place = (now: number): void => {
    if (exclusionAt(timetable, now)) return;
    for (const row of rows.toSorted((a, b) => a.pendingTaskId.nextRunAt - b.pendingTaskId.nextRunAt)) {
      if (row.pendingTaskId.nextRunAt > now || active.length >= runsAtOnce(request)) return;
      const at = row.scheduledAt!;
      const run = { at, start: now, end: now + lengthOf(given, at) };
      rows = rows.filter((other) => other !== row);
      active.push(run);
      runs.push(run);
      startedRuns += 1;
    }
  };
  for (let now = from; now <= to && !isFinished;) {
    const away = absences.find((absence) => absence.from <= now && now < absence.to);
    if (away) {
      now = away.to;
      continue;
    }
    const ended = active.filter(({ end }) => end <= now);
    active = active.filter(({ end }) => end > now);
    entries.push(...ended.map(({ end }) => done(end)));
    if (entries.length > 0 || (lookAt !== undefined && lookAt <= now)) look(now);
    place(now);
    const times = [
      ...active.map(({ end }) => end),
      ...rows.map(({ pendingTaskId }) => pendingTaskId.nextRunAt),
      ...absences.map((absence) => absence.from),
      lookAt ?? to + 1,
      exclusionAt(timetable, now)?.until ?? to + 1,
    ];
    now = Math.min(...times.filter((time) => time > now), to + 1);
  }
  return runs;
}

function activeTask({ id }: Request, { start, end }: Run): ActiveTask {
  const place = { host: '', sanitizedHost: '', rackId: '', sanitizedRackId: '' };
  const taskId = { requestId: id, deployId: 'd', startedAt: start, instanceNo: 1, ...place, id: `${start}` };
  return { taskId, slaveId: '', rackId: '', killed: false, cleaning: end === start ? 'PAUSE' : undefined };
}

/** All times of a schedule in order, moved by the offset, as the page on schedules says them. */
function namedTimes({ request, from, to }: Case): number[] {
  const timetable = readTimetable(request);
  if ('errors' in timetable) throw new Error('cannot be read');
  const found = new Set<number>();
  for (const schedule of timetable.schedules) {
    for (const at of hits(schedule, from - timetable.offsetMillis, to)) found.add(at + timetable.offsetMillis);
  }
  const { startAt = 0, endAt = to } = request;
  return [...found].filter((at) => at > from && at >= startAt && at <= endAt && at <= to).toSorted((a, b) => a - b);
}

function hits(schedule: ScheduleSpec, from: number, to: number): number[] {
  const found: number[] = [];
  for (let at = nextRun(schedule, from); at !== undefined && at <= to; at = nextRun(schedule, at)) found.push(at);
  return found;
}

/** The windows in which nothing starts, each with its begin and its end. */
function windows({ request, from, to }: Case): [number, number][] {
  return (request.exclusions ?? []).flatMap(({ schedule, durationMillis, from: begin, to: end }: TimeWindow) => {
    if (schedule === undefined) return [[begin!, end!] satisfies [number, number]];
    const read = readSchedule({ schedule, scheduleTimeZone: request.scheduleTimeZone });
    if ('errors' in read) throw new Error('cannot be read');
    const begins = hits(read, from - 2 * durationMillis!, to);
    return begins.map((at): [number, number] => [at, at + durationMillis!]);
  });
}

interface Waiting {
  at: number;
  unseen: boolean;
  /** It waits for the end of another run. */
  kept: boolean;
  /** It comes before those that are in time. */
  isFirst: boolean;
  excluded: boolean;
}

/** The runs that the page on schedules promises. */
function promised(given: Case): Run[] {
  const { request, from, to, absences } = given;
  const { overlapPolicy = 'SKIP', missedRuns, maxRuns = Number.POSITIVE_INFINITY } = request;
  const named = namedTimes(given);
  const closed = windows(given);
  const slots = overlapPolicy === 'ALLOW' ? request.instances! : 1;
  const within = missedRuns?.withinMillis ?? (missedRuns?.policy === 'SKIP' ? minute : Number.POSITIVE_INFINITY);
  const lateAfter = missedRuns?.policy === 'SKIP' ? within : Math.min(within, minute);
  const makesUpExcluded = missedRuns !== undefined && missedRuns.policy !== 'SKIP';
  const closedUntil = (at: number): number =>
    Math.max(0, ...closed.filter(([begin, end]) => begin <= at && at < end).map(([, end]) => end));
  /** Windows that overlap or touch end together. */
  const lastClose = (at: number): number => {
    let end = closedUntil(at);
    while (closedUntil(end) > end) end = closedUntil(end);
    return end;
  };
  // The first time without a leader was planned before.
  const isUnseen = (at: number): boolean =>
    absences.some(
      (one) =>
        one.from <= at &&
        at < one.to &&
        named.some((other) => one.from <= other && other < at && closedUntil(other) <= other),
    );
  const runs: Run[] = [];
  let waiting: Waiting[] = [];
  let seen = 0;
  const moments = new Set([...named, ...absences.map((one) => one.to), ...closed.map(([, end]) => end)]);
  for (const at of named) moments.add(at + within + 1);
  const queue = [...moments].filter((time) => time > from && time <= to);
  for (;;) {
    const now = Math.min(...queue);
    if (now > to) return runs;
    queue.splice(0, queue.length, ...queue.filter((time) => time > now));
    if (absences.some((one) => one.from <= now && now < one.to)) continue;
    const active = runs.filter(({ end }) => end > now);
    while (seen < named.length && named[seen]! <= now) {
      const at = named[seen]!;
      const excluded = closedUntil(at) > at;
      if (excluded && makesUpExcluded && lastClose(at) > now) break;
      seen += 1;
      if (!excluded || makesUpExcluded)
        waiting.push({ at, kept: false, isFirst: false, excluded, unseen: excluded || isUnseen(at) });
    }
    const isIdle = active.length < slots;
    const isEach = missedRuns?.policy === 'ALL';
    const all = isEach && (isIdle || overlapPolicy === 'BUFFER_ALL') && waiting.some(({ unseen }) => unseen);
    const isLate = ({ at, kept, excluded }: Waiting): boolean => !kept && (excluded || now - at > lateAfter || all);
    const fresh = waiting.filter((one) => !one.kept && !isLate(one));
    const late = waiting.filter((one) => isLate(one) && now - one.at <= within);
    const made = isEach ? late.slice(-100 + waiting.filter(({ kept }) => kept).length) : [];
    for (const one of waiting) one.isFirst = one.kept || made.includes(one);
    const lastOne =
      isEach || missedRuns?.policy === 'SKIP'
        ? undefined
        : waiting.findLast((one) => fresh.includes(one) || late.includes(one));
    waiting = waiting.filter((one) => one.isFirst || fresh.includes(one) || one === lastOne);
    for (const one of waiting) one.unseen = false;
    let free = Math.max(0, slots - active.length);
    if (overlapPolicy === 'REPLACE') {
      waiting = waiting.slice(-1);
      if (waiting.length > 0 && free === 0 && runs.length < maxRuns) {
        for (const run of active) run.end = Math.min(run.end, now + graceMillis);
        queue.push(...active.map(({ end }) => end));
        waiting[0]!.kept = true;
      }
    } else {
      const more = { SKIP: 0, ALLOW: 0, BUFFER_ONE: 1, BUFFER_ALL: 100 }[overlapPolicy];
      const before = waiting.filter(({ isFirst }) => isFirst).length;
      const room = Math.max(0, free + more - before);
      const others = waiting.filter(({ isFirst }) => !isFirst);
      const chosen = isEach ? others.slice(0, room) : others.slice(Math.max(0, others.length - room));
      waiting = waiting.filter((one) => one.isFirst || chosen.includes(one));
      for (const [index, one] of waiting.entries()) if (index >= free) one.kept = true;
    }
    waiting = waiting.slice(0, Math.max(0, maxRuns - runs.length));
    while (free > 0 && waiting.length > 0 && closedUntil(now) <= now) {
      const { at } = waiting.shift()!;
      const run = { at, start: now, end: now + lengthOf(given, at) };
      runs.push(run);
      queue.push(run.end);
      free -= 1;
    }
  }
}

const cases: fc.Arbitrary<Case> = fc
  .record({
    zone: fc.constantFrom('Europe/Paris', 'America/New_York', 'Australia/Lord_Howe'),
    begin: fc.constantFrom(
      '2026-03-07T05:00:00Z',
      '2026-03-28T20:00:00Z',
      '2026-04-04T05:00:00Z',
      '2026-10-24T20:00:00Z',
    ),
    schedules: fc.uniqueArray(
      fc.constantFrom('*/30 * * * *', '0 * * * *', '30 2 * * *', '15 */3 * * *', '0 1-4 * * *'),
      {
        minLength: 1,
        maxLength: 2,
      },
    ),
    overlapPolicy: fc.constantFrom(...overlapPolicies),
    policy: fc.option(fc.constantFrom(...missedRunPolicies), { nil: undefined }),
    withinMillis: fc.option(fc.constantFrom(30_000, 20 * minute, 3 * hour), { nil: undefined }),
    jitter: fc.option(fc.constantFrom(10_000, 2 * hour), { nil: undefined }),
    instances: fc.integer({ min: 2, max: 3 }),
    maxRuns: fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined }),
    exclusion: fc.option(
      fc.record({ hour: fc.integer({ min: 0, max: 23 }), durationMillis: fc.constantFrom(45 * minute, 5 * hour) }),
      { nil: undefined },
    ),
    absences: fc.array(
      fc.record({ after: fc.integer({ min: 1, max: 20 * 60 }), length: fc.integer({ min: 1, max: 600 }) }),
      { maxLength: 4 },
    ),
    runMillis: fc.array(fc.integer({ min: 1, max: 150 }), { minLength: 1, maxLength: 4 }),
    id: fc.stringMatching(/^[a-z]{1,8}$/),
  })
  .map((drawn): Case => {
    const from = Date.parse(drawn.begin) + 7;
    let time = from;
    const absences = drawn.absences.map(({ after, length }) => {
      const begin = time + after * minute + 11;
      time = begin + length * 10_000;
      return { from: begin, to: time };
    });
    const { exclusion, policy, withinMillis } = drawn;
    const request: Request = {
      id: drawn.id,
      requestType: 'SCHEDULED',
      scheduleTimeZone: drawn.zone,
      schedules: drawn.schedules.map((schedule) => ({ schedule })),
      overlapPolicy: drawn.overlapPolicy,
      missedRuns: policy && { policy, withinMillis },
      scheduleJitterMillis: drawn.jitter,
      instances: drawn.overlapPolicy === 'ALLOW' ? drawn.instances : undefined,
      maxRuns: drawn.maxRuns,
      exclusions: exclusion && [{ schedule: `0 ${exclusion.hour} * * *`, durationMillis: exclusion.durationMillis }],
    };
    return { request, from, to: from + 60 * hour, absences, runMillis: drawn.runMillis.map((n) => n * 60_013) };
  })
  .filter(
    ({ request, from }) =>
      (request.overlapPolicy !== 'SKIP' || request.missedRuns !== undefined) &&
      timingProblems(request, { now: from }).length === 0,
  );

const shown = (runs: readonly Run[], { from }: Case): string[] =>
  runs.map(
    ({ at, start, end }) => `${(at - from) / minute} starts ${(start - from) / minute} ends ${(end - from) / minute}`,
  );

describe('each planned time', () => {
  test(
    'has exactly the run that the policies of its request say, whenever the leader dies',
    () =>
      fc.assert(
        fc.property(cases, (given) => {
          expect(shown(simulate(given), given)).toEqual(shown(promised(given), given));
        }),
        { numRuns: 200 * lawSettings.share },
      ),
    120_000,
  );
});
