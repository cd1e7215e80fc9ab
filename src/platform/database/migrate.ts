import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { Client } from 'pg';
import { type DataSource, type Migration, MigrationExecutor, type QueryRunner } from 'typeorm';
import { backOffMillis } from '../../core/back-off.js';
import { StartError } from '../errors.js';
import { connect, discard } from './connection.js';
import { DatabasePool, migrationsTable } from './pool.js';
import { migrations } from './migrations.js';

/** "muster" in ASCII, first four bytes: the advisory lock under which instances take turns to migrate. */
export const migrationLock = 0x6d757374;
const lockAnswerMillis = 10_000;
const lookAgainMillis = 250;
const sayAgainMillis = 30_000;
const firstPauseMillis = 100;
const longestPauseMillis = 2_000;
/** Locks that others hold for so long are not given back by themselves. */
const patienceMillis = 600_000;

const log = new Logger('Database');

/**
 * Brings the schema up to date. Several instances may start at once: one migrates, the others wait and find nothing
 * left to do. Returns the names of the migrations that ran. A schema that a newer program made is refused untouched.
 */
export async function migrate(url: string, known: readonly Function[] = migrations): Promise<string[]> {
  // The lock belongs to a connection of its own, so that it vanishes with this process whatever happens.
  const lock = await connect(url, 'migrate', lockAnswerMillis);
  try {
    await takeTurn(lock);
    const pool = new DatabasePool({ url, use: 'migrations', poolSize: 1, migrations: known });
    try {
      await pool.open();
      refuseNewerSchema(await migrationsDone(lock), known);
      const done: string[] = [];
      for (const migration of await new MigrationExecutor(pool.orm).getPendingMigrations()) {
        await untilLocked(migration, () => run(pool.orm, migration));
        done.push(migration.name);
      }
      return done;
    } finally {
      await pool.close();
    }
  } finally {
    discard(lock);
  }
}

/** The one before may build an index for hours. */
async function takeTurn(lock: Client): Promise<void> {
  for (let waited = 0; ; waited += lookAgainMillis) {
    const { rows } = await lock.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1) AS taken', [migrationLock]);
    if (rows[0]!.taken) return;
    if (waited % sayAgainMillis === 0) log.log('Another instance migrates the database; waiting for it');
    await delay(lookAgainMillis);
  }
}

async function untilLocked(migration: Migration, work: () => Promise<void>): Promise<void> {
  const deadline = performance.now() + patienceMillis;
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (cause) {
      if (!isInTheWay(cause)) throw cause;
      if (performance.now() > deadline) {
        throw new StartError(`${migration.name} needs a lock that other sessions hold: ${String(cause)}`, {
          cause,
        });
      }
      if (attempt === 1) log.warn(`${migration.name} waits for a lock; retrying: ${String(cause)}`);
      await delay(backOffMillis(attempt, firstPauseMillis, longestPauseMillis));
    }
  }
}

/** Lock time-out, deadlock, serialization failure. */
const isInTheWay = (cause: unknown): boolean =>
  ['55P03', '40P01', '40001'].includes(String((cause as { code?: unknown } | undefined)?.code));

async function run(source: DataSource, migration: Migration): Promise<void> {
  const runner = source.createQueryRunner();
  const executor = new MigrationExecutor(source, runner);
  try {
    if (migration.instance?.transaction === false) {
      // What builds concurrently waits for all transactions there are, and nothing waits for it.
      await runner.query('SET lock_timeout = 0');
      await executor.executeMigration(migration).finally(() => runner.query('RESET lock_timeout'));
      return;
    }
    await runner.startTransaction();
    await endFormerLeaders(runner);
    await executor.executeMigration(migration);
    await runner.commitTransaction();
  } catch (cause) {
    if (runner.isTransactionActive) await runner.rollbackTransaction().catch(() => undefined);
    throw cause;
  } finally {
    await runner.release();
  }
}

/**
 * An older instance that leads meanwhile commits nothing after this migration, as after a takeover. First of all locks, as in
 * every transaction of a leader.
 */
async function endFormerLeaders(runner: QueryRunner): Promise<void> {
  const [table] = (await runner.query(`SELECT to_regclass('leader_epoch') AS name`)) as { name: string | null }[];
  if (table?.name) await runner.query('UPDATE leader_epoch SET epoch = epoch + 1 WHERE epoch > 0');
}

/** Names of the migrations that `migrate` would run, which changes nothing yet. A newer schema is refused here, too. */
export async function missingMigrations(
  url: string,
  known: readonly Function[] = migrations,
): Promise<{ missing: string[]; isNew: boolean }> {
  const client = await connect(url, 'look', lockAnswerMillis);
  try {
    const done = await migrationsDone(client);
    refuseNewerSchema(done, known);
    const missing = known.map(({ name }) => name).filter((name) => !done.includes(name));
    return { missing, isNew: done.length === 0 };
  } finally {
    discard(client);
  }
}

/** The newest first. None: there is no schema of ours. */
async function migrationsDone(client: Client): Promise<string[]> {
  const { rows: tables } = await client.query<{ name: string | null }>('SELECT to_regclass($1) AS name', [
    migrationsTable,
  ]);
  if (!tables[0]?.name) return [];
  const { rows } = await client.query<{ name: string }>(
    `SELECT name FROM ${migrationsTable} ORDER BY timestamp DESC, id DESC`,
  );
  return rows.map(({ name }) => name);
}

/** This program would misread what it does not know, and write what the newer one does not expect. */
function refuseNewerSchema(done: readonly string[], migrations: readonly Function[]): void {
  const known = new Set(migrations.map(({ name }) => name));
  const unknown = done.find((name) => !known.has(name));
  if (unknown === undefined) return;
  throw new StartError(
    `The database was migrated by a newer Muster, up to ${unknown}; this one knows migrations up to ` +
      `${migrations.at(-1)!.name}: start the newer one, or restore a backup from before the upgrade`,
  );
}
