import { Injectable } from '@nestjs/common';
import type { PayloadKind } from '../../../core/history/index.js';
import type { Queryable } from '../../../platform/database/queryable.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import { rows, toMillis } from '../../../platform/database/sql.js';

/** A run that has not finished. */
export interface BackfillRun {
  id: number;
  batchSize: number;
  kind: PayloadKind;
  /** Key of the last row of this kind that was looked at; empty: none yet. */
  position: string[];
}

/** Progress of the newest run; zeros before the first one. */
export interface BackfillProgress {
  running: boolean;
  /** Epoch milliseconds. */
  startedAt?: number;
  finishedAt?: number;
  tasksConverted: number;
  requestsConverted: number;
  deploysConverted: number;
  /** Rows that it could not read. */
  unreadable: number;
}

type ProgressRow = Omit<BackfillProgress, 'running' | 'startedAt' | 'finishedAt'> & {
  started_at: Date;
  finished_at: Date | null;
};

const nothing = { tasksConverted: 0, requestsConverted: 0, deploysConverted: 0, unreadable: 0 };

interface OldRow {
  key: string[];
  bytes: Buffer;
}

/** Table and columns of one kind. key: its parts in the order of the index of what is left to do. */
interface Place {
  table: string;
  key: { column: string; type: string }[];
  document: string;
  /** It has not been converted yet. */
  waits: (alias: string) => string;
  converted: string;
}

const column = (name: string, type = 'text') => ({ column: name, type });

const places: Readonly<Record<PayloadKind, Place>> = {
  TASK: {
    table: 'task_history',
    key: [column('request_id'), column('task_id')],
    document: 'data',
    waits: (h) => `${h}.bytes IS NOT NULL AND ${h}.data IS NULL AND NOT ${h}.purged`,
    converted: 'tasks_converted',
  },
  REQUEST: {
    table: 'request_history',
    key: [column('request_id'), column('created_at', 'timestamptz'), column('event_type')],
    document: 'request',
    waits: (h) => `${h}.bytes IS NOT NULL AND ${h}.request IS NULL`,
    converted: 'requests_converted',
  },
  DEPLOY: {
    table: 'deploy_history',
    key: [column('request_id'), column('deploy_id')],
    document: 'data',
    waits: (h) => `${h}.bytes IS NOT NULL AND ${h}.data IS NULL`,
    converted: 'deploys_converted',
  },
};

const list = (parts: string[]): string => parts.join(', ');
const joined = (key: readonly string[]): string => key.join('/');

/**
 * The rows of an older installation, and the runs over them. By hand, and the one place besides the import that changes rows
 * of three rooms: each installation converts them once, and the statements differ only in the names of a table's columns.
 */
@Injectable()
export class HistoryBackfillRepository {
  /** false: one is under way. */
  async begin(tx: Transaction, batchSize: number, now: Date): Promise<boolean> {
    const begun = await rows(
      tx,
      `INSERT INTO history_backfill (batch_size, started_at) VALUES ($1, $2) ON CONFLICT ((true)) WHERE finished_at IS NULL
       DO NOTHING RETURNING id`,
      [batchSize, now],
    );
    return begun.length > 0;
  }

  /** Progress of the newest run; zeros before the first one. */
  async progress(tx: Queryable): Promise<BackfillProgress> {
    const [newest] = await rows<ProgressRow>(
      tx,
      `SELECT started_at, finished_at, tasks_converted AS "tasksConverted", requests_converted AS "requestsConverted",
         deploys_converted AS "deploysConverted", unreadable FROM history_backfill ORDER BY id DESC LIMIT 1`,
    );
    if (!newest) return { running: false, ...nothing };
    const { started_at: startedAt, finished_at: finishedAt, ...counts } = newest;
    return {
      running: finishedAt === null,
      startedAt: startedAt.getTime(),
      finishedAt: toMillis(finishedAt),
      ...counts,
    };
  }

