import type { DataSource } from 'typeorm';
import { StartError } from '../errors.js';
import { connect, discard } from './connection.js';
import { createDataSource, migrationsTable } from './data-sources.js';
import { migrations } from './migrations.js';

/** "muster" in ASCII, first four bytes: the advisory lock under which instances take turns to migrate. */
const migrationLock = 0x6d757374;
const longestWaitMillis = 300_000;

/**
 * Brings the schema up to date. Several instances may start at once: one migrates, the others wait and find nothing
 * left to do. Returns the names of the migrations that ran. A schema that a newer program made is refused untouched.
 */
export async function migrate(url: string): Promise<string[]> {
  // The lock belongs to a connection of its own, so that it vanishes with this process whatever happens.
  const lock = await connect(url, 'migrate', longestWaitMillis);
  try {
    await lock.query('SELECT pg_advisory_lock($1)', [migrationLock]);
    const source = createDataSource({ url, use: 'api', poolSize: 1 });
    try {
      await source.initialize();
      await refuseNewerSchema(source);
      const done = await source.runMigrations({ transaction: 'each' });
      return done.map((migration) => migration.name);
    } finally {
      if (source.isInitialized) await source.destroy();
    }
  } finally {
    discard(lock);
  }
}

/** This program would misread what it does not know, and write what the newer one does not expect. */
async function refuseNewerSchema(source: DataSource): Promise<void> {
  const [table] = (await source.query('SELECT to_regclass($1) AS name', [migrationsTable])) as {
    name: string | null;
  }[];
  if (!table?.name) return;
  const done = (await source.query(`SELECT name FROM ${migrationsTable} ORDER BY timestamp DESC, id DESC`)) as {
    name: string;
  }[];
  const known = new Set(migrations.map(({ name }) => name));
  const unknown = done.find(({ name }) => !known.has(name));
  if (!unknown) return;
  throw new StartError(
    `The database was migrated by a newer Muster, up to ${unknown.name}; this one knows migrations up to ` +
      `${migrations.at(-1)!.name}: start the newer one, or restore a backup from before the upgrade`,
  );
}
