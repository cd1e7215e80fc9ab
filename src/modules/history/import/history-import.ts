import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import {
  columnName,
  CsvReader,
  type Cell,
  type DumpRow,
  type DumpTable,
  type StoredRow,
} from '../../../core/history/index.js';
import { storableText } from '../../../core/storable-text.js';
import { byHalves } from '../../../platform/database/by-halves.js';
import type { Queryable } from '../../../platform/database/queryable.js';
import { DumpRowsRepository } from './dump-rows.repository.js';

/** Rows per statement. */
const batchSize = 500;

/** What became of the rows of one file. */
interface ImportCounts {
  imported: number;
  /** Rows that were here already: the import may be repeated. */
  alreadyThere: number;
  unreadable: number;
}

/** A row of a file. name: where it stands, for people. unreadable: it does not fit below the header. */
type DumpFileRow = { name: string; cells: DumpRow } & ({ kind: 'row' } | { kind: 'unreadable'; reason: string });

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

/** The rows of a CSV file below its header, one by one: the file may be longer than memory. */
async function* readDump(path: string): AsyncGenerator<DumpFileRow> {
  const reader = new CsvReader();
  let header: string[] | undefined;
  let number = 0;
  const rowsOf = function* (found: Cell[][]): Generator<DumpFileRow> {
    for (const cells of found) {
      number += 1;
      if (header) yield toRow(`${basename(path)} row ${number}`, header, cells);
      else header = cells.map((cell) => columnName(cell ?? ''));
    }
  };
  for await (const piece of createReadStream(path, { encoding: 'utf8' })) {
    // Programs of Windows begin a file with a mark that is no part of the first name.
    yield* rowsOf(reader.push(number === 0 ? (piece as string).replace(/^\uFEFF/, '') : (piece as string)));
  }
  yield* rowsOf(reader.end());
}

function toRow(name: string, header: string[], found: Cell[]): DumpFileRow {
  const cells = Object.fromEntries(found.map((cell, index) => [header[index] ?? `cell ${index + 1}`, cell]));
  if (found.length === header.length) return { kind: 'row', name, cells };
  return { kind: 'unreadable', name, cells, reason: `It has ${found.length} cells, the header has ${header.length}` };
}
