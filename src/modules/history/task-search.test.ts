import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { start } from '../../../test/support/builders.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import type { TaskIdHistory } from '../../core/model/task.js';
import { makeTaskId } from '../../core/task-id.js';
import { HistoryModule } from './history.module.js';
import type { Page } from './paging.js';

/* Searches of the history compared with the same filters, order and paging written down in a few lines. */

const minute = 60_000;
const states = ['TASK_FINISHED', 'TASK_FAILED', 'TASK_LOST'];
const pick = <T>(values: readonly T[], n: number): T => values[n % values.length]!;

interface Row {
  id: string;
  requestId: string;
  deployId: string;
  runId?: string;
  host: string;
  lastTaskStatus: string;
  startedAt: number;
  updatedAt: number;
}

/** Tasks of a few hours, most of them short, some longer than an hour, some exactly as long, many with the same times. */
const rows: Row[] = Array.from({ length: 1_200 }, (_, n) => {
  const requestId = pick(['web', 'web-2', 'job'], n * 7);
  const deployId = pick(['d1', 'd2'], n >> 2);
  const host = pick(['host_1', 'host_2', 'host_3'], n * 5);
  const startedAt = start + ((n * 37) % 400) * minute;
  const updatedAt = startedAt + pick([0, 1, 5, 59, 60, 61, 90, 300], n * 3) * minute;
  const { id } = makeTaskId({ requestId, deployId, startedAt, instanceNo: n + 1, host, rackId: 'r' });
  const runId = n % 2 === 0 ? `run-${n % 20}` : undefined;
  return { id, requestId, deployId, runId, host, lastTaskStatus: pick(states, n * 11), startedAt, updatedAt };
});

let rooms: RoomApp;
beforeAll(async () => {
  rooms = await startRooms({ modules: [HistoryModule] });
  await rooms.database.pool.query(
    `INSERT INTO task_history (task_id, request_id, deploy_id, run_id, host, instance_no, started_at, updated_at, last_task_status)
     SELECT r->>'id', r->>'requestId', r->>'deployId', r->>'runId', r->>'host', 1, to_timestamp((r->>'startedAt')::bigint / 1000),
       to_timestamp((r->>'updatedAt')::bigint / 1000), r->>'lastTaskStatus' FROM jsonb_array_elements($1::jsonb) r`,
    [JSON.stringify(rows)],
  );
});
afterAll(() => rooms.close());

type Query = Partial<Record<string, string | number>>;
const search = async (query: Query): Promise<Page<TaskIdHistory>> => {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]));
  const path = `/api/history/tasks/withmetadata?${given.join('&')}`;
  const { status, body } = await rooms.get<Page<TaskIdHistory>>(path);
  expect(status, JSON.stringify(body)).toBe(200);
  return body;
};

const tests: Record<string, (row: Row, value: never) => boolean> = {
  requestId: (row, value) => row.requestId === value,
  deployId: (row, value) => row.deployId === value,
  runId: (row, value) => row.runId === value,
  host: (row, value) => row.host === value,
  lastTaskStatus: (row, value) => row.lastTaskStatus === value,
  startedBefore: (row, value) => row.startedAt < value,
  startedAfter: (row, value) => row.startedAt > value,
  updatedBefore: (row, value) => row.updatedAt < value,
  updatedAfter: (row, value) => row.updatedAt > value,
};
const text = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
function expected({ count = 100, page = 1, orderDirection = 'DESC', ...filters }: Query): {
  ids: string[];
  of: number;
} {
  const found = rows.filter((row) =>
    Object.entries(filters).every(([name, value]) => value === undefined || tests[name]!(row, value as never)),
  );
  const sign = orderDirection === 'DESC' ? -1 : 1;
  found.sort((a, b) => sign * (a.updatedAt - b.updatedAt) || text(a.requestId, b.requestId) || text(a.id, b.id));
  const begin = Number(count) * (Number(page) - 1);
  return { ids: found.slice(begin, begin + Number(count)).map((row) => row.id), of: found.length };
}

const maybe = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined, freq: 2 });
const anyTime = maybe(fc.integer({ min: -10, max: 720 }).map((minutes) => start + minutes * minute));
const anyQuery: fc.Arbitrary<Query> = fc.record({
  requestId: maybe(fc.constantFrom('web', 'web-2', 'job', 'nobody')),
  deployId: maybe(fc.constantFrom('d1', 'd2')),
  runId: maybe(fc.constantFrom('run-0', 'run-4')),
  host: maybe(fc.constantFrom('host_1', 'host_2')),
  lastTaskStatus: maybe(fc.constantFrom(...states)),
  startedBefore: anyTime,
  startedAfter: anyTime,
  updatedBefore: anyTime,
  updatedAfter: anyTime,
  orderDirection: maybe(fc.constantFrom('ASC', 'DESC')),
  count: maybe(fc.integer({ min: 1, max: 60 })),
  page: maybe(fc.integer({ min: 1, max: 4 })),
});

test('any filters in any order and on any page find what they say, and count it exactly', () =>
  fc.assert(
    fc.asyncProperty(anyQuery, async (query) => {
      const { ids, of } = expected(query);
      const page = await search(query);
      expect(page.objects.map((entry) => entry.taskId.id)).toEqual(ids);
      expect(page).toMatchObject({ dataCount: of, pageCount: Math.ceil(of / Number(query['count'] ?? 100)) });
    }),
    { numRuns: 150 },
  ));

test.each([0, 30, 59, 60, 61, 200, 399, 700])(
  'began before minute %i: the hour at which short tasks and long ones part loses none',
  async (minutes) => {
    const query = { startedBefore: start + minutes * minute, count: 1_000 };
    expect((await search(query)).objects.map((entry) => entry.taskId.id)).toEqual(expected(query).ids);
  },
);

describe('paging', () => {
  test('100 without a count, never more than 1000, pages count from 1', async () => {
    expect(await search({})).toMatchObject({ dataCount: rows.length, pageCount: rows.length / 100, page: 1 });
    expect((await search({})).objects).toHaveLength(100);
    const most = await search({ count: 5_000 });
    expect(most).toMatchObject({ pageCount: 2, page: 1 });
    expect(most.objects).toHaveLength(1_000);
    expect((await search({ count: 5_000, page: 2 })).objects).toHaveLength(rows.length - 1_000);
  });

  test('times of the same moment are in the order of request and task, so that no page repeats or loses one', async () => {
    const pages = await Promise.all([1, 2, 3, 4, 5, 6].map((page) => search({ count: 200, page })));
    const ids = pages.flatMap((page) => page.objects.map((entry) => entry.taskId.id));
    expect(new Set(ids).size).toBe(rows.length);
  });

  test('the farthest page and the farthest times are answered', async () => {
    expect((await search({ page: 2_147_483_647, count: 1_000 })).objects).toEqual([]);
    const farthest = Number.MAX_SAFE_INTEGER;
    expect(await search({ startedBefore: farthest, updatedBefore: farthest })).toMatchObject({
      dataCount: rows.length,
    });
    expect(await search({ startedAfter: farthest })).toMatchObject({ dataCount: 0 });
    expect(await search({ updatedAfter: farthest, startedBefore: farthest })).toMatchObject({ dataCount: 0 });
  });
});
