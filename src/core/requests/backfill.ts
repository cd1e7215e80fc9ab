import type { FieldError } from '../field-error.js';
import type { Request } from '../model/request.js';
import type { PendingRequest } from '../model/task.js';
import { nextTime, readTimetable } from '../schedules/index.js';
import { type Refusal, refuseEnded, type RequestFacts } from './action-rules.js';

/** WAITING: no run yet; QUEUED: its run waits or is active. The others are for good. */
export const backfillTimeStates = ['WAITING', 'QUEUED', 'SUCCEEDED', 'FAILED', 'CANCELED'] as const;
export type BackfillTimeState = (typeof backfillTimeStates)[number];

export const backfillOrders = ['OLDEST_FIRST', 'NEWEST_FIRST'] as const;
export type BackfillOrder = (typeof backfillOrders)[number];

/** Planned times of the past that a caller wants run. */
export interface BackfillRequest {
  /** Epoch milliseconds; the first of them may be this. */
  from: number;
  /** Before this. */
  to: number;
  concurrency?: number;
  order?: BackfillOrder;
  force?: boolean;
  message?: string;
}

/** May planned times of this request be run now? `isOlder`: clients of version 1.5.0 do not know such runs. */
export function refuseBackfill(
  { request, state, cleanups, deployInUse }: RequestFacts,
  isOlder: boolean,
): Refusal | undefined {
  const refuse = (code: Refusal['code'], what: string): Refusal => ({
    code,
    message: `Request '${request.id}' ${what}`,
  });
  if (request.requestType !== 'SCHEDULED') {
    return refuse('INVALID_REQUEST', `is of type ${request.requestType}; only SCHEDULED requests have planned times`);
  }
  if (isOlder)
    return refuse('INVALID_REQUEST', 'has no backfills: clients of version 1.5 do not know their runs (compatibility)');
  const ended = refuseEnded(request, cleanups.includes('DELETING') ? 'DELETING' : state);
  if (ended) return ended;
  if (state === 'PAUSED') return refuse('REQUEST_PAUSED', 'is paused');
  return deployInUse === undefined ? refuse('NO_DEPLOY', 'has no deploy to run') : undefined;
}

/** More are asked for one after the other. */
export const mostBackfillTimes = 1_000;

/** The planned times of the present timetable within a backfill, or the rules that it breaks. */
export function backfillTimes(
  request: Request,
  scheduleSince: number | undefined,
  { from, to }: Pick<BackfillRequest, 'from' | 'to'>,
  now: number,
): { times: number[] } | { errors: FieldError[] } {
  if (to <= from) return refuse('to', 'after', `to must be after from, which is ${new Date(from).toISOString()}`);
  if (to > now) return refuse('to', 'past', 'to must not be in the future: what is planned then runs by its schedule');
  const timetable = readTimetable(request, scheduleSince);
  if ('errors' in timetable) return timetable;
  const times: number[] = [];
  for (let at = nextTime(timetable, from - 1); at !== undefined && at < to; at = nextTime(timetable, at)) {
    if (times.length >= mostBackfillTimes) {
      const message = `to: more than ${mostBackfillTimes} planned times lie before it; the last of these is ${new Date(times.at(-1)!).toISOString()}`;
      return refuse('to', 'max', message);
    }
    times.push(at);
  }
  if (times.length > 0) return { times };
  return refuse('from', 'planned', 'from: the request has no planned time between from and to');
}

const refuse = (field: string, rule: string, message: string): { errors: FieldError[] } => ({
  errors: [{ field, rule, message }],
});

/** Id of the run of a time: each backfill has one for it. */
export const backfillRunId = (backfillId: string, scheduledAt: number): string => `${backfillId}-${scheduledAt}`;

/** A time that has its turn. */
export interface TakenTime {
  backfillId: string;
  scheduledAt: number;
  user?: string;
  message?: string;
}

/** Entry of the pending queue for a time that has its turn. */
export const backfillEntry = (
  { backfillId, scheduledAt, user, message }: TakenTime,
  of: { requestId: string; deployId: string },
  now: number,
): PendingRequest => ({
  ...of,
  timestamp: now,
  pendingType: 'BACKFILL',
  trigger: 'BACKFILL',
  scheduledAt,
  runId: backfillRunId(backfillId, scheduledAt),
  user,
  message,
});
