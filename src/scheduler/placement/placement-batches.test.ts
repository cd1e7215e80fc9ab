import { expect, test } from 'vitest';
import { mostCharacters, mostTasks, PlacementBatches } from './placement-batches.js';
import type { PlannedTask } from './task-planner.js';

/** All that batches look at. */
const planned = (requestId: string, document: string): PlannedTask =>
  ({ taskId: { requestId }, document }) as PlannedTask;

async function batchesOf(tasks: readonly PlannedTask[]): Promise<number[]> {
  const written: number[] = [];
  const batches = new PlacementBatches((batch) => {
    written.push(batch.length);
    return Promise.resolve(true);
  });
  for (const task of tasks) await batches.add(task);
  await batches.end();
  return written;
}

test('a batch has so many tasks at most', async () => {
  const tasks = Array.from({ length: mostTasks + 1 }, () => planned('r', '{}'));
  expect(await batchesOf(tasks)).toEqual([mostTasks, 1]);
});

test('a batch has so many characters at most, and a longer launch goes alone', async () => {
  const third = 'x'.repeat(Math.floor(mostCharacters / 3));
  const whole = 'x'.repeat(mostCharacters + 1);
  const tasks = [third, third, third, third, whole, '{}'].map((document, index) => planned(`r${index}`, document));
  expect(await batchesOf(tasks)).toEqual([3, 1, 1, 1]);
});
