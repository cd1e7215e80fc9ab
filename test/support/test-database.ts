import { randomUUID } from 'node:crypto';
import { inject } from 'vitest';
import { entities } from '../../src/entities.js';
import { connect } from '../../src/platform/database/connection.js';
import { DatabasePool } from '../../src/platform/database/pool.js';
import { Database } from '../../src/platform/database/database.js';
import { databaseUrl } from './database-url.js';
import { FixedLeadership } from './fixed-leadership.js';

export interface TestDatabase {
  url: string;
  /** Transactions as the product has them; this instance leads in epoch 1. */
  database: Database;
  pool: DatabasePool;
  /** Closes the connections and removes the database. */
  drop(): Promise<void>;
}

/** A migrated, empty database of the caller's own. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const { url, remove } = await createDatabase();
  const [pool, leaderPool] = await Promise.all(
    (['api', 'leader'] as const).map((use) => new DatabasePool({ url, use, entities, poolSize: 5 }).open()),
  );
  await pool!.query('UPDATE leader_epoch SET epoch = 1');
  return {
    url,
    pool: pool!,
    database: new Database(pool!, leaderPool!, new FixedLeadership(1)),
    drop: async () => {
      await Promise.all([pool!.close(), leaderPool!.close()]);
      await remove();
    },
  };
}

/** Only the database, for tests that bring their own connections. `empty`: not even migrated. */
export async function createDatabase(
  options: { empty?: boolean } = {},
): Promise<{ url: string; remove(): Promise<void> }> {
  const name = `muster_test_${randomUUID().replaceAll('-', '')}`;
  const template = options.empty ? 'template1' : inject('templateName');
  await admin(`CREATE DATABASE ${name} TEMPLATE ${template} ${inject('copying')}`);
  return {
    url: databaseUrl(inject('adminUrl'), name),
    remove: () => admin(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

async function admin(sql: string): Promise<void> {
  const client = await connect(inject('adminUrl'), 'tests', 60_000);
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
