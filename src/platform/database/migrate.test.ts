import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { createDatabase } from '../../../test/support/test-database.js';
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
