import type { DataSource } from 'typeorm';
import type { Cell, DumpTable, StoredRow } from '../../../core/history/index.js';
import { rows } from '../../../platform/database/sql.js';
import { readDump, type DumpFileRow } from './read-dump.js';

/** Rows per statement. */
const batchSize = 500;

/** What became of the rows of one file. */
export interface ImportCounts {
  imported: number;
  /** Rows that were here already: the import may be repeated. */
  alreadyThere: number;
  unreadable: number;
}

interface Readable {
  row: DumpFileRow;
  columns: Extract<StoredRow, { kind: 'row' }>['columns'];
}

/** Copies one file of an old dump into our table. Rows that our table cannot take are listed in unreadable_history. */
export class HistoryImport {
  private counts: ImportCounts = { imported: 0, alreadyThere: 0, unreadable: 0 };

  constructor(
    private readonly db: DataSource,
    private readonly path: string,
    private readonly table: DumpTable,
  ) {}

  /** batchDone: called after each batch; what it throws ends the import. */
  async run(batchDone: () => void = () => undefined): Promise<ImportCounts> {
    let batch: Readable[] = [];
    for await (const row of readDump(this.path)) {
      const read = row.kind === 'row' ? this.table.read(row.cells) : row;
      if (read.kind === 'unreadable') await this.list(row, read.reason);
      else batch.push({ row, columns: read.columns as Readable['columns'] });
      if (batch.length < batchSize) continue;
      await this.write(batch);
      batch = [];
      batchDone();
    }
    await this.write(batch);
    await this.db.query(`ANALYZE ${this.table.table}`);
    return this.counts;
  }

  private async write(batch: Readable[]): Promise<void> {
    if (batch.length === 0) return;
    const names = Object.keys(batch[0]!.columns).join(', ');
    try {
      const written = await rows(
        this.db.manager,
        `INSERT INTO ${this.table.table} (${names})
         SELECT ${names} FROM jsonb_populate_recordset(NULL::${this.table.table}, $1::jsonb) ON CONFLICT DO NOTHING RETURNING 1`,
        [JSON.stringify(batch.map(({ columns }) => columns))],
      );
      this.counts.imported += written.length;
      this.counts.alreadyThere += batch.length - written.length;
    } catch (cause) {
      if (!isAboutData(cause)) throw cause;
      await this.writeParts(batch, cause as Error);
    }
  }

  /** One row spoils its batch: the others are written in smaller ones, until it is alone. */
  private async writeParts(batch: Readable[], cause: Error): Promise<void> {
    if (batch.length === 1) return this.list(batch[0]!.row, cause.message);
    const middle = batch.length >> 1;
    await this.write(batch.slice(0, middle));
    await this.write(batch.slice(middle));
  }

  private async list({ name, cells }: DumpFileRow, reason: string): Promise<void> {
    this.counts.unreadable += 1;
    await this.db.query(
      `INSERT INTO unreadable_history (kind, key, reason, found_at, source) VALUES ('IMPORT', $1, $2, now(), $3)
       ON CONFLICT (kind, key) DO UPDATE SET reason = excluded.reason, source = excluded.source`,
      [name, reason, storable(cells)],
    );
  }
}

/** Values out of range or too long: classes 22 and 54 of SQL's error codes. */
const isAboutData = (cause: unknown): boolean => /^(22|54)/.test((cause as { code?: string }).code ?? '');

/** What PostgreSQL cannot store is shown as the sign for an unknown character. */
const storable = (cells: Readonly<Record<string, Cell>>): string =>
  JSON.stringify(cells, (_name, value: unknown) =>
    typeof value === 'string' ? value.replaceAll(/\0|\p{Surrogate}/gu, '\uFFFD') : value,
  );
