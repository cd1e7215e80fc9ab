import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { insertRequest, start } from '../../../test/support/builders.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { testSettings } from '../../../test/support/test-app.js';
import { makeTaskId } from '../../core/task-id.js';
import type { Settings } from '../../platform/settings/settings.js';
import { HistoryBackfill } from './backfill/history-backfill.service.js';
import { HistoryModule } from './history.module.js';
import { HistoryPurger } from './history-purger.service.js';
import { watchStatements } from '../../../test/support/sent-statements.js';

/*
 * Every statement that the API, the purger and the backfill send about the history is explained by PostgreSQL, with the
 * values it was sent with, on tables of so many rows that reading one whole is never the cheapest way.
 */
const tasks = 30_000;
const changes = 20_000;
const deploys = 10_000;
const historyTables = ['task_history', 'request_history', 'deploy_history'];

let rooms: RoomApp;
let seen: ReturnType<typeof watchStatements>;
const settings: Settings = testSettings();

beforeAll(async () => {
  rooms = await startRooms({ modules: [HistoryModule], settings });
  await fill();
  seen = watchStatements();
}, 120_000);
afterAll(() => rooms.close());
beforeEach(() => seen.forget());

async function fill(): Promise<void> {
  const tx = rooms.database.pool;
  await tx.query(
    `INSERT INTO task_history (task_id, request_id, deploy_id, run_id, host, instance_no, started_at, updated_at,
       last_task_status, data, bytes)
     SELECT 'r' || n % 300 || '-d' || n % 90 || '-' || n || '-1-h-r', 'r' || n % 300, 'd' || n % 90, 'run-' || n, 'host_' || n % 50, 1,
       $2::timestamptz + n * interval '1 minute', $2::timestamptz + n * interval '1 minute' + (1 + n % 200) * interval '1 minute',
       (ARRAY['TASK_FINISHED', 'TASK_FAILED', 'TASK_KILLED', 'TASK_LOST'])[1 + (n % 97) % 4],
       CASE WHEN n % 100 > 0 THEN jsonb_build_object('directory', repeat(md5(n::text), 50)) END,
       CASE WHEN n % 100 = 0 THEN '\\x00'::bytea END
     FROM generate_series(1, $1::int) n`,
    [tasks, new Date(start)],
  );
  await tx.query(
    `INSERT INTO request_history (request_id, created_at, event_type, request, bytes)
     SELECT 'r' || n % 300, $2::timestamptz + n * interval '1 minute', 'UPDATED',
       CASE WHEN n % 100 > 0 THEN jsonb_build_object('id', repeat(md5(n::text), 50)) END,
       CASE WHEN n % 100 = 0 THEN '\\x00'::bytea END FROM generate_series(1, $1::int) n`,
    [changes, new Date(start)],
  );
  await tx.query(
    `INSERT INTO deploy_history (request_id, deploy_id, created_at, deploy_state, data, bytes)
     SELECT 'r' || n % 300, 'd' || n, $2::timestamptz + n * interval '1 minute', 'SUCCEEDED',
       CASE WHEN n % 100 > 0 THEN jsonb_build_object('deploy', repeat(md5(n::text), 50)) END,
       CASE WHEN n % 100 = 0 THEN '\\x00'::bytea END FROM generate_series(1, $1::int) n`,
    [deploys, new Date(start)],
  );
  await insertRequest(tx, { request: { id: 'r1' } });
  await tx.query('VACUUM ANALYZE');
}

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  Plans?: Plan[];
}

const nodes = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodes)];

/** The statements seen so far that read a history table whole; and the number of statements that were looked at. */
async function wholeReads(): Promise<{ statements: number; whole: string[] }> {
  const statements = seen
    .sent()
    .filter(
      ({ sql }) =>
        /^\s*(?:\/\*.*?\*\/\s*)?(SELECT|WITH|UPDATE|DELETE)\b/i.test(sql) &&
        historyTables.some((table) => sql.includes(table)),
    );
  const whole: string[] = [];
  for (const { sql, parameters } of statements) {
    const [found] = (await rooms.database.pool.query(`EXPLAIN (FORMAT JSON) ${sql}`, parameters)) as {
      'QUERY PLAN': { Plan: Plan }[];
    }[];
    const scans = nodes(found!['QUERY PLAN'][0]!.Plan).filter((node) => node['Node Type'] === 'Seq Scan');
    const tables = scans.map((node) => node['Relation Name']!).filter((name) => historyTables.includes(name));
    whole.push(...tables.map((table) => `${table} by: ${sql} with ${JSON.stringify(parameters)}`));
  }
  return { statements: statements.length, whole };
}

