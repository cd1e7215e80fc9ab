import { connect, discard } from './connection.js';
import { createDataSource } from './data-sources.js';

/** "muster" in ASCII, first four bytes: the advisory lock under which instances take turns to migrate. */
const migrationLock = 0x6d757374;
const longestWaitMillis = 300_000;

/**
 * Brings the schema up to date. Several instances may start at once: one migrates, the others wait and find nothing
 * left to do. Returns the names of the migrations that ran.
 */
export async function migrate(url: string): Promise<string[]> {
  // The lock belongs to a connection of its own, so that it vanishes with this process whatever happens.
  const lock = await connect(url, 'migrate', longestWaitMillis);
  try {
    await lock.query('SELECT pg_advisory_lock($1)', [migrationLock]);
    const source = createDataSource({ url, use: 'api', poolSize: 1 });
    try {
      await source.initialize();
      const done = await source.runMigrations({ transaction: 'each' });
      return done.map((migration) => migration.name);
    } finally {
      if (source.isInitialized) await source.destroy();
    }
  } finally {
    discard(lock);
  }
}
