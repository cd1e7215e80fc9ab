import { Readable } from 'node:stream';
import pg from 'pg';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createDatabase } from '../../../test/support/test-database.js';
import { entities } from '../../entities.js';
import { DatabasePool } from '../database/pool.js';
import { migrate } from '../database/migrate.js';
import { migrations } from '../database/migrations.js';
import { connect, discard } from '../database/connection.js';
import { UnusableBackup, write } from './backup-file.js';
import { StateInTheWay } from './objects.repository.js';
import { restore } from './restore.js';
import { Snapshot } from './snapshot.repository.js';

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

/**
 * A text with all characters that COPY escapes; everywhere the same one, so that foreign keys find what they refer to.
 */
const text = `E'tab\\t line\\n back\\\\slash \\\\. \\\\N "quoted" é 🦊'`;
const values: Record<string, string> = {
  text,
  'text[]': `ARRAY[${text}, NULL, '']`,
  integer: '2147483647',
  bigint: '9007199254740991',
  smallint: '7',
  boolean: 'true',
  'double precision': '0.1::float8 + 0.2::float8',
  numeric: '12345678901234567890.123456789',
  bytea: `'\\x000a5c2e0aff'`,
  'timestamp with time zone': `'2026-01-02 03:04:05.678901+00'`,
  'timestamp with time zone[]': `ARRAY['2026-01-02 03:04:05.678901+00'::timestamptz]`,
  json: `'{"a":  [1, "\\u0041\\n", null],   "a": 2}'`,
  jsonb: `'{"a": [1.50, "\\n", null]}'`,
};

/** A row in each table whose rules take it. Answers which. */
async function fill(sql: pg.Client): Promise<string[]> {
  const { rows } = await sql.query<{ name: string; columns: string[]; types: string[] }>(
    `SELECT relname AS name, array_agg(attname::text) AS columns, array_agg(format_type(atttypid, atttypmod)) AS types
     FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
     WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname <> 'muster_migration'
       AND attnum > 0 AND NOT attisdropped AND attidentity = '' AND attgenerated = ''
     GROUP BY relname ORDER BY relname = 'webhook' DESC, relname`,
  );
  const filled: string[] = [];
  for (const { name, columns, types } of rows) {
    const row = types.map((type) => values[type] ?? 'NULL').join(', ');
    const done = await sql.query(`INSERT INTO ${name} (${columns.join(', ')}) VALUES (${row})`).then(
      () => [name],
      () => [],
    );
    filled.push(...done);
  }
  return filled;
}

