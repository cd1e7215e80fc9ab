import { expect, test } from 'vitest';
import { makePendingTaskId } from '../task-id.js';
import { findLateTasks, type WaitingTask } from './index.js';

const now = 1_000_000;
const waiting = (lag: number, changes: Partial<WaitingTask> = {}): WaitingTask => ({
  pendingTaskId: makePendingTaskId({
    requestId: 'web',
    deployId: 'd1',
    nextRunAt: now - lag,
    instanceNo: 1,
    pendingType: 'NEW_DEPLOY',
    createdAt: 0,
  }),
  onDemand: false,
  running: 0,
  ...changes,
});

test.each<{ name: string; task: WaitingTask; late: number; onDemandLate: number }>([
  { name: 'past its time', task: waiting(31), late: 1, onDemandLate: 0 },
  { name: 'not long past its time', task: waiting(30), late: 0, onDemandLate: 0 },
  { name: 'its time is to come', task: waiting(-5), late: 0, onDemandLate: 0 },
  {
    name: 'on demand, with room',
    task: waiting(31, { onDemand: true, instances: 2, running: 1 }),
    late: 0,
    onDemandLate: 1,
  },
  {
    name: 'on demand, without room',
    task: waiting(31, { onDemand: true, instances: 2, running: 2 }),
    late: 0,
    onDemandLate: 0,
  },
  { name: 'on demand, without a limit', task: waiting(31, { onDemand: true }), late: 0, onDemandLate: 0 },
])('$name', ({ task, late, onDemandLate }) => {
  const found = findLateTasks([task], 30, now);
  expect([found.late.length, found.onDemandLate.length]).toEqual([late, onDemandLate]);
  expect(found.future).toBe(1 - late - onDemandLate);
  expect(found.maxLagMillis).toBe(late + onDemandLate === 0 ? 0 : 31);
});
