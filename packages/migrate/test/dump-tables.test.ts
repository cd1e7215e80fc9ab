import { describe, expect, test } from 'vitest';
import { dumpTableOf } from '../src/import-history/dump-tables.js';
import { type Cell, columnName, type DumpRow } from '../src/import-history/read-dump.js';

const row = (cells: Record<string, Cell>): DumpRow =>
  Object.fromEntries(Object.entries(cells).map(([name, cell]) => [columnName(name), cell]));
const read = (table: string, cells: Record<string, Cell>) => dumpTableOf(table)!.read(row(cells));

const startedAt = Date.UTC(2020, 5, 11, 12, 0, 0, 250);
const taskId = `web-app-d1-${startedAt}-3-host_1-rack_a`;
const task = (cells: Record<string, Cell> = {}) =>
  read('taskHistory', { taskId, requestId: 'web-app', deployId: 'd1', json: '{"task":{}}', ...cells });
const request = (cells: Record<string, Cell> = {}) =>
  read('requestHistory', { requestId: 'web', createdAt: '2020-06-11 12:00:00.5', requestState: 'CREATED', ...cells });

describe('tasks', () => {
  test('become rows of ours, what no column tells comes from the id', () => {
    expect(
      task({
        lastTaskStatus: 'TASK_FINISHED',
        updatedAt: '2020-06-11 12:30:00',
        runId: 'r1',
        host: 'host-1',
        startedAt: '2020-06-11 12:00:00',
      }),
    ).toEqual({
      kind: 'row',
      columns: {
        task_id: taskId,
        request_id: 'web-app',
        deploy_id: 'd1',
        run_id: 'r1',
        host: 'host_1',
        rack_id: 'rack_a',
        instance_no: 3,
        started_at: '2020-06-11T12:00:00.250Z',
        updated_at: '2020-06-11T12:30:00.000Z',
        last_task_status: 'TASK_FINISHED',
        purged: false,
        bytes: `\\x${Buffer.from('{"task":{}}').toString('hex')}`,
      },
    });
  });

  test.each<[string, Record<string, Cell>, object]>([
    ['request and deploy of old rows come from the id', { requestId: null, deployId: null }, { request_id: 'web-app', deploy_id: 'd1' }],
    ['without an update the start counts', { updatedAt: null }, { updated_at: '2020-06-11T12:00:00.250Z' }],
    ['a time in whole seconds is never before the start', { updatedAt: '2020-06-11 12:00:00' }, { updated_at: '2020-06-11T12:00:00.250Z' }],
    ['a purged one stays purged', { purged: '1' }, { purged: true, bytes: null }],
    ['one without a payload is purged', { json: null, bytes: null }, { purged: true, bytes: null }],
  ])('%s', (_name, cells, columns) => expect(task(cells)).toMatchObject({ kind: 'row', columns })); // prettier-ignore

  test.each<[string, Record<string, Cell>, string]>([
    ['an id that is none', { taskId: 'web' }, 'taskId is not a task id'],
    ['no id', { taskId: null }, 'taskId is missing'],
    ['a time that is none', { updatedAt: '0000-00-00 00:00:00' }, 'updatedAt is not a time'],
    ['text that cannot be stored', { runId: 'a\0b' }, 'runId contains a character that cannot be stored'],
  ])('%s makes a row unreadable', (_name, cells, reason) =>
    expect(task(cells)).toEqual({ kind: 'unreadable', reason }),
  );
});

test.each<[string, Cell, string]>([
  ['JSON text', '{"a":1}', Buffer.from('{"a":1}').toString('hex')],
  ['hexadecimal digits as PostgreSQL writes them', '\\x00FF', '00FF'],
  ['as MySQL writes them', '0x00ff', '00ff'],
  ['without a mark', '00ff', '00ff'],
  ['base 64', 'e30K+w==', '7b7d0afb'],
  ['nothing', null, ''],
])('a payload may be %s', (_name, cell, hex) => {
  expect(request({ request: cell })).toMatchObject({ kind: 'row', columns: { bytes: `\\x${hex}` } });
});

test('a payload in no known notation makes the row unreadable', () => {
  expect(request({ request: '<xml/>' })).toMatchObject({ kind: 'unreadable' });
});

test.each([
  ['2020-06-11 12:00:00', '2020-06-11T12:00:00.000Z'],
  ['2020-06-11T12:00:00.123456Z', '2020-06-11T12:00:00.123Z'],
  ['2020-06-11 12:00:00+02', '2020-06-11T10:00:00.000Z'],
  ['2020-06-11 12:00:00.5-03:30', '2020-06-11T15:30:00.500Z'],
])('the time %s is %s', (createdAt, expected) => {
  expect(request({ createdAt })).toMatchObject({ columns: { created_at: expected } });
});

test('the column of the user has two names', () => {
  for (const column of ['user', 'f_user']) {
    expect(request({ [column]: 'ada' })).toMatchObject({ columns: { user_name: 'ada' } });
  }
});

test('deploys and usage become rows of ours', () => {
  const deploy = { requestId: 'web', deployId: 'd1', createdAt: '2020-06-11 12:00:00', deployState: 'SUCCEEDED', deployStateAt: '2020-06-11 12:01:00', bytes: '00' }; // prettier-ignore
  expect(read('deployHistory', deploy)).toMatchObject({
    columns: { deploy_state: 'SUCCEEDED', deploy_state_at: '2020-06-11T12:01:00.000Z', bytes: '\\x00' },
  });
  const usage = { requestId: 'web', taskId, timestamp: String(startedAt), memoryTotalBytes: '5', diskTotalBytes: '6', cpuSeconds: '1.5', cpusNrPeriods: '7', cpusNrThrottled: '8', cpusThrottledTimeSecs: '0.5' }; // prettier-ignore
  expect(read('task_usage.csv', usage)).toMatchObject({
    columns: { sampled_at: '2020-06-11T12:00:00.250Z', cpu_seconds: 1.5, cpus_nr_throttled: 8 },
  });
  expect(read('taskUsage', { ...usage, cpuSeconds: 'many' })).toEqual({ kind: 'unreadable', reason: 'cpuSeconds is not a number' }); // prettier-ignore
  expect(read('taskUsage', { ...usage, timestamp: '1e30' })).toEqual({ kind: 'unreadable', reason: 'a time is out of range' }); // prettier-ignore
});
