import type { TaskState } from 'muster-client';

/** What became of a time of a schedule, or of a run beside it; the worst first. */
export const kinds = ['failed', 'skipped', 'late', 'running', 'done', 'planned'] as const;
export type Kind = (typeof kinds)[number];

export interface Window {
  readonly from: number;
  readonly to: number;
}

/** A time in a lane. */
export interface Mark {
  readonly at: number;
  readonly kind: Kind;
  readonly text: string;
  readonly taskId?: string;
}

/** A run as the history and the active lists have it. */
export interface Run {
  readonly taskId: string;
  readonly startedAt: number;
  /** Absent: it runs. */
  readonly ended?: { readonly at: number; readonly state: TaskState | undefined };
}

/** The planned times of each request, and the zones of the schedules that name them, in their order. */
export function timesOf(runs: readonly { requestId: string; at: number; timeZone: string }[]) {
  const times = new Map<string, { readonly zones: Set<string>; readonly at: number[] }>();
  for (const { requestId, at, timeZone } of runs) {
    const found = times.get(requestId) ?? { zones: new Set<string>(), at: [] };
    found.at.push(at);
    found.zones.add(timeZone);
    times.set(requestId, found);
  }
  return times;
}

/** A run that begins later than this after its time is late; until then a time that has come may still get its run. */
const LATE_MS = 60_000;

/**
 * The marks of one request: its planned times, those that have passed with the run that followed before the next time. A time without
 * one was skipped, as it is while a run is active. Runs that belong to no time, such as those that people asked for, are marks, too.
 * `waits`: a time keeps its run however long the ones before it take, so runs follow times in their order.
 */
export function marksOf(planned: readonly number[], runs: readonly Run[], now: number, waits = false): readonly Mark[] {
  const inOrder = [...runs].sort((a, b) => a.startedAt - b.startedAt);
  const marks: Mark[] = [];
  let next = 0;
  const times = [...planned].sort((a, b) => a - b);
  for (const [index, at] of times.entries()) {
    while (next < inOrder.length && inOrder[next]!.startedAt < at) marks.push(markOf(inOrder[next++]!));
    const run = inOrder[next];
    const until = (waits ? undefined : times[index + 1]) ?? Number.POSITIVE_INFINITY;
    if (run && run.startedAt < until) {
      marks.push(markOf(run, at));
      next++;
    } else if (at > now - LATE_MS) {
      marks.push({ at, kind: 'planned', text: 'planned' });
    } else {
      const busy = inOrder.some(({ startedAt, ended }) => startedAt < at && (ended?.at ?? now) > at);
      marks.push({ at, kind: 'skipped', text: busy ? 'no run: another one was active' : 'no run' });
    }
  }
  for (const run of inOrder.slice(next)) marks.push(markOf(run));
  return marks.sort((a, b) => a.at - b.at);
}

function markOf({ taskId, startedAt, ended }: Run, planned?: number): Mark {
  const late = planned === undefined ? 0 : startedAt - planned;
  const lateText = late > LATE_MS ? `, began ${Math.round(late / 1_000)} s late` : '';
  const mark = (kind: Kind, text: string): Mark => ({ at: startedAt, kind, text: text + lateText, taskId });
  if (ended && ended.state !== 'TASK_FINISHED' && ended.state !== 'TASK_KILLED') return mark('failed', 'failed');
  if (late > LATE_MS) return mark('late', ended ? 'ended' : 'runs');
  return ended ? mark('done', ended.state === 'TASK_KILLED' ? 'killed' : 'finished') : mark('running', 'runs');
}

/** Marks that lie too near to each other to be told apart. */
export interface Cluster {
  readonly from: number;
  readonly marks: readonly Mark[];
  /** The worst of them. */
  readonly kind: Kind;
}

export function clustered(marks: readonly Mark[], from: number, widthMs: number): readonly Cluster[] {
  const slots = new Map<number, Mark[]>();
  for (const mark of marks) {
    const slot = Math.floor((mark.at - from) / widthMs);
    const present = slots.get(slot);
    if (present) present.push(mark);
    else slots.set(slot, [mark]);
  }
  return [...slots.values()].map((together) => ({
    from: together[0]!.at,
    marks: together,
    kind: kinds.find((kind) => together.some((mark) => mark.kind === kind))!,
  }));
}

/** How many runs of a lane are of which kind: "12 planned, 3 done". */
export function summary(marks: readonly Mark[]): string {
  const counts = kinds.map((kind) => [kind, marks.filter((mark) => mark.kind === kind).length] as const);
  const told = counts.filter(([, count]) => count > 0).map(([kind, count]) => `${count} ${kind}`);
  return told.length > 0 ? told.join(', ') : 'nothing';
}

export interface Crowd {
  readonly at: number;
  readonly runs: number;
}

const MINUTE_MS = 60_000;

/** How many runs begin in each minute that has any, the fullest first. */
export function crowds(times: readonly number[]): readonly Crowd[] {
  const perMinute = new Map<number, number>();
  for (const time of times) {
    const minute = Math.floor(time / MINUTE_MS) * MINUTE_MS;
    perMinute.set(minute, (perMinute.get(minute) ?? 0) + 1);
  }
  return [...perMinute].map(([at, runs]) => ({ at, runs })).sort((a, b) => b.runs - a.runs || a.at - b.at);
}

/** The fullest minute of each of `count` equal parts of the window. */
export function crowding(minutes: readonly Crowd[], from: number, to: number, count: number): readonly number[] {
  const parts = Array.from({ length: count }, () => 0);
  for (const { at, runs } of minutes) {
    const part = Math.min(count - 1, Math.max(0, Math.floor(((at - from) / (to - from)) * count)));
    parts[part] = Math.max(parts[part]!, runs);
  }
  return parts;
}
