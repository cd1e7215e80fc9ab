import type { Api } from '../e2e/support/api.js';
import type { TaskIdHistory } from '../../src/core/model/task.js';
import type { Killed } from './faults.js';
import { type Load, type Run, secondsOfCron, type Service } from './load.js';
import { type Mark, placeOf, type Records, uptime } from './records.js';
import type { ProcessWatch } from './watch.js';

/** A start that takes longer, outside of faults, is late. */
const lateSeconds = 10;
/** Until a run that was accepted has written its first line. */
const launchSeconds = 30;
/** Between two processes of one instance of a service that nobody touches: the time in which the one too many is found and ended. */
const overlapSeconds = 30;
/** After an operation both generations of an instance run until the younger one is healthy and the older one has had its grace. */
const operationSeconds = 120;
/** Until the watch on processes has seen what a fault has ended. */
const seenSeconds = 5;
/** Between the end that a task has written down and the one that the API tells. */
const toldSeconds = 30;
/** After a clock was set right, runs that were planned by the wrong one. */
const afterClockSeconds = 15;
const pageSize = 1_000;

/** Uptimes. */
export interface Window {
  fault: string;
  from: number;
  until: number;
  /** Time at which runs were accepted and started again. */
  recovered: number;
  killed: Killed;
  setsClocks: boolean;
}

/** Faults that were found, each as a sentence; `figures` are numbers of the same. */
export interface Verdict {
  acknowledged: number;
  lost: string[];
  doubled: string[];
  late: string[];
  overlaps: string[];
  /** Steady tasks that ended though nothing may have ended them. */
  ended: string[];
  wrongServices: string[];
  /** Statements of the API about runs that are not so. */
  untrue: string[];
}

export const isGood = ({ lost, doubled, overlaps, ended, wrongServices, untrue }: Verdict): boolean =>
  [lost, doubled, overlaps, ended, wrongServices, untrue].every((each) => each.length === 0);

export interface Told {
  /** Ids of tasks that are live by the API. */
  active: string[];
  /** By id, of runs on demand. */
  ended: ReadonlyMap<string, TaskIdHistory>;
}

export async function askApi(api: Api, jobs: number): Promise<Told> {
  const tasks = await api.get<{ taskId: { id: string } }[]>('tasks/active');
  const ended = new Map<string, TaskIdHistory>();
  for (let n = 0; n < jobs; n++) {
    for (let page = 1, more = true; more; page++) {
      const path = `history/request/job${n}/tasks?count=${pageSize}&page=${page}`;
      const found = await api.get<TaskIdHistory[]>(path);
      for (const each of found) ended.set(each.taskId.id, each);
      more = found.length === pageSize;
    }
  }
  return { active: tasks.map(({ taskId }) => taskId.id), ended };
}

/** Judges by what was acknowledged, by what the tasks have written, and by the processes that live. */
export function judge(
  load: Load,
  records: Records,
  watch: ProcessWatch,
  windows: readonly Window[],
  told: Told | undefined,
): Verdict {
  const marks = records.read();
  const startsByRun = group(
    marks.filter(({ what, run }) => what === 'start' && run !== '-'),
    ({ run }) => run,
  );
  const endedTasks = new Set(marks.filter(({ what }) => what === 'end').map(({ taskId }) => taskId));
  /** A fault has killed what began and ended then. */
  const wasKilled = (taskId: string, from: number, until: number): boolean =>
    windows.some(
      (each) =>
        each.killed.taskIds.has(taskId) ||
        (each.killed.all && from < each.until && until > each.from && until < each.until + seenSeconds),
    );
  /** A fault that kills everything may have met it before it could write a line. */
  const wasAboutToStart = ({ askedAt, answeredAt }: Run): boolean =>
    windows.some(({ killed, from, until }) => killed.all && askedAt < until && answeredAt! + launchSeconds > from);

  const accepted = load.runs.filter(({ answer }) => answer === 'ACCEPTED');
  const lost = accepted
    .filter((run) => !startsByRun.has(run.id) && !wasAboutToStart(run))
    .map(({ id, askedAt }) => `${id}, accepted at ${askedAt.toFixed(0)}, has not started`);
  const doubled = [
    ...[...startsByRun]
      .filter(([, starts]) => starts.length > 1 && !wasInterrupted(starts, endedTasks, windows))
      .map(([run, starts]) => `${run} started ${starts.length} times: ${starts.map(tellStart).join(', ')}`),
    ...load.runs
      .filter(({ id, answer }) => answer === 'REFUSED' && startsByRun.has(id))
      .map(({ id }) => `${id} was refused, and has started`),
    ...startedTwice(marks),
    ...slotsTwice(marks, windows),
  ];
  const late = accepted.flatMap(({ id, answeredAt }) => {
    const at = startsByRun.get(id)?.[0]?.at;
    if (at === undefined || at - answeredAt! <= lateSeconds) return [];
    const isDisturbed = windows.some(({ from, until }) => from < at && until + lateSeconds > answeredAt!);
    return isDisturbed ? [] : [`${id} started ${(at - answeredAt!).toFixed(1)} s after it was accepted`];
  });
  const overlaps = watch.overlaps
    .filter(({ from, until, requestId }) => {
      const service = load.services.find(({ id }) => id === requestId)!;
      return until - from > (service.isSteady ? overlapSeconds : operationSeconds);
    })
    .map(({ place, from, until }) => `${place} had several processes for ${(until - from).toFixed(0)} s`);
  const steady = new Set(load.services.filter(({ isSteady }) => isSteady).map(({ id }) => id));
  const ended = watch.processes
    .filter(
      ({ taskId, startedAt, endedAt }) =>
        endedAt !== undefined && steady.has(placeOf(taskId).requestId) && !wasKilled(taskId, startedAt, endedAt),
    )
    .map(({ taskId, endedAt }) => `${taskId} ended at ${endedAt!.toFixed(0)}, and nobody had asked for it`);
  const untrue = told === undefined ? [] : untruths(marks, told, windows, wasKilled);
  const wrongServices = told === undefined ? [] : load.services.flatMap((each) => wrongnessOf(each, watch, told));
  return { acknowledged: accepted.length, lost, doubled, late, overlaps, ended, wrongServices, untrue };
}

