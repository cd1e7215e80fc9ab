import { columnName, type DumpRow } from './read-dump.js';
import { isBase64 } from '../../../../src/core/base64.js';
import { isStorable } from '../../../../src/core/storable-text.js';
import { parseTaskId } from '../../../../src/core/task-id.js';

/** A row of a dump in the columns of our table, or why it cannot be one. Times are in ISO 8601, bytes a literal. */
export type StoredRow =
  { kind: 'row'; columns: Record<string, string | number | boolean | null> } | { kind: 'unreadable'; reason: string };

type Columns = Extract<StoredRow, { kind: 'row' }>['columns'];

export interface DumpTable {
  /** Name of the table in the older installation, and of its file. */
  name: string;
  /** Our table. */
  table: 'task_history' | 'request_history' | 'deploy_history' | 'task_usage';
  read: (row: DumpRow) => StoredRow;
}

const iso = (millis: number): string => new Date(millis).toISOString();
const isoOrNull = (millis: number | null): string | null => (millis === null ? null : iso(millis));

/** A payload that is missing is one that cannot be read: the row is kept, and the backfill lists it. */
const noBytes = '\\x';

function task(row: DumpRow): Columns {
  const id = text(row, 'taskId');
  const parts = parseTaskId(id);
  if (!parts) throw new CellProblem('taskId is not a task id');
  const bytes = flag(row, 'purged') ? null : optionalBytes(row, 'json', 'bytes');
  // The id tells the start to the millisecond, the columns only to the second.
  const updatedAt = optionalTime(row, 'updatedAt') ?? parts.startedAt;
  return {
    task_id: id,
    request_id: optionalText(row, 'requestId') ?? parts.requestId,
    deploy_id: optionalText(row, 'deployId') ?? parts.deployId,
    run_id: optionalText(row, 'runId'),
    host: parts.host,
    rack_id: parts.rackId,
    instance_no: parts.instanceNo,
    started_at: iso(parts.startedAt),
    updated_at: iso(Math.max(updatedAt, parts.startedAt)),
    last_task_status: optionalText(row, 'lastTaskStatus'),
    purged: bytes === null,
    bytes,
  };
}

const request = (row: DumpRow): Columns => ({
  request_id: text(row, 'requestId'),
  created_at: iso(time(row, 'createdAt')),
  event_type: text(row, 'requestState'),
  user_name: optionalText(row, 'user', 'f_user'),
  message: optionalText(row, 'message'),
  bytes: optionalBytes(row, 'json', 'request') ?? noBytes,
});

const deploy = (row: DumpRow): Columns => ({
  request_id: text(row, 'requestId'),
  deploy_id: text(row, 'deployId'),
  created_at: iso(time(row, 'createdAt')),
  user_name: optionalText(row, 'user', 'f_user'),
  message: optionalText(row, 'message'),
  deploy_state: optionalText(row, 'deployState'),
  deploy_state_at: isoOrNull(optionalTime(row, 'deployStateAt')),
  bytes: optionalBytes(row, 'json', 'bytes') ?? noBytes,
});

const usage = (row: DumpRow): Columns => ({
  task_id: text(row, 'taskId'),
  request_id: text(row, 'requestId'),
  sampled_at: iso(number(row, 'timestamp')),
  memory_total_bytes: number(row, 'memoryTotalBytes'),
  disk_total_bytes: number(row, 'diskTotalBytes'),
  cpu_seconds: number(row, 'cpuSeconds'),
  cpus_nr_periods: number(row, 'cpusNrPeriods'),
  cpus_nr_throttled: number(row, 'cpusNrThrottled'),
  cpus_throttled_time_secs: number(row, 'cpusThrottledTimeSecs'),
});

const table = (name: string, ours: DumpTable['table'], columnsOf: (row: DumpRow) => Columns): DumpTable => ({
  name,
  table: ours,
  read: (row) => {
    try {
      return { kind: 'row', columns: columnsOf(row) };
    } catch (cause) {
      if (cause instanceof CellProblem) return { kind: 'unreadable', reason: cause.message };
      // Of what is written in a cell only a number can be beyond what a date can hold.
      if (cause instanceof RangeError) return { kind: 'unreadable', reason: 'a time is out of range' };
      throw cause;
    }
  },
});

/** The tables of a dump, in the order in which they are read. */
export const dumpTables: readonly DumpTable[] = [
  table('taskHistory', 'task_history', task),
  table('requestHistory', 'request_history', request),
  table('deployHistory', 'deploy_history', deploy),
  table('taskUsage', 'task_usage', usage),
];

/** The file of such a table, whatever its database made of the name. */
export const dumpTableOf = (file: string): DumpTable | undefined =>
  dumpTables.find(({ name }) => columnName(file.replace(/\.csv$/i, '')) === columnName(name));

/** A cell whose text does not fit its column. */
class CellProblem extends Error {}

function text(row: DumpRow, column: string): string {
  const cell = row[columnName(column)];
  if (cell == null || cell === '') throw new CellProblem(`${column} is missing`);
  return storable(cell, column);
}

function optionalText(row: DumpRow, ...columns: string[]): string | null {
  for (const column of columns) {
    const cell = row[columnName(column)];
    if (cell != null) return storable(cell, column);
  }
  return null;
}

function storable(cell: string, column: string): string {
  if (!isStorable(cell)) throw new CellProblem(`${column} contains a character that cannot be stored`);
  return cell;
}

function number(row: DumpRow, column: string): number {
  const value = Number(text(row, column));
  if (!Number.isFinite(value)) throw new CellProblem(`${column} is not a number`);
  return value;
}

function flag(row: DumpRow, column: string): boolean {
  const cell = row[columnName(column)];
  return cell != null && /^(t|true|1|y|yes)$/i.test(cell);
}

/** Epoch milliseconds of a time as databases write it; without a zone it is UTC. */
function optionalTime(row: DumpRow, column: string): number | null {
  const cell = row[columnName(column)];
  if (cell == null || cell === '') return null;
  const match = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))? ?(Z|[+-]\d\d(?::?\d\d)?)?$/.exec(cell);
  const [, date, clock, fraction = '0', zone = 'Z'] = match ?? [];
  const offset = zone === 'Z' ? zone : `${zone.slice(0, 3)}:${zone.slice(3).replace(':', '') || '00'}`;
  const millis = match ? Date.parse(`${date}T${clock}.${fraction.slice(0, 3).padEnd(3, '0')}${offset}`) : NaN;
  if (Number.isNaN(millis)) throw new CellProblem(`${column} is not a time`);
  return millis;
}

function time(row: DumpRow, column: string): number {
  const millis = optionalTime(row, column);
  if (millis === null) throw new CellProblem(`${column} is missing`);
  return millis;
}

/**
 * A payload as a literal of PostgreSQL: JSON text as it is, else what a database wrote for bytes, in hexadecimal digits
 * (with or without \x or 0x) or in base 64. null: there is none.
 */
function optionalBytes(row: DumpRow, ...columns: string[]): string | null {
  for (const column of columns) {
    const cell = row[columnName(column)]?.trim();
    if (!cell) continue;
    if (cell.startsWith('{')) return `\\x${Buffer.from(cell).toString('hex')}`;
    const [, digits] = /^(?:\\x|0x)?((?:[0-9a-f]{2})+)$/i.exec(cell) ?? [];
    if (digits !== undefined) return `\\x${digits}`;
    if (!isBase64(cell)) {
      throw new CellProblem(`${column} is neither JSON nor bytes in hexadecimal digits or base 64`);
    }
    return `\\x${Buffer.from(cell, 'base64').toString('hex')}`;
  }
  return null;
}
