import { expect, test } from 'vitest';
import type { PendingType } from '../model/enums.js';
import type { Request } from '../model/request.js';
import { makePendingTaskId } from '../task-id.js';
import { ExcludedTimes } from './excluded-times.js';

const now = Date.UTC(2026, 0, 5, 12);
const run = (deployId: string, pendingType: PendingType = 'TASK_DONE') => ({
  pendingTaskId: makePendingTaskId({
    requestId: 'job',
    deployId,
    nextRunAt: now,
    instanceNo: 1,
    pendingType,
    createdAt: 1,
  }),
});
const job: Request = { id: 'job', requestType: 'SCHEDULED', schedule: '0 * * * *' };
const closed = { ...job, exclusions: [{ from: now, to: now + 1 }] };
const view = { scheduleSince: 0 } as never;

test('a run is held by the exclusions of the request that its deploy has', () => {
  const excluded = new ExcludedTimes(now);
  const later = { ...job, exclusions: [{ from: now + 1, to: now + 2 }] };
  expect(excluded.hold(run('d1'), closed, view)).toBe(true);
  expect(excluded.hold(run('d2'), later, view)).toBe(false);
  expect(excluded.hold(run('d1', 'IMMEDIATE'), closed, view)).toBe(false);
  expect(excluded.hold(run('d3'), job, view)).toBe(false);
});

test('the times of a request are read once, however many runs are due', () => {
  let reads = 0;
  const counted = {
    ...closed,
    get schedule() {
      reads += 1;
      return '0 * * * *';
    },
  };
  const excluded = new ExcludedTimes(now);
  expect(excluded.hold(run('d1'), counted, view)).toBe(true);
  const first = reads;
  expect(excluded.hold(run('d1'), counted, view)).toBe(true);
  expect([first > 0, reads]).toEqual([true, first]);
});
