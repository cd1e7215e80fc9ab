import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { pipeline } from 'node:stream';
import { parse } from 'csv-parse';

/** One cell; null: the column holds no value. */
export type Cell = string | null;

/** One row of a dump: cells by the names of their columns, in small letters and without underscores. */
export type DumpRow = Readonly<Record<string, Cell>>;

/** A row of a file. name: where it stands, for people. unreadable: it does not fit below the header. */
export type DumpFileRow = { name: string; cells: DumpRow } & ({ kind: 'row' } | { kind: 'unreadable'; reason: string });

/** The longest row, in bytes. A quote that nothing closes would take the rest of a file into memory. */
const longestRow = 256 * 2 ** 20;

/** The rows of a CSV file below its header, one by one: the file may be longer than memory. */
export async function* readDump(path: string): AsyncGenerator<DumpFileRow> {
  let header: string[] | undefined;
  let number = 0;
  // The iteration throws a failure of either stream.
  for await (const cells of pipeline(createReadStream(path), csv(), () => undefined) as AsyncIterable<Cell[]>) {
    number += 1;
    if (header) yield toRow(`${basename(path)} row ${number}`, header, cells);
    else header = cells.map((cell) => columnName(cell ?? ''));
  }
}

/** Databases write the same name as requestId, requestid or request_id. */
export const columnName = (written: string): string => written.trim().toLowerCase().replaceAll('_', '');

/** An empty cell without quotes, and \N, hold no value. */
const csv = () =>
  parse({
    bom: true,
    cast: (text, { quoting }) => (!quoting && (text === '' || text === '\\N') ? null : text),
    max_record_size: longestRow,
    record_delimiter: ['\r\n', '\n'],
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
  });

function toRow(name: string, header: string[], found: Cell[]): DumpFileRow {
  const cells = Object.fromEntries(found.map((cell, index) => [header[index] ?? `cell ${index + 1}`, cell]));
  if (found.length === header.length) return { kind: 'row', name, cells };
  return { kind: 'unreadable', name, cells, reason: `It has ${found.length} cells, the header has ${header.length}` };
}
