import type { Cell } from './csv.js';

/** One row of a dump: cells by the names of their columns, in small letters and without underscores. */
export type DumpRow = Readonly<Record<string, Cell>>;

/** Databases write the same name as requestId, requestid or request_id. */
export const columnName = (written: string): string => written.trim().toLowerCase().replaceAll('_', '');

/** What a cell holds cannot be what its column is for. */
export class CellProblem extends Error {}

export function text(row: DumpRow, column: string): string {
  const cell = row[columnName(column)];
  if (cell == null || cell === '') throw new CellProblem(`${column} is missing`);
  return storable(cell, column);
}

export function optionalText(row: DumpRow, ...columns: string[]): string | null {
  for (const column of columns) {
    const cell = row[columnName(column)];
    if (cell != null) return storable(cell, column);
  }
  return null;
}

/** PostgreSQL stores neither NUL nor halves of characters. */
function storable(cell: string, column: string): string {
  if (/\0|\p{Surrogate}/u.test(cell)) throw new CellProblem(`${column} contains a character that cannot be stored`);
  return cell;
}

export function number(row: DumpRow, column: string): number {
  const value = Number(text(row, column));
  if (!Number.isFinite(value)) throw new CellProblem(`${column} is not a number`);
  return value;
}

export function flag(row: DumpRow, column: string): boolean {
  const cell = row[columnName(column)];
  return cell != null && /^(t|true|1|y|yes)$/i.test(cell);
}

/** Epoch milliseconds of a time as databases write it; without a zone it is UTC. */
export function optionalTime(row: DumpRow, column: string): number | null {
  const cell = row[columnName(column)];
  if (cell == null || cell === '') return null;
  const match = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))? ?(Z|[+-]\d\d(?::?\d\d)?)?$/.exec(cell);
  const [, date, clock, fraction = '0', zone = 'Z'] = match ?? [];
  const offset = zone === 'Z' ? zone : `${zone.slice(0, 3)}:${zone.slice(3).replace(':', '') || '00'}`;
  const millis = match ? Date.parse(`${date}T${clock}.${fraction.slice(0, 3).padEnd(3, '0')}${offset}`) : NaN;
  if (Number.isNaN(millis)) throw new CellProblem(`${column} is not a time`);
  return millis;
}

export function time(row: DumpRow, column: string): number {
  const millis = optionalTime(row, column);
  if (millis === null) throw new CellProblem(`${column} is missing`);
  return millis;
}

/**
 * A payload as a literal of PostgreSQL: JSON text as it is, else what a database wrote for bytes, in hexadecimal digits
 * (with or without \x or 0x) or in base 64. null: there is none.
 */
export function optionalBytes(row: DumpRow, ...columns: string[]): string | null {
  for (const column of columns) {
    const cell = row[columnName(column)]?.trim();
    if (!cell) continue;
    if (cell.startsWith('{')) return `\\x${Buffer.from(cell).toString('hex')}`;
    const [, digits] = /^(?:\\x|0x)?((?:[0-9a-f]{2})+)$/i.exec(cell) ?? [];
    if (digits !== undefined) return `\\x${digits}`;
    if (!/^[A-Za-z0-9+/\s]+={0,2}$/.test(cell)) {
      throw new CellProblem(`${column} is neither JSON nor bytes in hexadecimal digits or base 64`);
    }
    return `\\x${Buffer.from(cell, 'base64').toString('hex')}`;
  }
  return null;
}
