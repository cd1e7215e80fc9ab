import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ImportItemEntity } from '../packages/migrate/src/import-from/import-item.entity.js';
import { entities as ofService } from '../src/entities.js';
import { DatabasePool } from '../src/platform/database/pool.js';
import { migrate } from '../src/platform/database/migrate.js';
import { migrations } from '../src/platform/database/migrations.js';
import { createDatabase } from './support/test-database.js';

const entities = [...ofService, ImportItemEntity];

describe('the migrations', () => {
  let url: string;
  let remove: () => Promise<void>;
  let pool: DatabasePool;
  beforeAll(async () => {
    ({ url, remove } = await createDatabase({ empty: true }));
    pool = await new DatabasePool({ url, use: 'api', entities, poolSize: 2 }).open();
  });
  afterAll(async () => {
    await pool.close();
    await remove();
  });

  test('all files are listed, in order', () => {
    const files = readdirSync(new URL('../migrations', import.meta.url)).filter((file) => file.endsWith('.ts'));
    const timestamps = files.sort().map((file) => file.split('-')[0]);
    expect(migrations.map((migration) => migration.name.slice(-13))).toEqual(timestamps);
  });

  test('two instances that start at once migrate once', async () => {
    const done = await Promise.all([migrate(url), migrate(url), migrate(url)]);
    expect(done.map((names) => names.length).sort((a, b) => a - b)).toEqual([0, 0, migrations.length]);
    expect(await migrate(url)).toEqual([]);
  });

  test('make exactly the schema that the entities describe', async () => {
    const { upQueries } = await pool.orm.driver.createSchemaBuilder().log();
    expect(upQueries.map(({ query }) => query)).toEqual([]);
  });

  test('describe every table: none is without an entity', async () => {
    const tables: { name: string }[] = await pool.query(
      `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'muster_migration' ORDER BY 1`,
    );
    const described = pool.orm.entityMetadatas.map((metadata) => metadata.tableName).sort();
    expect(tables.map(({ name }) => name)).toEqual(described);
  });

  test('type of cleanups: read from the texts of before, and taken back without a trace', async () => {
    const back = migrations.length - migrations.findIndex(({ name }) => name.startsWith('CleanupType'));
    for (let count = 0; count < back; count++) await pool.orm.undoLastMigration({ transaction: 'each' });
    const before = [
      { task_id: 'a', message: 'PAUSE by ann - BOUNCING', previous: [] },
      {
        task_id: 'b',
        message: 'USER_REQUESTED_DESTROY',
        previous: [
          { timestamp: 2, statusMessage: 'INCREMENTAL_BOUNCE - new kernel' },
          { timestamp: 1, statusMessage: 'BOUNCINGLY' },
        ],
      },
      { task_id: 'c', message: null, previous: [] },
    ];
    for (const { task_id: id, message, previous } of before) {
      await pool.query(
        `INSERT INTO task_update (task_id, state, at, message, previous) VALUES ($1, 'TASK_CLEANING', now(), $2, $3)`,
        [id, message, JSON.stringify(previous)],
      );
    }
    await pool.query(`INSERT INTO task_update (task_id, state, at, message) VALUES ('a', 'TASK_LOST', now(), 'PAUSE')`);
    await migrate(url);
    const types = `SELECT task_id, cleanup_type, jsonb_path_query_array(previous, '$[*].cleanupType') AS former
      FROM task_update ORDER BY task_id, state`;
    expect(await pool.query(types)).toEqual([
      { task_id: 'a', cleanup_type: 'PAUSE', former: [] },
      { task_id: 'a', cleanup_type: null, former: [] },
      { task_id: 'b', cleanup_type: 'USER_REQUESTED_DESTROY', former: ['INCREMENTAL_BOUNCE', null] },
      { task_id: 'c', cleanup_type: null, former: [] },
    ]);
    for (let count = 0; count < back; count++) await pool.orm.undoLastMigration({ transaction: 'each' });
    const after = `SELECT task_id, message, previous FROM task_update WHERE state = 'TASK_CLEANING' ORDER BY task_id`;
    expect(await pool.query(after)).toEqual(before);
    await pool.query('DELETE FROM task_update');
    await migrate(url);
  });

  test('tokens of before: each keeps its place, the newest of an id that without a name, and all of them get an end', async () => {
    const back = migrations.length - migrations.findIndex(({ name }) => name.startsWith('SeveralTokens'));
    for (let count = 0; count < back; count++) await pool.orm.undoLastMigration({ transaction: 'each' });
    const before = [
      ['h1', 'd1', 'Ann', 'ann', '2026-01-01'],
      ['h2', 'd2', 'Ann the second', 'ann', '2026-01-02'],
      ['h3', 'd3', 'bob', 'bob', '2026-01-03'],
    ];
    const insert = `INSERT INTO auth_token (token_hash, lookup_digest, user_name, user_data, made_openly, created_at)
      VALUES ($1, $2, $3, jsonb_build_object('id', $4::text), false, $5)`;
    for (const row of before) await pool.query(insert, row);
    await migrate(url);
    const after = `SELECT token_hash, issuer, user_id, name LIKE 'older-%' AS older, name = '' AS unnamed,
      expires_at BETWEEN now() + interval '89 days' AND now() + interval '90 days' AS ends FROM auth_token ORDER BY token_hash`;
    const kept = { issuer: 'muster', ends: true };
    expect(await pool.query(after)).toEqual([
      { ...kept, token_hash: 'h1', user_id: 'ann', older: true, unnamed: false },
      { ...kept, token_hash: 'h2', user_id: 'ann', older: false, unnamed: true },
      { ...kept, token_hash: 'h3', user_id: 'bob', older: false, unnamed: true },
    ]);
    for (let count = 0; count < back; count++) await pool.orm.undoLastMigration({ transaction: 'each' });
    expect(await pool.query('SELECT token_hash FROM auth_token ORDER BY 1')).toHaveLength(before.length);
    await pool.query('DELETE FROM auth_token');
    await migrate(url);
  });

  test('can be taken back one by one, and made again', async () => {
    for (const _migration of migrations) await pool.orm.undoLastMigration({ transaction: 'each' });
    const left: { name: string }[] = await pool.query(
      `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'v', 'S')
         AND relname NOT LIKE 'muster_migration%'`,
    );
    expect(left).toEqual([]);
    expect(await migrate(url)).toHaveLength(migrations.length);
  });
});
