import type { Client } from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { connect, discard } from '../database/connection.js';
import { migrationsTable } from '../database/pool.js';
import { migrationLock } from '../database/migrate.js';
import { StateInTheWay } from './objects.repository.js';
import type { Sequence, Table } from './backup-file.js';

/** One moment of the database, read while everything goes on. */
export class Snapshot {
  private readonly ended: Promise<unknown>;

  private constructor(
    private readonly client: Client,
    readonly at: Date,
    readonly migrations: string[],
    readonly tables: Table[],
  ) {
    this.ended = new Promise((resolve) => client.once('end', resolve));
  }

  static async open(url: string): Promise<Snapshot> {
    const client = await connect(url, 'backup', undefined);
    try {
      return await take(client, (...facts) => new Snapshot(client, ...facts));
    } catch (cause) {
      discard(client);
      throw cause;
    }
  }

  /** As COPY writes them. Those of one table have to be read before those of the next are asked for. */
  async *rowsOf({ table, columns }: Table): AsyncGenerator<Buffer> {
    const names = columns.map((column) => this.client.escapeIdentifier(column)).join(', ');
    // The last rows come before the server is ready for another statement.
    const isReady = new Promise<unknown>((resolve) => this.client.once('drain', resolve));
    yield* this.client.query(copyTo(`COPY ${this.client.escapeIdentifier(table)} (${names}) TO STDOUT`));
    await Promise.race([isReady, this.ended]);
  }

  /** As they are now: a number that was taken since is not given again, either. */
  async sequences(): Promise<Sequence[]> {
    const { rows } = await this.client.query<Sequence>(
      `SELECT sequencename AS name, last_value AS last FROM pg_sequences
       WHERE schemaname = current_schema() AND last_value IS NOT NULL ORDER BY sequencename`,
    );
    return rows;
  }

  close(): void {
    discard(this.client);
  }
}

async function take(client: Client, made: (at: Date, migrations: string[], tables: Table[]) => Snapshot) {
  // The schema stays what it is until all its tables are locked against changes of theirs.
  const { rows: turns } = await client.query<{ taken: boolean }>('SELECT pg_try_advisory_lock_shared($1) AS taken', [
    migrationLock,
  ]);
  if (!turns[0]!.taken) throw new StateInTheWay('The database is being migrated: make the backup when that is over');
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  const { rows: facts } = await client.query<{ at: Date; migrated: boolean }>(
    'SELECT now() AS at, to_regclass($1) IS NOT NULL AS migrated',
    [migrationsTable],
  );
  const { at, migrated } = facts[0]!;
  if (!migrated) throw new StateInTheWay('The database has no tables of Muster: there is nothing to back up');
  const { rows: migrations } = await client.query<{ name: string }>(
    `SELECT name FROM ${migrationsTable} ORDER BY timestamp, id`,
  );
  const { rows: tables } = await client.query<Table>(tablesInOrder, [migrationsTable]);
  const names = tables.map(({ table }) => client.escapeIdentifier(table)).join(', ');
  await client.query(`LOCK TABLE ${names} IN ACCESS SHARE MODE`);
  await client.query('SELECT pg_advisory_unlock_shared($1)', [migrationLock]);
  return made(
    at,
    migrations.map(({ name }) => name),
    tables,
  );
}

/** A table after those that its foreign keys refer to, so that rows find what they refer to. */
const tablesInOrder = `
  WITH RECURSIVE place AS (
    SELECT oid, 0 AS depth FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relname <> $1
    UNION
    SELECT conrelid, depth + 1 FROM pg_constraint JOIN place ON confrelid = place.oid
    WHERE contype = 'f' AND conrelid <> confrelid AND depth < 100)
  SELECT relname AS table, columns FROM (SELECT oid, max(depth) AS depth FROM place GROUP BY oid) AS each
    JOIN pg_class USING (oid),
    LATERAL (SELECT array_agg(attname::text ORDER BY attnum) AS columns FROM pg_attribute
      WHERE attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = '') AS kept
  ORDER BY depth, relname`;
