import type { RequestParent, UpcomingRuns } from 'muster-client';
import { isStatus, muster } from '../../api';
import { useRead } from '../../ui/read';
import { marksOf, timesOf, type Mark, type Run, type Window } from './lanes';

export interface Lane {
  readonly requestId: string;
  /** Zones of its schedules. */
  readonly timeZone: string | undefined;
  readonly marks: readonly Mark[];
}

export interface Past {
  /** By request id. */
  readonly runs: ReadonlyMap<string, readonly Run[]>;
  /** Runs that began before are not known; infinite: none is. */
  readonly knownSince: number;
  /** Only those who may read everything may search all tasks. */
  readonly isRefused?: true;
}

/** Of one call. */
const MOST_RUNS = 10_000;
const MOST_ENDED = 1_000;

export const nothingKnown: Past = { runs: new Map(), knownSince: Number.POSITIVE_INFINITY };

const ofRequest = (requestId: string | undefined) => (requestId === undefined ? {} : { requestId });

export const usePlanned = ({ from, to }: Window, requestId: string | undefined) =>
  useRead(['schedules', from, to, requestId ?? ''], () =>
    muster.requests.upcomingRuns({ from, to, limit: MOST_RUNS, ...ofRequest(requestId) }),
  );

export const usePast = (window: Window, requestId: string | undefined) =>
  useRead(['tasks', 'of-schedules', window.from, window.to, requestId ?? ''], () =>
    pastRuns(window, requestId).catch((cause: unknown): Past => {
      if (isStatus(cause, 403)) return { ...nothingKnown, isRefused: true };
      throw cause;
    }),
  );

async function pastRuns({ from, to }: Window, requestId: string | undefined): Promise<Past> {
  const range = { startedAfter: from, startedBefore: to, count: MOST_ENDED };
  const [ended, active] = await Promise.all([
    requestId === undefined ? muster.history.tasks(range) : muster.history.tasksOfRequest({ ...range, requestId }),
    muster.tasks.activeIds({}),
  ]);
  const all = [
    ...ended.map(({ taskId, lastTaskState: state, updatedAt }) => {
      return { of: taskId.requestId, taskId: taskId.id, startedAt: taskId.startedAt, ended: { at: updatedAt, state } };
    }),
    ...active.map(({ id, requestId: of, startedAt }) => ({ of, taskId: id, startedAt })),
  ];
  const runs = new Map<string, Run[]>();
  for (const { of, ...run } of all) {
    const present = runs.get(of);
    if (present) present.push(run);
    else runs.set(of, [run]);
  }
  const isCut = ended.length === MOST_ENDED;
  return { runs, knownSince: isCut ? Math.min(...ended.map(({ taskId }) => taskId.startedAt)) : 0 };
}

/** A lane for each schedule that asked or asks for a run in this time, in the order of ids. */
export function lanesOf(
  planned: UpcomingRuns,
  past: Past,
  scheduled: ReadonlyMap<string, RequestParent>,
  now: number,
): readonly Lane[] {
  const times = timesOf(planned.runs);
  for (const id of past.runs.keys())
    if (scheduled.has(id) && !times.has(id)) times.set(id, { zones: new Set(), at: [] });
  return [...times]
    .map(([requestId, { zones, at }]): Lane => {
      const timeZone = zones.size > 0 ? [...zones].join(', ') : undefined;
      const known = at.filter((each) => each > Math.min(now, past.knownSince));
      const waits = scheduled.get(requestId)?.request.overlapPolicy === 'BUFFER_ALL';
      const marks = marksOf(known, past.runs.get(requestId) ?? [], now, waits);
      const isShown = (mark: Mark) => mark.at >= planned.from && mark.at < planned.to;
      return { requestId, timeZone, marks: marks.filter(isShown) };
    })
    .filter(({ marks }) => marks.length > 0)
    .sort((a, b) => (a.requestId < b.requestId ? -1 : 1));
}
