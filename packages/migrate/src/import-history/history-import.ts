import { storableText } from '../../../../src/core/storable-text.js';
import { byHalves } from '../../../../src/platform/database/by-halves.js';
import type { Queryable } from '../../../../src/platform/database/queryable.js';
import { DumpRowsRepository } from './dump-rows.repository.js';
import type { DumpTable, StoredRow } from './dump-tables.js';
import { type Cell, type DumpFileRow, readDump } from './read-dump.js';

/** Rows per statement. */
const batchSize = 500;

/** Counts of the rows of one file. */
interface ImportCounts {
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
  private readonly dumpRows: DumpRowsRepository;

  constructor(
    db: Queryable,
    private readonly path: string,
    private readonly table: DumpTable,
  ) {
    this.dumpRows = new DumpRowsRepository(db, table);
  }

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
    await this.dumpRows.haveCounted();
    return this.counts;
  }

  private write(batch: readonly Readable[]): Promise<void> {
    return byHalves(batch, {
      work: (some) => this.insert(some),
      isAboutItems: isAboutData,
      alone: ({ row }, cause) => this.list(row, (cause as Error).message),
    });
  }

  private async insert(batch: readonly Readable[]): Promise<void> {
    const imported = await this.dumpRows.insert(batch.map(({ columns }) => columns));
    this.counts.imported += imported;
    this.counts.alreadyThere += batch.length - imported;
  }

  private async list({ name, cells }: DumpFileRow, reason: string): Promise<void> {
    this.counts.unreadable += 1;
    await this.dumpRows.listUnreadable(name, reason, storable(cells));
  }
}

/** Values out of range or too long: classes 22 and 54 of SQL's error codes. */
const isAboutData = (cause: unknown): boolean => /^(22|54)/.test((cause as { code?: string }).code ?? '');

const storable = (cells: Readonly<Record<string, Cell>>): string =>
  JSON.stringify(cells, (_name, value: unknown) => (typeof value === 'string' ? storableText(value) : value));