  /** The run under way, locked until `tx` ends. */
  async running(tx: Transaction): Promise<BackfillRun | undefined> {
    const found = await rows<BackfillRun>(
      tx,
      `SELECT id, batch_size AS "batchSize", kind, position FROM history_backfill WHERE finished_at IS NULL FOR UPDATE`,
    );
    return found[0];
  }

  /** The next rows after the position, in the order of their keys. */
  async next(tx: Transaction, { kind, position, batchSize }: BackfillRun): Promise<OldRow[]> {
    const { table, key, waits } = places[kind];
    const columns = list(key.map((part) => part.column));
    const after = key.map((part, index) => `$${index + 2}::${part.type}`);
    return rows<OldRow>(
      tx,
      `SELECT ARRAY[${list(key.map((part) => `${part.column}::text`))}] AS key, bytes FROM ${table} h
       WHERE ${waits('h')} ${position.length > 0 ? `AND (${columns}) > (${list(after)})` : ''} ORDER BY ${columns} LIMIT $1`,
      [batchSize, ...position],
    );
  }

  /** Returns how many of them still waited: a row that was purged meanwhile stays empty. */
  async convert(tx: Transaction, kind: PayloadKind, found: { key: string[]; document: object }[]): Promise<number> {
    if (found.length === 0) return 0;
    const { table, key, document, waits } = places[kind];
    const parts = key.map((part, index) => `n.key[${index + 1}]::${part.type} = h.${part.column}`);
    const converted = await rows(
      tx,
      `UPDATE ${table} h SET ${document} = n.document, bytes = NULL
       FROM (SELECT ARRAY(SELECT jsonb_array_elements_text(e->'key')) AS key, e->'document' AS document
             FROM jsonb_array_elements($1::jsonb) e) n
       WHERE ${parts.join(' AND ')} AND ${waits('h')} RETURNING 1`,
      [JSON.stringify(found)],
    );
    await this.forget(tx, kind, found.map((row) => row.key)); // prettier-ignore
    return converted.length;
  }

  async list(tx: Transaction, kind: PayloadKind, found: { key: string[]; reason: string }[], now: Date): Promise<void> {
    if (found.length === 0) return;
    await tx.query(
      `INSERT INTO unreadable_history (kind, key, reason, found_at)
       SELECT $1, key, reason, $4 FROM unnest($2::text[], $3::text[]) AS n (key, reason)
       ON CONFLICT (kind, key) DO UPDATE SET reason = excluded.reason, found_at = excluded.found_at`,
      [kind, found.map((row) => joined(row.key)), found.map((row) => row.reason), now],
    );
  }

  /** Notes how far it has come. */
  async advance(
    tx: Transaction,
    run: BackfillRun,
    { position, converted, unreadable }: { position: string[]; converted: number; unreadable: number },
  ): Promise<void> {
    const { converted: counter } = places[run.kind];
    await tx.query(
      `UPDATE history_backfill SET position = $2, ${counter} = ${counter} + $3, unreadable = unreadable + $4 WHERE id = $1`,
      [run.id, position, converted, unreadable],
    );
  }

  async turnTo(tx: Transaction, run: BackfillRun, kind: PayloadKind): Promise<void> {
    await tx.query(`UPDATE history_backfill SET kind = $2, position = '{}' WHERE id = $1`, [run.id, kind]);
  }

  async finish(tx: Transaction, run: BackfillRun, now: Date): Promise<void> {
    await tx.query('UPDATE history_backfill SET finished_at = $2 WHERE id = $1', [run.id, now]);
  }

  /** Forgets records as unreadable that can be read now. */
  private async forget(tx: Transaction, kind: PayloadKind, keys: string[][]): Promise<void> {
    await tx.query('DELETE FROM unreadable_history WHERE kind = $1 AND key = ANY ($2)', [kind, keys.map(joined)]);
  }
}