const tellStart = ({ taskId, at }: Mark): string => `${taskId} at ${at.toFixed(1)}`;

type WasKilled = (taskId: string, from: number, until: number) => boolean;

/** All starts but the last were cut short by a fault that kills tasks: the run goes again. */
const wasInterrupted = (
  starts: readonly Mark[],
  endedTasks: ReadonlySet<string>,
  windows: readonly Window[],
): boolean =>
  starts.slice(0, -1).every(({ taskId, at }, n) => {
    const next = starts[n + 1]!.at;
    const isMet = ({ killed, from, until }: Window): boolean => killed.all && at < until && next > from;
    return !endedTasks.has(taskId) && windows.some((each) => each.killed.taskIds.has(taskId) || isMet(each));
  });

/** Runs that have written their end: the API tells that, and when it was. */
function untruths(marks: readonly Mark[], told: Told, windows: readonly Window[], wasKilled: WasKilled): string[] {
  const active = new Set(told.active);
  const epoch = Date.now() / 1_000 - uptime();
  return marks
    .filter(({ what, run }) => what === 'end' && run !== '-')
    .flatMap(({ taskId, at }) => {
      if (active.has(taskId)) return [`${taskId} is live by the API, and has ended`];
      // Between its last line and its last instruction.
      if (wasKilled(taskId, at, at + 1)) return [];
      const is = told.ended.get(taskId);
      if (is?.lastTaskState !== 'TASK_FINISHED')
        return [`${taskId} has ended by itself, and the API tells ${is?.lastTaskState ?? 'nothing'}`];
      const apart = is.updatedAt / 1_000 - epoch - at;
      // A clock that is wrong when the report is taken counts, not when the task ended.
      const isDisturbed = windows.some(
        ({ setsClocks, from, until }) => setsClocks && from - toldSeconds < at && at < until + afterClockSeconds,
      );
      // No end is told before its launch, which a clock that was ahead has put into the future.
      const isLaunchedAhead = is.taskId.startedAt / 1_000 - epoch > at;
      if (isDisturbed || isLaunchedAhead || Math.abs(apart) < toldSeconds) return [];
      return [`${taskId} has ended, and the API tells its end ${apart.toFixed(0)} s off`];
    });
}

/** Runs of a cron job in one of its slots, by the clock of this program; clocks that are wrong have slots of their own. */
function slotsTwice(marks: readonly Mark[], windows: readonly Window[]): string[] {
  const epoch = Date.now() / 1_000 - uptime();
  const starts = marks.filter(({ what, taskId, at }) => {
    const isDisturbed = windows.some(
      ({ setsClocks, killed, from, until }) =>
        (setsClocks || killed.all) && from < at && at < until + afterClockSeconds,
    );
    return what === 'start' && taskId.startsWith('cron') && !isDisturbed;
  });
  const bySlot = group(starts, ({ taskId, at }) => {
    const { requestId } = placeOf(taskId);
    const every = secondsOfCron(Number(requestId.slice('cron'.length)));
    return `${requestId} in the slot ${Math.floor((epoch + at) / every) * every}`;
  });
  return [...bySlot]
    .filter(([, each]) => each.length > 1)
    .map(([slot, each]) => `${slot} started ${each.length} times: ${each.map(tellStart).join(', ')}`);
}

/** Tasks of any kind. */
function startedTwice(marks: readonly Mark[]): string[] {
  const starts = group(
    marks.filter(({ what }) => what === 'start'),
    ({ taskId }) => taskId,
  );
  return [...starts]
    .filter(([, each]) => each.length > 1)
    .map(([taskId, each]) => `task ${taskId} was started ${each.length} times`);
}

function wrongnessOf({ id, instances }: Service, watch: ProcessWatch, { active }: Told): string[] {
  const live = watch.live(id).map(({ taskId }) => taskId);
  const numbers = new Set(live.map((taskId) => placeOf(taskId).instanceNo));
  const byApi = active.filter((taskId) => placeOf(taskId).requestId === id);
  const isRight =
    live.length === instances && numbers.size === instances && byApi.toSorted().join() === live.toSorted().join();
  if (isRight) return [];
  return [`${id} is to have ${instances} instances: ${live.length} processes live, ${byApi.length} tasks by the API`];
}

function group<T>(items: readonly T[], key: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const found = groups.get(key(item));
    if (found) found.push(item);
    else groups.set(key(item), [item]);
  }
  return groups;
}
