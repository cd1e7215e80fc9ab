import { expect, test } from 'vitest';
import type { TaskHealthcheckResult } from '../../../core/model/task.js';
import { makeTaskId } from '../../../core/task-id.js';
import { waitFor } from '../../../../test/support/wait-for.js';
import { ResultWriter } from './result-writer.js';

const result = (instanceNo: number): TaskHealthcheckResult => ({
  taskId: makeTaskId({ requestId: 'web', deployId: 'd1', startedAt: 0, instanceNo, host: 'h', rackId: 'r' }),
  timestamp: 0,
  startup: false,
});

test('results that come while a batch is written, or soon after it began, are written together', async () => {
  const batches: number[] = [];
  const writer = new ResultWriter(
    (batch) => {
      batches.push(batch.length);
      return Promise.resolve(batch.map(({ taskId }) => taskId.id));
    },
    () => undefined,
  );
  const first = writer.add(result(1));
  await first;
  const more = Array.from({ length: 50 }, (_, index) => writer.add(result(index + 2)));
  expect(await Promise.all([first, ...more])).not.toContain(false);
  expect(batches).toEqual([1, 50]);
});

test('a caller who adds a result learns whether it was stored', async () => {
  const writer = new ResultWriter(
    () => Promise.resolve([result(2).taskId.id]),
    () => undefined,
  );
  expect(await Promise.all([writer.add(result(1)), writer.add(result(2))])).toEqual([false, true]);
});

test('a batch that cannot be stored is given up and told, and the next one is stored', async () => {
  const failures: unknown[] = [];
  let fails = true;
  const writer = new ResultWriter(
    (batch) =>
      fails ? Promise.reject(new Error('no database')) : Promise.resolve(batch.map(({ taskId }) => taskId.id)),
    (cause) => failures.push(cause),
  );
  expect(await writer.add(result(1))).toBe(false);
  await waitFor('the word of it', () => failures.length === 1);
  fails = false;
  expect(await writer.add(result(1))).toBe(true);
});
