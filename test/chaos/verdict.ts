import type { Api } from '../e2e/support/api.js';
import type { Load, Service } from './load.js';
import { type Mark, placeOf, type Records } from './records.js';
import type { ProcessWatch } from './watch.js';

/** A start that takes longer, outside of faults, is late. */
const lateSeconds = 10;
/** Until a run that was accepted has written its first line. */
const launchSeconds = 30;
/** Between two processes of one instance of a service that nobody touches: the time in which the one too many is found and ended. */
const overlapSeconds = 30;
/** After an operation both generations of an instance run until the younger one is healthy and the older one has had its grace. */
const operationSeconds = 120;
/** After a fault that may replace tasks. */
const replacementSeconds = 180;

/** Uptimes. */
export interface Window {
  fault: string;
  from: number;
  until: number;
  replaces: boolean;
  killsTasks: boolean;
}

/** What is wrong, each as a sentence; `figures` are numbers of the same. */
export interface Verdict {
  acknowledged: number;
  lost: string[];
  doubled: string[];
  late: string[];
  overlaps: string[];
  /** Steady tasks that ended though nothing may have ended them. */
  ended: string[];
  wrongServices: string[];
  /** What the API says of runs that is not so. */
  untrue: string[];
}

export const isGood = ({ lost, doubled, overlaps, ended, wrongServices, untrue }: Verdict): boolean =>
  [lost, doubled, overlaps, ended, wrongServices, untrue].every((each) => each.length === 0);

interface Told {
  /** Ids of tasks that are live by the API. */
  active: string[];
}

export async function askApi(api: Api): Promise<Told> {
  const tasks = await api.get<{ taskId: { id: string } }[]>('tasks/active');
  return { active: tasks.map(({ taskId }) => taskId.id) };
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
  const killing = windows.filter(({ killsTasks }) => killsTasks);
  /** The fault has killed it, or what it was about to start. */
  const wasKilled = (from: number, until = Number.POSITIVE_INFINITY): boolean =>
    killing.some((each) => each.from < until && each.until + lateSeconds > from);

  const accepted = load.runs.filter(({ answer }) => answer === 'ACCEPTED');
  const lost = accepted
    .filter(({ id, askedAt, answeredAt }) => !startsByRun.has(id) && !wasKilled(askedAt, answeredAt! + launchSeconds))
    .map(({ id, askedAt }) => `${id}, accepted at ${askedAt.toFixed(0)}, has not started`);
  const doubled = [
    ...[...startsByRun]
      .filter(([, starts]) => starts.length > 1 && !wasInterrupted(starts, endedTasks, wasKilled))
      .map(([run, starts]) => `${run} started ${starts.length} times: ${starts.map(tellStart).join(', ')}`),
    ...load.runs
      .filter(({ id, answer }) => answer === 'REFUSED' && startsByRun.has(id))
      .map(({ id }) => `${id} was refused, and has started`),
    ...startedTwice(marks),
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
  const mayReplace = (at: number): boolean =>
    windows.some(({ replaces, from, until }) => replaces && from <= at && at <= until + replacementSeconds);
  const ended = watch.processes
    .filter(
      ({ taskId, endedAt }) => endedAt !== undefined && steady.has(placeOf(taskId).requestId) && !mayReplace(endedAt),
    )
    .map(({ taskId, endedAt }) => `${taskId} ended at ${endedAt!.toFixed(0)}, and nobody had asked for it`);
  const untrue = (told?.active ?? [])
    .filter((taskId) => endedTasks.has(taskId))
    .map((taskId) => `${taskId} is live by the API, and has ended`);
  const wrongServices = told === undefined ? [] : load.services.flatMap((each) => wrongnessOf(each, watch, told));
  return { acknowledged: accepted.length, lost, doubled, late, overlaps, ended, wrongServices, untrue };
}

const tellStart = ({ taskId, at }: Mark): string => `${taskId} at ${at.toFixed(1)}`;

/** All starts but the last were cut short by a fault that kills tasks: the run goes again. */
const wasInterrupted = (
  starts: readonly Mark[],
  endedTasks: ReadonlySet<string>,
  wasKilled: (from: number, until?: number) => boolean,
): boolean =>
  starts.slice(0, -1).every(({ taskId, at }, n) => !endedTasks.has(taskId) && wasKilled(at, starts[n + 1]!.at));

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
