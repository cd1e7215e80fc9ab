import type { PendingType } from './enums.js';

export interface PendingTaskId {
  requestId: string;
  deployId: string;
  nextRunAt: number;
  instanceNo: number;
  pendingType: PendingType;
  createdAt: number;
  id: string;
}

/** Nothing is waited for: neither a time that was asked for nor one of a schedule, a rest or a cooldown. */
export const isDueAtOnce = ({ nextRunAt, createdAt }: PendingTaskId): boolean => nextRunAt <= createdAt;

/** The time it has to wait for, if there is one. */
export const waitsUntil = (id: PendingTaskId): number | undefined => (isDueAtOnce(id) ? undefined : id.nextRunAt);

/** Its time has come. What is due at once is so also when the clock was set back meanwhile. */
export const isDue = (id: PendingTaskId, now: number): boolean => id.nextRunAt <= now || isDueAtOnce(id);

export interface TaskId {
  requestId: string;
  deployId: string;
  startedAt: number;
  instanceNo: number;
  host: string;
  sanitizedHost: string;
  sanitizedRackId: string;
  rackId: string;
  id: string;
}
