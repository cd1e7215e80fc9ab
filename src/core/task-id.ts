import { pendingTypes, type PendingType } from './model/enums.js';
import type { PendingTaskId, TaskId } from './model/task.js';

/** Sections of an id are divided by '-', so host and rack may not contain one. */
export const sanitize = (text: string): string => text.replaceAll('-', '_');

interface TaskIdParts {
  requestId: string;
  deployId: string;
  /** Epoch milliseconds at which the launch was decided. */
  startedAt: number;
  instanceNo: number;
  /** Host as it is, not yet sanitized. */
  host: string;
  rackId: string;
}

export function makeTaskId(parts: TaskIdParts): TaskId {
  const { requestId, deployId, startedAt, instanceNo } = parts;
  const sanitizedHost = sanitize(parts.host);
  const sanitizedRackId = sanitize(parts.rackId);
  return {
    requestId,
    deployId,
    startedAt,
    instanceNo,
    host: sanitizedHost,
    sanitizedHost,
    sanitizedRackId,
    rackId: sanitizedRackId,
    id: `${requestId}-${deployId}-${startedAt}-${instanceNo}-${sanitizedHost}-${sanitizedRackId}`,
  };
}

/** Read from the right, because a request id may contain '-'. undefined: not a task id. */
export function parseTaskId(id: string): TaskId | undefined {
  const match = /^(.+)-([^-]+)-(\d{1,15})-(\d{1,9})-([^-]+)-([^-]+)$/.exec(id);
  if (!match) return undefined;
  const [, requestId, deployId, startedAt, instanceNo, host, rackId] = match as unknown as [string, ...string[]];
  const taskId = makeTaskId({
    requestId: requestId!,
    deployId: deployId!,
    startedAt: Number(startedAt),
    instanceNo: Number(instanceNo),
    host: host!,
    rackId: rackId!,
  });
  // '007' reads as 7 and would name another task.
  return taskId.instanceNo >= 1 && taskId.id === id ? taskId : undefined;
}

type PendingTaskIdParts = Omit<PendingTaskId, 'id'>;

export function makePendingTaskId(parts: PendingTaskIdParts): PendingTaskId {
  const { requestId, deployId, nextRunAt, instanceNo, pendingType, createdAt } = parts;
  return {
    requestId,
    deployId,
    nextRunAt,
    instanceNo,
    pendingType,
    createdAt,
    id: `${requestId}-${deployId}-${nextRunAt}-${instanceNo}-${pendingType}-${createdAt}`,
  };
}

export function parsePendingTaskId(id: string): PendingTaskId | undefined {
  const match = /^(.+)-([^-]+)-(\d{1,15})-(\d{1,9})-([A-Z_]+)-(\d{1,15})$/.exec(id);
  if (!match) return undefined;
  const [, requestId, deployId, nextRunAt, instanceNo, pendingType, createdAt] = match as unknown as [
    string,
    ...string[],
  ];
  if (!(pendingTypes as readonly string[]).includes(pendingType!)) return undefined;
  const pendingTaskId = makePendingTaskId({
    requestId: requestId!,
    deployId: deployId!,
    nextRunAt: Number(nextRunAt),
    instanceNo: Number(instanceNo),
    pendingType: pendingType as PendingType,
    createdAt: Number(createdAt),
  });
  return pendingTaskId.instanceNo >= 1 && pendingTaskId.id === id ? pendingTaskId : undefined;
}
