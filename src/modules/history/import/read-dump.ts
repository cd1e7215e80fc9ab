import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { columnName, CsvReader, type Cell, type DumpRow } from '../../../core/history/index.js';

/** A row of a file. name: where it stands, for people. unreadable: it does not fit below the header. */
export type DumpFileRow = { name: string; cells: DumpRow } & ({ kind: 'row' } | { kind: 'unreadable'; reason: string });

/** The rows of a CSV file below its header, one by one: the file may be longer than memory. */
export async function* readDump(path: string): AsyncGenerator<DumpFileRow> {
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
