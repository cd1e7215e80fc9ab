import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { start } from '../../../test/support/builders.js';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { dumpTableOf } from '../src/import-history/dump-tables.js';
import { HistoryImport } from '../src/import-history/history-import.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());
beforeEach(() =>
  db.pool.query('TRUNCATE task_history, request_history, deploy_history, task_usage, unreadable_history'),
);

/** Imports these lines as the file of a table. */
function imported(table: string, lines: string[]) {
  const { path, remove } = tempFolder();
  onTestFinished(remove);
  const file = join(path, `${table}.csv`);
  writeFileSync(file, lines.join('\n'));
  return new HistoryImport(db.pool, file, dumpTableOf(table)!).run();
}
const taskHeader = 'taskId,requestId,lastTaskStatus,updatedAt,bytes,runId,deployId,host,startedAt,purged';
const taskLine = (instanceNo: number, runId = 'r1'): string =>
  `web-d1-${start}-${instanceNo}-host_1-rack_1,web,TASK_FINISHED,2026-01-06 12:00:00,\\x7b7d,${runId},d1,host-1,\\N,f`;
const usageHeader =
  'requestId,taskId,memoryTotalBytes,cpuSeconds,cpusThrottledTimeSecs,diskTotalBytes,timestamp,cpusNrPeriods,cpusNrThrottled';

test('a row arrives with its columns and its payload, and no JSON yet', async () => {
  expect(await imported('taskHistory', [taskHeader, taskLine(1)])).toEqual({
    imported: 1,
    alreadyThere: 0,
    unreadable: 0,
  });
  expect(await db.pool.query('SELECT * FROM task_history')).toEqual([
    {
      task_id: `web-d1-${start}-1-host_1-rack_1`,
      request_id: 'web',
      deploy_id: 'd1',
      run_id: 'r1',
      slave_id: null,
      host: 'host_1',
      rack_id: 'rack_1',
      instance_no: 1,
      started_at: new Date(start),
      running_at: null,
      updated_at: new Date(Date.UTC(2026, 0, 6, 12)),
      last_task_status: 'TASK_FINISHED',
      purged: false,
      data: null,
      bytes: Buffer.from('{}'),
    },
  ]);
});

test('all four tables are taken, and columns in any order', async () => {
  const event = ['createdAt,requestId,requestState,user,request,message,json', '2026-01-05 12:00:00.123,web,CREATED,ada,,"a, b","{""id"":""web""}"']; // prettier-ignore
  await imported('requestHistory', event);
  await imported('deployHistory', [
    'requestId,deployId,createdAt,deployState,json',
    'web,d1,2026-01-05 12:00:00,FAILED,{}',
  ]);
  await imported('taskUsage', [usageHeader, `web,t1,1,2.5,0.5,3,${start},4,5`]);
  const [change] = await db.pool.query('SELECT created_at, user_name, message, bytes FROM request_history');
  expect(change).toEqual({
    created_at: new Date('2026-01-05T12:00:00.123Z'),
    user_name: 'ada',
    message: 'a, b',
    bytes: Buffer.from('{"id":"web"}'),
  });
  expect(await db.pool.query('SELECT deploy_state, bytes FROM deploy_history')).toEqual([
    { deploy_state: 'FAILED', bytes: Buffer.from('{}') },
  ]);
  expect(await db.pool.query('SELECT sampled_at, cpu_seconds, disk_total_bytes FROM task_usage')).toEqual([
    { sampled_at: new Date(start), cpu_seconds: 2.5, disk_total_bytes: 3 },
  ]);
});

test('rows that are there already stay as they are, so an import may be repeated', async () => {
  await imported('taskHistory', [taskHeader, taskLine(1)]);
  expect(await imported('taskHistory', [taskHeader, taskLine(1, 'other'), taskLine(2), taskLine(2)])).toEqual({
    imported: 1,
    alreadyThere: 2,
    unreadable: 0,
  });
  expect(await db.pool.query('SELECT run_id FROM task_history ORDER BY instance_no')).toEqual([
    { run_id: 'r1' },
    { run_id: 'r1' },
  ]);
});

test('rows that cannot be stored are listed with what they hold; the others arrive', async () => {
  const lines = [
    taskHeader,
    taskLine(1),
    'no-task-id,web,,,,,,,,',
    'too,few',
    taskLine(2),
    taskLine(3, 'a\0b'),
    taskLine(4),
  ];
  expect(await imported('taskHistory', lines)).toEqual({ imported: 3, alreadyThere: 0, unreadable: 3 });
  // The second time it lists the same ones, once each.
  await imported('taskHistory', lines);
  const found = await db.pool.query('SELECT kind, key, reason, source FROM unreadable_history ORDER BY key');
  expect(found).toEqual([
    {
      kind: 'IMPORT',
      key: 'taskHistory.csv row 3',
      reason: 'taskId is not a task id',
      source: expect.objectContaining({ taskid: 'no-task-id', requestid: 'web' }),
    },
    {
      kind: 'IMPORT',
      key: 'taskHistory.csv row 4',
      reason: 'It has 2 cells, the header has 10',
      source: { taskid: 'too', requestid: 'few' },
    },
    {
      kind: 'IMPORT',
      key: 'taskHistory.csv row 6',
      reason: 'runId contains a character that cannot be stored',
      source: expect.objectContaining({ runid: 'a\uFFFDb' }),
    },
  ]);
});

test('a value that only the database finds too great does not keep the rows beside it away', async () => {
  const line = (n: number, memory: string) => `web,t${n},${memory},2.5,0.5,3,${start},4,5`;
  const lines = Array.from({ length: 50 }, (_, n) => line(n, n === 33 ? '1e30' : '7'));
  expect(await imported('taskUsage', [usageHeader, ...lines])).toEqual({
    imported: 49,
    alreadyThere: 0,
    unreadable: 1,
  });
  expect(await db.pool.query('SELECT key, reason FROM unreadable_history')).toEqual([
    { key: 'taskUsage.csv row 35', reason: expect.stringContaining('out of range') },
  ]);
});
