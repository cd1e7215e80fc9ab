import { expect, test } from 'vitest';
import type { Request } from '../model/request.js';
import type { PendingTask } from '../model/task.js';
import { makePendingTaskId } from '../task-id.js';
import { startedRun } from './index.js';

const now = Date.UTC(2026, 0, 5, 12);
const minute = 60_000;
const fiveSeconds = { quartzSchedule: '0/5 * * * * ?' };

test.each<[string, Partial<Request>, number, number]>([
  ['starts in time: for its own', fiveSeconds, 1, 1],
  ['is late: for the newest', fiveSeconds, 1.5, 0],
  ['is late by a week: for the newest', fiveSeconds, 7 * 24 * 60, 0],
  ['is late, and no other time has passed: for its own', { schedule: '30 * * * *' }, 30, 30],
  [
    'is late: for the newest outside of exclusions',
    { ...fiveSeconds, exclusions: [{ from: now - minute, to: now + 1 }] },
    9,
    1 + 1 / 12,
  ],
  ['is late: for the last one before endAt', { ...fiveSeconds, endAt: now - 2 * minute }, 9, 2],
  ['is decided about at each time, by missedRuns', { ...fiveSeconds, missedRuns: { policy: 'ALL' } }, 9, 9],
])('a planned run that %s', (_name, members, late, expected) => {
  const at = now - late * minute;
  const parts = {
    requestId: 'job',
    deployId: 'd1',
    nextRunAt: at,
    instanceNo: 1,
    createdAt: at,
    pendingType: 'TASK_DONE',
  } as const;
  const pending: PendingTask = { pendingTaskId: makePendingTaskId(parts), trigger: 'SCHEDULE', scheduledAt: at };
  const request: Request = { id: 'job', requestType: 'SCHEDULED', ...members };
  const { scheduledAt, ...rest } = startedRun(pending, { request, state: 'ACTIVE' }, now);
  expect((now - scheduledAt!) / minute).toBe(expected);
  expect(rest).toEqual({ pendingTaskId: pending.pendingTaskId, trigger: 'SCHEDULE' });
});
