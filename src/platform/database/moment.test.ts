import { afterAll, beforeAll, expect, test } from 'vitest';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { momentOf } from './moment.js';

let database: TestDatabase;
let other: pg.Client;
beforeAll(async () => {
  database = await createTestDatabase();
  other = new pg.Client(database.url);
  await other.connect();
  await other.query('CREATE TABLE kept (id text PRIMARY KEY, number integer NOT NULL)');
});
afterAll(async () => {
  await other.end();
  await database.drop();
});

const number = async (): Promise<unknown> =>
  (
    await database.pool.query<{ json: unknown }[]>(
      `SELECT coalesce(json_agg(number ORDER BY id), '[]') AS json FROM kept`,
    )
  )[0]!.json;

test('it is the same moment before anything is committed', async () => {
  // Other tests commit on this server as well.
  await expect.poll(async () => (await momentOf(database.pool)) === (await momentOf(database.pool))).toBe(true);
});

test.each([
  { name: 'a new row', sql: `INSERT INTO kept VALUES ('a', 1)`, json: [1] },
  { name: 'a change', sql: `UPDATE kept SET number = 2`, json: [2] },
  { name: 'an end', sql: `DELETE FROM kept`, json: [] },
  { name: 'a row that is the same as one before', sql: `INSERT INTO kept VALUES ('a', 1)`, json: [1] },
  { name: 'a table that is emptied', sql: `TRUNCATE kept`, json: [] },
])('$name makes it another moment, when it is committed and no earlier', async ({ sql, json }) => {
  const before = await momentOf(database.pool);
  const standing = await number();
  await other.query('BEGIN');
  await other.query(sql.startsWith('TRUNCATE') ? 'SELECT 1' : sql);
  const during = await momentOf(database.pool);
  expect(await number()).toEqual(standing);
  if (sql.startsWith('TRUNCATE')) await other.query(sql);
  await other.query('COMMIT');
  const after = await momentOf(database.pool);
  expect([before, during]).not.toContain(after);
  expect(await number()).toEqual(json);
});

test('within a snapshot it is the same moment, whatever is committed meanwhile', async () => {
  await database.database.snapshot(async (tx) => {
    const moment = await momentOf(tx);
    await other.query(`INSERT INTO kept VALUES ('late', 7)`);
    expect(await momentOf(tx)).toBe(moment);
  });
  expect(await number()).toEqual([7]);
});
