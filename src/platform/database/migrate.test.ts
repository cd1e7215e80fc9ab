import pg from 'pg';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { expect, onTestFinished, test } from 'vitest';
import { createDatabase } from '../../../test/support/test-database.js';
import { waitFor } from '../../../test/support/wait-for.js';
import { StartError } from '../errors.js';
import { migrate } from './migrate.js';
import { migrations } from './migrations.js';

async function open(options: { empty?: boolean } = {}): Promise<{ url: string; sql: pg.Client }> {
  const { url, remove } = await createDatabase(options);
  const sql = new pg.Client({ connectionString: url });
  await sql.connect();
  onTestFinished(async () => {
    await sql.end();
    await remove();
  });
  return { url, sql };
}
const ran = async (sql: pg.Client): Promise<string[]> =>
  (await sql.query<{ name: string }>('SELECT name FROM muster_migration ORDER BY id')).rows.map(({ name }) => name);

test('an empty database gets all migrations, once', async () => {
  const { url, sql } = await open({ empty: true });
  const names = migrations.map(({ name }) => name);
  expect(await migrate(url)).toEqual(names);
  expect(await migrate(url)).toEqual([]);
  expect(await ran(sql)).toEqual(names);
});

test('a schema of a newer program is refused, naming its migration and the newest of this program, and stays as it is', async () => {
  const { url, sql } = await open();
  await sql.query(`DELETE FROM muster_migration WHERE name = $1`, [migrations.at(-1)!.name]);
  await sql.query(`INSERT INTO muster_migration (timestamp, name) VALUES (9000000000000, 'Wings9000000000000')`);
  const before = await ran(sql);
  const failure = await migrate(url).catch((cause: unknown) => cause);
  expect(failure).toBeInstanceOf(StartError);
  expect((failure as Error).message).toMatch(/Wings9000000000000/);
  expect((failure as Error).message).toContain(migrations.at(-1)!.name);
  expect((failure as Error).message).not.toContain('\n');
  expect(await ran(sql)).toEqual(before);
});

test('a migration of another branch among older ones is refused, too: this program does not know what it changed', async () => {
  const { url, sql } = await open();
  await sql.query(`INSERT INTO muster_migration (timestamp, name) VALUES (1763700000001, 'Sideways1763700000001')`);
  await expect(migrate(url)).rejects.toThrow('Sideways1763700000001');
});

/** A migration of a test, as the newest of this program. */
function plus(up: (q: QueryRunner) => Promise<unknown>, transaction?: boolean): readonly Function[] {
  class Wings9000000000000 implements MigrationInterface {
    transaction = transaction;
    async up(q: QueryRunner): Promise<void> {
      await up(q);
    }
    down = () => Promise.resolve();
  }
  return [...migrations, Wings9000000000000];
}

test('a migration may take as long as it needs, and waits for a lock for a second only', async () => {
  const { url } = await open();
  const limits: unknown[] = [];
  const look = async (q: QueryRunner) => {
    for (const name of ['statement_timeout', 'lock_timeout'])
      limits.push(...((await q.query(`SHOW ${name}`)) as object[]));
  };
  await migrate(url, plus(look));
  expect(limits).toEqual([{ statement_timeout: '0' }, { lock_timeout: '1s' }]);
});

test('a table that others hold is tried again until it is free, and calls on it meanwhile wait for a second at most', async () => {
  const { url, sql } = await open();
  await sql.query('BEGIN; LOCK TABLE task_update IN ROW EXCLUSIVE MODE');
  let attempts = 0;
  const migrating = migrate(
    url,
    plus((q) => {
      attempts += 1;
      return q.query('ALTER TABLE task_update ADD COLUMN wings int');
    }),
  );
  const caller = new pg.Client({ connectionString: url });
  await caller.connect();
  let slowest = 0;
  await waitFor('some attempts', async () => {
    const askedAt = performance.now();
    await caller.query('SELECT 1 FROM task_update');
    slowest = Math.max(slowest, performance.now() - askedAt);
    return attempts >= 3;
  });
  await sql.query('COMMIT');
  expect(await migrating).toEqual(['Wings9000000000000']);
  // One that waits for the lock for as long as it takes would have held all of them up.
  expect(slowest).toBeLessThan(1_900);
  expect((await caller.query('SELECT wings FROM task_update')).rows).toEqual([]);
  await caller.end();
});

test('an index is built while others write: its migration runs outside of a transaction and waits for theirs', async () => {
  const { url, sql } = await open();
  await sql.query(`BEGIN; LOCK TABLE task_update IN ROW EXCLUSIVE MODE`);
  const build = `CREATE INDEX CONCURRENTLY wings ON task_update (task_id)`;
  const migrating = migrate(
    url,
    plus(async (q) => {
      await q.query('DROP INDEX CONCURRENTLY IF EXISTS wings');
      await q.query(build);
    }, false),
  );
  const writer = new pg.Client({ connectionString: url });
  await writer.connect();
  await waitFor('the build to wait', async () => {
    const { rows } = await writer.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND query = $1 AND wait_event_type = 'Lock'`,
      [build],
    );
    return rows.length === 1;
  });
  await writer.query('SET lock_timeout = 1000; DELETE FROM task_update');
  await sql.query('COMMIT');
  expect(await migrating).toEqual(['Wings9000000000000']);
  const valid = await writer.query(`SELECT indisvalid FROM pg_index WHERE indexrelid = 'wings'::regclass`);
  expect(valid.rows).toEqual([{ indisvalid: true }]);
  await writer.end();
});

test('of several that start at once one migrates, however long it takes, and the others find nothing left to do', async () => {
  const { url } = await open();
  let runs = 0;
  const slow = plus(async (q) => {
    runs += 1;
    await q.query('SELECT pg_sleep(1.5)');
  });
  const done = await Promise.all([migrate(url, slow), migrate(url, slow), migrate(url, slow)]);
  expect(done.filter((names) => names.length > 0)).toEqual([['Wings9000000000000']]);
  expect(runs).toBe(1);
});

test('a leader of before a migration commits nothing after it', async () => {
  const { url, sql } = await open();
  await sql.query('UPDATE leader_epoch SET epoch = 7');
  await migrate(
    url,
    plus((q) => q.query('SELECT 1')),
  );
  expect((await sql.query('SELECT epoch::int FROM leader_epoch')).rows).toEqual([{ epoch: 8 }]);
});
