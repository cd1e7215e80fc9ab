import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { FixedLeadership } from '../../../test/support/fixed-leadership.js';
import { startTcpProxy, targetOf, throughProxy, type TcpProxy } from '../../../test/support/tcp-proxy.js';
import { createDatabase } from '../../../test/support/test-database.js';
import {
  answerTimeoutMillis,
  apiParameters,
  leaderParameters,
  leaseParameters,
  migrationParameters,
} from './connection.js';
import { Database } from './database.js';
import { DatabasePool } from './pool.js';
import { OutcomeUnknownError } from '../errors.js';
import { isPassing } from './database-errors.js';

let database: Awaited<ReturnType<typeof createDatabase>>;
let proxy: TcpProxy;
let pool: DatabasePool;
beforeAll(async () => {
  database = await createDatabase({ empty: true });
  proxy = await startTcpProxy(targetOf(database.url));
  const url = throughProxy(database.url, proxy);
  pool = await new DatabasePool({ url, use: 'api', poolSize: 3, queryTimeoutMillis: 500 }).open();
});
afterAll(async () => {
  await pool.close();
  await proxy.close();
  await database.remove();
});

test.each([
  ['the API', apiParameters],
  ['the leader', leaderParameters],
  ['the lease', leaseParameters],
])('%s waits a little longer than the server lets a statement run', (_name, parameters) => {
  const server = Number(parameters['statement_timeout']);
  expect(server).toBeGreaterThan(0);
  expect(answerTimeoutMillis(parameters)).toBe(server + 1_000);
  expect(server).toBeLessThanOrEqual(20_000);
});

test('a migration may take as long as it needs', () =>
  expect(answerTimeoutMillis(migrationParameters)).toBeUndefined());

test.each([
  ['a statement', () => pool.query('SELECT 1')],
  ['one with values', () => pool.query('SELECT $1::int', [1])],
  ['a transaction', () => pool.transaction((tx) => tx.query('SELECT 1'))],
])(
  '%s that the database takes and never answers fails in time, and its connection is not used again',
  async (_name, ask) => {
    // So that each connection of the pool is there.
    await Promise.all([1, 2, 3].map(() => pool.query('SELECT pg_sleep(0.05)')));
    proxy.freeze();
    onTestFinished(() => proxy.restore());
    const begun = performance.now();
    const causes = await Promise.all([1, 2, 3].map(() => ask().catch((cause: unknown) => cause)));
    expect(causes.map(isPassing)).toEqual([true, true, true]);
    expect(performance.now() - begun).toBeLessThan(3_000);
    proxy.restore();
    // What the old connections are answered now is read by none.
    expect(await pool.query('SELECT 2 AS two')).toEqual([{ two: 2 }]);
  },
);

test('of a change whose commit is not answered it is said that it may have been made, and of no other', async () => {
  const db = new Database(pool, pool, new FixedLeadership(1));
  await pool.query('CREATE TABLE changed (name text)');
  onTestFinished(() => proxy.restore());
  const change = (name: string, silentFrom: 'commit' | 'change') =>
    db
      .transaction(async (tx) => {
        if (silentFrom === 'change') proxy.freeze();
        await tx.query('INSERT INTO changed VALUES ($1)', [name]);
        if (silentFrom === 'commit') proxy.freeze();
      })
      .catch((cause: unknown) => cause);
  const atCommit = await change('at its commit', 'commit');
  proxy.restore();
  const before = await change('before', 'change');
  proxy.restore();
  expect(atCommit).toBeInstanceOf(OutcomeUnknownError);
  expect(atCommit).toMatchObject({ status: 503, message: expect.stringContaining('may have been made or not') });
  expect(before).not.toBeInstanceOf(OutcomeUnknownError);
  // Neither is tried again by itself as if nothing had happened.
  expect([atCommit, before].map(isPassing)).toEqual([true, true]);
  const names: { name: string }[] = await pool.query('SELECT name FROM changed');
  expect(names.map(({ name }) => name)).not.toContain('before');
});
