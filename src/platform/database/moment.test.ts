import { afterAll, beforeAll, expect, test } from 'vitest';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { documentSince, documentsSince, momentOf } from './moment.js';

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

const document = `SELECT coalesce(json_agg(number ORDER BY id), '[]')::text FROM kept`;

test('a document is not read again before anything is committed', async () => {
  // Other tests commit on this server as well.
  await expect
    .poll(async () => {
      const { moment } = await documentSince(database.pool, undefined, document);
      return (await documentSince(database.pool, moment, document)).json;
    })
    .toBeNull();
});

test.each([
  { name: 'a new row', sql: `INSERT INTO kept VALUES ('a', 1)`, json: '[1]' },
  { name: 'a change', sql: `UPDATE kept SET number = 2`, json: '[2]' },
  { name: 'an end', sql: `DELETE FROM kept`, json: '[]' },
  { name: 'a row that is the same as one before', sql: `INSERT INTO kept VALUES ('a', 1)`, json: '[1]' },
  { name: 'a table that is emptied', sql: `TRUNCATE kept`, json: '[]' },
])('$name makes it another moment, when it is committed and no earlier', async ({ sql, json }) => {
  const before = await documentSince(database.pool, undefined, document);
  await other.query('BEGIN');
  await other.query(sql.startsWith('TRUNCATE') ? 'SELECT 1' : sql);
  const during = await documentSince(database.pool, before.moment, document);
  expect(during.json ?? before.json).toBe(before.json);
  if (sql.startsWith('TRUNCATE')) await other.query(sql);
  await other.query('COMMIT');
  for (const since of [before.moment, during.moment]) {
    const after = await documentSince(database.pool, since, document);
    expect(after.json).toBe(json);
    expect(after.moment).not.toBe(since);
  }
});

test('within a snapshot it is the same moment, whatever is committed meanwhile', async () => {
  await database.database.snapshot(async (tx) => {
    const moment = await momentOf(tx);
    await other.query(`INSERT INTO kept VALUES ('late', 7)`);
    expect(await momentOf(tx)).toBe(moment);
    expect((await documentSince(tx, '', document)).json).toBe('[]');
    expect((await documentSince(tx, moment, document)).json).toBeNull();
  });
  expect((await documentSince(database.pool, '', document)).json).toBe('[7]');
});

test('of several documents each is read unless it is of this moment', async () => {
  await database.database.snapshot(async (tx) => {
    const moment = await momentOf(tx);
    const asked = [{ id: 'late' }, { id: 'late', since: moment }, { id: 'missing', since: 'another' }];
    const found = await documentsSince(tx, asked, `SELECT json_agg(number)::text FROM kept WHERE id = asked.id`);
    expect(found.map(({ json }) => json)).toEqual(['[7]', null, null]);
    expect(new Set(found.map((one) => one.moment))).toEqual(new Set([moment]));
  });
});
