import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import type { Database } from './database.js';

let test_: TestDatabase;
let db: Database;
beforeAll(async () => {
  test_ = await createTestDatabase();
  db = test_.database;
});
afterAll(() => test_.drop());

const kept = (like: string): Promise<{ statement: string }[]> =>
  db.pool.query(`SELECT statement FROM pg_prepared_statements WHERE statement LIKE '${like}'`);

test('what is sent again and again with parameters is kept by the server, on each connection', async () => {
  await db.transaction(async (tx) => {
    for (let time = 0; time < 5; time++) {
      expect(await tx.query('SELECT $1::int AS often', [time])).toEqual([{ often: time }]);
    }
    await tx.query('SELECT $1::int AS once', [1]);
    expect(await tx.query(`SELECT statement FROM pg_prepared_statements WHERE statement LIKE '%AS o%'`)).toEqual([
      { statement: 'SELECT $1::int AS often' },
    ]);
  });
});

test('what has no parameters is not', async () => {
  for (let time = 0; time < 5; time++) await db.pool.query('SELECT 1 AS plain');
  expect(await kept('%AS plain%')).toEqual([]);
});

test.each([
  ['alone', () => db.pool.query('SELECT * FROM grown WHERE id = $1', [1])],
  ['in a transaction', () => db.transaction((tx) => tx.query('SELECT * FROM grown WHERE id = $1', [1]))],
  ['in a snapshot', () => db.snapshot((tx) => tx.query('SELECT * FROM grown WHERE id = $1', [1]))],
])('a table that gets a column meanwhile is read as it is now: %s', async (_where, read) => {
  await test_.pool.query('DROP TABLE IF EXISTS grown');
  await test_.pool.query('CREATE TABLE grown (id int); INSERT INTO grown VALUES (1)');
  // On whichever connection of the pool it will be.
  for (let time = 0; time < 3; time++) await Promise.all(Array.from({ length: 30 }, read));
  await test_.pool.query('ALTER TABLE grown ADD COLUMN more int');
  expect(await Promise.all(Array.from({ length: 30 }, read))).toEqual(
    Array.from({ length: 30 }, () => [{ id: 1, more: null }]),
  );
});
