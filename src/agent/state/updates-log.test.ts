import { appendFileSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.js';
import type { TaskState } from '../../core/model/enums.js';
import { monotonicMillis } from '../../platform/monotonic.js';
import { UpdatesLog } from './updates-log.js';

const source = { agentId: 'local', incarnation: 'i1' };
let directory: ReturnType<typeof tempFolder>;
let path: string;
beforeEach(() => {
  directory = tempFolder();
  path = join(directory.path, 'updates.jsonl');
});
afterEach(() => directory.remove());

const update = (taskId: string, state: TaskState, message = '') => ({
  taskId,
  slaveId: 's1',
  state,
  message,
});
/** Opened to the end of the test. As after kill -9, nothing is put in order when it is left. */
const opened: UpdatesLog[] = [];
const openLog = async (): Promise<UpdatesLog> => {
  const log = await UpdatesLog.open(path, source);
  opened.push(log);
  return log;
};
afterEach(async () => {
  for (const log of opened.splice(0)) await log['file'].close();
});
const numbers = (log: UpdatesLog, after = 0) => log.after(after, 1_000).map((each) => each.number);

test('numbers updates in the order in which they came, also across a restart', async () => {
  const log = await openLog();
  await Promise.all(['a', 'b', 'c'].map((id) => log.append(update(id, 'TASK_RUNNING'))));
  expect(log.after(0, 2)).toMatchObject([
    { number: 1, taskId: 'a', ...source },
    { number: 2, taskId: 'b' },
  ]);
  const again = await openLog();
  await again.append(update('d', 'TASK_RUNNING'));
  expect(numbers(again)).toEqual([1, 2, 3, 4]);
  expect(again.latest('b')?.state).toBe('TASK_RUNNING');
});

test('half a line that a crash left behind is not an update', async () => {
  const log = await openLog();
  await log.append(update('a', 'TASK_RUNNING'));
  appendFileSync(path, '{"number":2,"taskId":"b"');
  const again = await openLog();
  expect(numbers(again)).toEqual([1]);
  await again.append(update('c', 'TASK_RUNNING'));
  expect(numbers(await openLog())).toEqual([1, 2]);
});

test('forgets what is acknowledged, but not the state of tasks that go on, and never gives a number twice', async () => {
  const log = await openLog();
  for (const id of ['a', 'b']) await log.append(update(id, 'TASK_RUNNING'));
  await log.append(update('a', 'TASK_FINISHED'));
  expect(log.endsUpTo(2)).toEqual([]);
  expect(log.endsUpTo(3)).toMatchObject([{ taskId: 'a' }]);
  await log.acknowledge(3);
  expect(numbers(log)).toEqual([]);
  await log.close();
  const again = await openLog();
  expect([again.last, again.acknowledged]).toEqual([3, 3]);
  expect(again.latest('a')).toBeUndefined();
  expect(again.latest('b')?.state).toBe('TASK_RUNNING');
  await again.append(update('c', 'TASK_RUNNING'));
  expect(numbers(again)).toEqual([4]);
});

test('numbers that were stored are not given again, even if the log has lost them', async () => {
  const log = await openLog();
  await log.append(update('a', 'TASK_RUNNING'));
  await log.acknowledge(40);
  await log.append(update('a', 'TASK_FINISHED'));
  expect(numbers(log)).toEqual([41]);
});

test('stays small while updates come and go', async () => {
  const log = await openLog();
  const long = 'x'.repeat(2_000);
  await log.append(update('stays', 'TASK_RUNNING'));
  for (let round = 0; round < 20; round++) {
    await Promise.all(
      Array.from({ length: 100 }, (_, index) => log.append(update(`t${round}-${index}`, 'TASK_FAILED', long))),
    );
    await log.acknowledge(log.last);
  }
  expect(statSync(path).size).toBeLessThan(1_500_000);
  await log.close();
  expect(readFileSync(path, 'utf8').split('\n').filter(Boolean).length).toBe(2);
});

test('wakes who waits for an update, and lets go when there is none', async () => {
  const log = await openLog();
  const caller = new AbortController();
  const waiting = log.waitFor(0, 60_000, caller.signal);
  await log.append(update('a', 'TASK_RUNNING'));
  await waiting;
  await log.waitFor(0, 60_000, caller.signal);
  await log.waitFor(1, 5, caller.signal);
  const gone = log.waitFor(1, 60_000, caller.signal);
  caller.abort();
  await gone;
});

test('an update that cannot be written is not there, and the next one takes its number', async () => {
  const log = await openLog();
  await log.append(update('a', 'TASK_RUNNING'));
  const file = log['file'];
  const appendFile = file.appendFile.bind(file);
  file.appendFile = async () => {
    await appendFile('{"half a li');
    throw new Error('disk full');
  };
  await expect(log.append(update('a', 'TASK_FAILED'))).rejects.toThrow('disk full');
  expect([log.last, log.latest('a')?.state]).toEqual([1, 'TASK_RUNNING']);
  file.appendFile = appendFile;
  await log.append(update('a', 'TASK_FINISHED'));
  expect(numbers(await openLog())).toEqual([1, 2]);
});

test('what a command of a task does changes neither its state nor its end', async () => {
  const log = await openLog();
  const command = { name: 'x', timestamp: 1, updateType: 'FAILED' } as const;
  await log.append(update('a', 'TASK_RUNNING'));
  await log.append({ ...update('a', 'TASK_STARTING'), shellCommand: command });
  expect(log.latest('a')).toMatchObject({ number: 1, state: 'TASK_RUNNING' });
  await log.append({ ...update('a', 'TASK_KILLED'), shellCommand: command });
  expect(log.endsUpTo(3)).toEqual([]);
  await log.acknowledge(3);
  const again = await openLog();
  expect(again.latest('a')).toMatchObject({ number: 1, state: 'TASK_RUNNING' });
});

test('tells times by the clock as it is set when it is asked, and none before that of the same task', async () => {
  const log = await openLog();
  const hour = 3_600_000;
  const begun = Date.now();
  await log.append(update('a', 'TASK_RUNNING'));
  await log.append(update('a', 'TASK_FINISHED'), monotonicMillis() - hour);
  await log.append(update('b', 'TASK_FINISHED'), monotonicMillis() - hour);
  const timesBy = (now: number) => {
    const clock = vi.spyOn(Date, 'now').mockReturnValue(now);
    const told = log.after(0, 9).map(({ timestamp }) => Math.round((now - timestamp) / hour));
    clock.mockRestore();
    return told;
  };
  expect(timesBy(begun)).toEqual([0, 0, 1]);
  expect(timesBy(begun + 10 * hour)).toEqual([0, 0, 1]);
  expect(log.after(0, 1)[0]).not.toHaveProperty('steadyAt');
});

test('tells times of another boot as they were written down', async () => {
  const former = await openLog();
  await former.append(update('a', 'TASK_RUNNING'));
  const [told] = former.after(0, 1);
  const log = await UpdatesLog.open(path, { ...source, incarnation: 'i2' });
  opened.push(log);
  const clock = vi.spyOn(Date, 'now').mockReturnValue(0);
  expect(Math.abs(log.after(0, 1)[0]!.timestamp - told!.timestamp)).toBeLessThanOrEqual(1);
  clock.mockRestore();
});
