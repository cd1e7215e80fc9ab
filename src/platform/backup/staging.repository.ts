import { pipeline } from 'node:stream/promises';
import type { Client } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { connect, discard, withParameters } from '../database/connection.js';
import { migrationsTable } from '../database/pool.js';
import { type BackupReader, type Sequence, type Table, UnusableBackup } from './backup-file.js';
import { instancesConnected, objectsIn, presentSchema, StateInTheWay } from './objects.repository.js';

/** Schema in which a restore puts everything until it is whole. */
const stagingSchema = 'muster_restore';
/** "mres": restores of one database take turns, or rather the second one does not begin. */
const restoreLock = 0x6d726573;

/** The schema beside the present one. */
export class Staging {
  private constructor(
    private readonly client: Client,
    /** A connection by it finds, and makes, tables there. */
    readonly url: string,
    private readonly replace: boolean,
  ) {}

  /** Refused where a restore would be, before anything is read. */
  static async open(url: string, replace: boolean): Promise<Staging> {
    const client = await connect(url, 'restore', undefined);
    try {
      const { rows } = await client.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1) AS taken', [
        restoreLock,
      ]);
      if (!rows[0]!.taken) throw new StateInTheWay('Another restore is under way on this database');
      await refuse(client, replace);
      await client.query(`DROP SCHEMA IF EXISTS ${stagingSchema} CASCADE`);
      await client.query(`CREATE SCHEMA ${stagingSchema}`);
      return new Staging(client, withParameters(url, { search_path: stagingSchema }), replace);
    } catch (cause) {
      discard(client);
      throw cause;
    }
  }

  /** Fills the tables that the migrations of the backup have made. Answers how many rows there are. */
  async load(reader: BackupReader, progress: (rows: number) => void): Promise<number> {
    const client = await connect(this.url, 'restore', undefined);
    try {
      await client.query('BEGIN');
      const tables = await tablesOf(client);
      const names = [...tables.keys()].map((name) => client.escapeIdentifier(name));
      // What migrations put there is in the backup as well.
      await client.query(`TRUNCATE ${names.join(', ')} RESTART IDENTITY`);
      // Rows are put back as they were, and nothing is told of it.
      for (const name of names) await client.query(`ALTER TABLE ${name} DISABLE TRIGGER USER`);
      let rows = 0;
      for (;;) {
        const part = await reader.next();
        if ('sequences' in part) {
          if (tables.size > 0) throw new UnusableBackup(`The backup lacks the table ${[...tables.keys()][0]}`);
          await setSequences(client, part.sequences);
          break;
        }
        const columns = tables.get(part.table);
        // A table that the operator has made in the schema.
        if (columns === undefined) for await (const _chunk of part.rows);
        else rows += await copy(client, part, columns);
        tables.delete(part.table);
        progress(rows);
      }
      for (const name of names) await client.query(`ALTER TABLE ${name} ENABLE TRIGGER USER`);
      await client.query('COMMIT');
      // Else the first statements are planned for empty tables.
      for (const name of names) await client.query(`ANALYZE ${name}`);
      return rows;
    } finally {
      discard(client);
    }
  }

  /** In one transaction: what was there is gone, and what was restored stands in its place. */
  async putInPlace(): Promise<void> {
    await this.client.query('BEGIN');
    await refuse(this.client, this.replace);
    const { schema, objects } = await presentSchema(this.client);
    const into = this.client.escapeIdentifier(schema);
    const restored = await objectsIn(this.client, stagingSchema);
    // One may be gone with another that it depended on.
    for (const { kind, name } of objects) await this.client.query(`DROP ${kind} IF EXISTS ${name} CASCADE`);
    for (const { kind, name } of restored) await this.client.query(`ALTER ${kind} ${name} SET SCHEMA ${into}`);
    await this.client.query(`DROP SCHEMA ${stagingSchema}`);
    await this.client.query('COMMIT');
  }

  /** Removes what is left of a restore that failed. */
  async close(): Promise<void> {
    // Without a connection it stays, until the next restore.
    const gone = (): void => undefined;
    await this.client.query('ROLLBACK').catch(gone);
    await this.client.query(`DROP SCHEMA IF EXISTS ${stagingSchema} CASCADE`).catch(gone);
    discard(this.client);
  }
}

async function refuse(client: Client, replace: boolean): Promise<void> {
  if ((await instancesConnected(client)) > 0)
    throw new StateInTheWay('Muster runs on this database: stop every scheduler first');
  const { schema, objects } = await presentSchema(client);
  if (replace || objects.length === 0) return;
  throw new StateInTheWay(
    `The database is not empty: its schema '${schema}' holds ${objects.length} tables and the like; ` +
      'with --replace the backup takes the place of them all',
  );
}

/** Columns that take values, by their table. */
async function tablesOf(client: Client): Promise<Map<string, string[]>> {
  const { rows } = await client.query<Table>(
    `SELECT relname AS table, array_agg(attname::text ORDER BY attnum) AS columns
     FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
     WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relname <> $1
       AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
     GROUP BY relname`,
    [migrationsTable],
  );
  return new Map(rows.map(({ table, columns }) => [table, columns]));
}

async function copy(
  client: Client,
  { table, columns, rows }: Table & { rows: AsyncIterable<Buffer> },
  known: readonly string[],
): Promise<number> {
  if (columns.toSorted().join() !== known.toSorted().join())
    throw new UnusableBackup(`The backup does not fit its version: the columns of ${table} are others`);
  const names = columns.map((column) => client.escapeIdentifier(column)).join(', ');
  const target = client.query(copyFrom(`COPY ${client.escapeIdentifier(table)} (${names}) FROM STDIN`));
  try {
    await pipeline(rows, target);
  } catch (cause) {
    // Class 22: a value that is none, or a row with too few or too many; 23: one that the table does not take.
    const { code, message } = cause as { code?: string; message: string };
    if (/^2[23]\w{3}$/.test(code ?? ''))
      throw new UnusableBackup(`The backup is damaged: ${table}: ${message}`, { cause });
    throw cause;
  }
  return target.rowCount;
}

async function setSequences(client: Client, sequences: readonly Sequence[]): Promise<void> {
  for (const { name, last } of sequences) {
    // Those of tables that the operator has made are not there.
    await client.query('SELECT setval(found, $2) FROM to_regclass(quote_ident($1)) AS found WHERE found IS NOT NULL', [
      name,
      last,
    ]);
  }
}