const at = (share: number): number => start + Math.round(share * tasks) * 60_000;
/** Each filter once, with a value that some rows have. */
const filters: Record<string, string> = {
  requestId: 'r7',
  deployId: 'd7',
  runId: 'run-777',
  host: 'host_7',
  lastTaskStatus: 'TASK_FAILED',
  startedBefore: String(at(0.5)),
  startedAfter: String(at(0.4)),
  updatedBefore: String(at(0.6)),
  updatedAfter: String(at(0.3)),
};
const names = Object.keys(filters);
/** All subsets. */
const combinations = names.reduce<string[][]>((sets, name) => [...sets, ...sets.map((set) => [...set, name])], [[]]);

test('a statement that no index helps is noticed', async () => {
  await rooms.database.pool.query('SELECT count(*) FROM task_history WHERE slave_id = $1', ['s1']);
  expect((await wholeReads()).whole).toHaveLength(1);
});

describe('no table of the history is read whole', () => {
  test.each(['DESC', 'ASC'])(
    `by a search with any of the ${combinations.length} combinations of filters, %s`,
    async (direction) => {
      for (const set of combinations) {
        const filter = set.map((name) => `${name}=${filters[name]}`).join('&');
        // One call sends both statements: the count and the page.
        const { status } = await rooms.get(
          `/api/history/tasks/withmetadata?${filter}&skipZk=false&orderDirection=${direction}`,
        );
        expect(status).toBe(200);
      }
      const { statements, whole } = await wholeReads();
      expect(statements).toBe(2 * combinations.length);
      expect(whole).toEqual([]);
    },
    120_000,
  );

  const { id } = makeTaskId({ requestId: 'r1', deployId: 'd1', startedAt: 1, instanceNo: 1, host: 'h', rackId: 'r' });
  test.each([
    `task/${id}`,
    'tasks',
    'request/r7/tasks',
    'request/r7/tasks/withmetadata',
    'request/r7/deploy/d7/tasks/inactive',
    'request/r7/deploy/d7/tasks/inactive/withmetadata',
    'request/r7/run/run-777',
    'request/r7/command-line-args',
    'request/r7/command-line-args?skipZk=false',
    'request/r7/deploy/d7',
    'request/r7/deploys',
    'request/r7/deploys/withmetadata',
    'request/r7/requests',
    'request/r7/requests/withmetadata',
    'requests/search?requestIdLike=r1',
    'requests/search?requestIdLike=r1&count=2&page=3',
    'requests/search?requestIdLike=r',
  ])('by %s', async (path) => {
    expect([200, 404]).toContain((await rooms.get(`/api/history/${path}`)).status);
    const { statements, whole } = await wholeReads();
    expect(statements).toBeGreaterThan(0);
    expect(whole).toEqual([]);
  });

  test('by a purge', async () => {
    // All limits are set, and so far away that nothing goes.
    Object.assign(settings.historyPurging, {
      deleteTaskHistoryAfterDays: 3650,
      deleteTaskHistoryAfterTasksPerRequest: 5_000,
    });
    await rooms.app.get(HistoryPurger).purge();
    const { statements, whole } = await wholeReads();
    expect(statements).toBeGreaterThan(300);
    expect(whole).toEqual([]);
  }, 60_000);

  test('by a backfill', async () => {
    await rooms.database.pool.query('INSERT INTO history_backfill (batch_size, started_at) VALUES (20, now())');
    while (await rooms.app.get(HistoryBackfill).step());
    const { statements, whole } = await wholeReads();
    expect(statements).toBeGreaterThan(20);
    expect(whole).toEqual([]);
  });
});