const contents = async (sql: pg.Client): Promise<Record<string, string>> => {
  const { rows: tables } = await sql.query<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'muster_migration' ORDER BY 1`,
  );
  const found: Record<string, string> = {};
  for (const { name } of tables) {
    const { rows } = await sql.query<{ all: string | null }>(
      `SELECT string_agg(each::text, chr(10) ORDER BY each::text) AS all FROM ${name} AS each`,
    );
    found[name] = rows[0]!.all ?? '';
  }
  const { rows: sequences } = await sql.query(
    `SELECT sequencename, last_value::text FROM pg_sequences WHERE schemaname = 'public' AND sequencename !~ '^muster_' ORDER BY 1`,
  );
  return { ...found, sequences: JSON.stringify(sequences) };
};
const isEmpty = async (sql: pg.Client): Promise<boolean> =>
  (
    await sql.query(`SELECT FROM pg_class JOIN pg_namespace AS space ON space.oid = relnamespace
      WHERE nspname IN ('public', 'muster_restore') UNION ALL SELECT FROM pg_namespace WHERE nspname = 'muster_restore'`)
  ).rows.length === 0;

/** As `muster backup` makes it, before it is compressed. */
async function backupOf(url: string): Promise<Buffer> {
  const snapshot = await Snapshot.open(url);
  async function* tables() {
    for (const table of snapshot.tables) yield { ...table, rows: snapshot.rowsOf(table) };
  }
  const head = { version: '0.1.0', at: snapshot.at.toISOString(), migrations: snapshot.migrations };
  const all = write({ head, tables: tables(), sequences: () => snapshot.sequences() });
  return Buffer.concat(await Readable.from(all).toArray()).subarray();
}
async function* inPieces(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += 1_000) yield bytes.subarray(at, at + 1_000);
}
const restored = (url: string, bytes: Buffer, replace = false) =>
  restore({ url, uncompressed: inPieces(bytes), replace, progress: () => undefined });

describe('a database with a row in nearly every table', () => {
  let backup: Buffer;
  let filled: string[];
  let before: Record<string, string>;
  beforeAll(async () => {
    const { url, remove } = await createDatabase();
    const sql = new pg.Client({ connectionString: url });
    await sql.connect();
    filled = await fill(sql);
    before = await contents(sql);
    backup = await backupOf(url);
    await sql.end();
    await remove();
  });

  test('is the same once it is restored into an empty one: rows, sequences, tables, triggers', async () => {
    const { url, sql } = await open({ empty: true });
    expect(filled).toEqual(expect.arrayContaining(['webhook_update', 'task_history', 'deploy_history', 'mail_rate']));
    const { rows, migrated } = await restored(url, backup);
    expect(rows).toBeGreaterThanOrEqual(filled.length);
    expect(filled.length).toBeGreaterThan(40);
    expect(migrated).toBe(0);
    expect(await contents(sql)).toEqual(before);
    const pool = await new DatabasePool({ url, use: 'api', entities, poolSize: 1 }).open();
    const { upQueries } = await pool.orm.driver.createSchemaBuilder().log();
    await pool.close();
    expect(upQueries.map(({ query }) => query)).toEqual([]);
    const { rows: triggers } = await sql.query(`SELECT FROM pg_trigger WHERE NOT tgisinternal AND tgenabled = 'O'`);
    expect(triggers.length).toBeGreaterThan(5);
    expect(await migrate(url)).toEqual([]);
    // The next one of a table is none that was given before.
    await sql.query(`INSERT INTO leader_change (kind, key) SELECT kind, key || 'x' FROM leader_change LIMIT 1`);
  });

  test('takes the place of what is there only when that is said, and leaves what extensions brought', async () => {
    const { url, sql } = await open();
    await sql.query(`CREATE TABLE of_a_newer_muster (id integer PRIMARY KEY)`);
    await sql.query(`CREATE VIEW of_a_report AS SELECT * FROM of_a_newer_muster`);
    // Where the server has it to offer.
    const brings = await sql.query('CREATE EXTENSION pg_trgm').then(
      () => true,
      () => false,
    );
    const present = await contents(sql);
    const refused = await restored(url, backup).catch((cause: unknown) => cause);
    expect(refused).toBeInstanceOf(StateInTheWay);
    expect((refused as Error).message).toMatch(/not empty.*--replace/);
    expect(await contents(sql)).toEqual(present);

    await restored(url, backup, true);
    expect(await contents(sql)).toEqual(before);
    await restored(url, backup, true);
    expect(await contents(sql)).toEqual(before);
    if (brings) expect((await sql.query(`SELECT similarity('a', 'a') AS same`)).rows).toEqual([{ same: 1 }]);
  });

  test('is not restored while an instance of Muster is there', async () => {
    const { url } = await open();
    const instance = await connect(url, 'listen', 5_000);
    await expect(restored(url, backup, true)).rejects.toThrow('Muster runs on this database');
    discard(instance);
  });

  test.each([
    ['cut off', (text: string) => text.slice(0, text.length * 0.7)],
    ['with a value that was changed', (text: string) => text.replace('🦊', '🐺')],
    ['without a table', (text: string) => text.replace(/\{"table":"mail".*?\n\\\.\n/s, '')],
    ['with other columns', (text: string) => text.replace('"columns":["id",', '"columns":["nr",')],
    ['with a row that is none', (text: string) => text.replace(/("table":"webhook",.*\n)/, '$1one\ttwo\n')],
  ])('%s is refused, and nothing of it is left', async (_how, change) => {
    const { url, sql } = await open({ empty: true });
    const changed = Buffer.from(change(backup.toString()));
    expect(changed.equals(backup)).toBe(false);
    await expect(restored(url, changed)).rejects.toBeInstanceOf(UnusableBackup);
    expect(await isEmpty(sql)).toBe(true);
  });

  test('of a newer version is refused by its version, before anything is done', async () => {
    const { url, sql } = await open({ empty: true });
    const newer = backup
      .toString()
      .replace('"version":"0.1.0"', '"version":"9.0.0"')
      .replace(`"${migrations.at(-1)!.name}"`, `"${migrations.at(-1)!.name}","Wings9000000000000"`);
    await expect(restored(url, Buffer.from(newer))).rejects.toThrow(/made by a newer Muster, 9\.0\.0/);
    expect(await isEmpty(sql)).toBe(true);
  });
});

test('a backup of an older version is migrated, with its rows', async () => {
  const old = await open({ empty: true });
  await migrate(old.url, migrations.slice(0, 20));
  const filled = await fill(old.sql);
  expect(filled).toContain('webhook_update');
  const backup = await backupOf(old.url);

  const { url, sql } = await open({ empty: true });
  expect(await restored(url, backup)).toMatchObject({ migrated: migrations.length - 20 });
  const { rows } = await sql.query('SELECT webhook_id FROM webhook_update');
  expect(rows).toEqual((await old.sql.query('SELECT webhook_id FROM webhook_update')).rows);
  expect(await migrate(url)).toEqual([]);
});

test('a backup is of one moment: of changes that are made meanwhile it has all of one or nothing', async () => {
  const { url, sql } = await open();
  const change = (id: string) =>
    sql.query(
      `WITH one AS (INSERT INTO webhook (id, uri, webhook_type, created_at) VALUES ($1, $1, 'TASK', now()) RETURNING id)
       INSERT INTO user_settings (user_id, updated_at) SELECT id, now() FROM one`,
      [id],
    );
  await change('before');
  const snapshot = await Snapshot.open(url);
  await change('after');
  const rowsOf = async (name: string): Promise<string> => {
    const table = snapshot.tables.find((each) => each.table === name)!;
    return Buffer.concat(await Readable.from(snapshot.rowsOf(table)).toArray()).toString();
  };
  for (const table of ['user_settings', 'webhook']) {
    expect(await rowsOf(table)).toContain('before');
    expect(await rowsOf(table)).not.toContain('after');
  }
  snapshot.close();
});

test('while a migration is under way no backup is made, and one that is made keeps no migration waiting at its lock', async () => {
  const { url, sql } = await open();
  await sql.query('SELECT pg_advisory_lock(1836413812)');
  await expect(Snapshot.open(url)).rejects.toBeInstanceOf(StateInTheWay);
  await sql.query('SELECT pg_advisory_unlock(1836413812)');
  const snapshot = await Snapshot.open(url);
  expect(await migrate(url)).toEqual([]);
  snapshot.close();
});
