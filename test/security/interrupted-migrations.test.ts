import pg from 'pg';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { expect, onTestFinished, test } from 'vitest';
import { migrate } from '../../src/platform/database/migrate.js';
import { migrations } from '../../src/platform/database/migrations.js';
import { createDatabase } from '../support/test-database.js';

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

async function schemaOf(sql: pg.Client): Promise<unknown> {
  const columns = await sql.query(
    `SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns
     WHERE table_schema = 'public' ORDER BY 1, 2`,
  );
  const indexes = await sql.query(`SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1`);
  return [columns.rows, indexes.rows];
}

/** Ends as with kill -9: the connection is gone in the middle, and nothing says goodbye. */
class Interrupted8999999999999 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query('CREATE TABLE half_done (id text PRIMARY KEY)');
    await q.query('ALTER TABLE request ADD COLUMN half_done text');
    await q.query('SELECT pg_terminate_backend(pg_backend_pid())');
  }
  down = () => Promise.resolve();
}

test.each([3, 9, 17, 25, migrations.length])(
  'a start that ended in the middle, %i migrations done, is gone on with by the next one',
  async (done) => {
    const [{ url, sql }, whole] = await Promise.all([open({ empty: true }), open()]);
    const failure: unknown = await migrate(url, [...migrations.slice(0, done), Interrupted8999999999999]).catch(
      (cause: unknown) => cause,
    );
    expect(failure).toBeInstanceOf(Error);
    const names = async () =>
      (await sql.query<{ name: string }>('SELECT name FROM muster_migration ORDER BY id')).rows.map(({ name }) => name);
    expect(await names()).toEqual(migrations.slice(0, done).map(({ name }) => name));
    expect(await migrate(url)).toEqual(migrations.slice(done).map(({ name }) => name));
    expect(await schemaOf(sql)).toEqual(await schemaOf(whole.sql));
  },
);
