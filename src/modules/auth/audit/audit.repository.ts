import { Injectable } from '@nestjs/common';
import type { KeysetPage } from '../../../platform/database/keyset.js';
import type { Queryable } from '../../../platform/database/queryable.js';
import { rows, toTime } from '../../../platform/database/sql.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import type { AuditEntity } from './audit.entity.js';

export type AuditEntry = Omit<AuditEntity, 'id' | 'at'>;

/** An entry, and how many milliseconds ago its call ended: the time is the database's. */
export type AgedEntry = AuditEntry & { ageMillis: number };

export interface AuditFilter {
  caller?: string;
  requestId?: string;
  outcome?: AuditEntry['outcome'];
  /** Epoch milliseconds, both. */
  from?: number;
  to?: number;
}

/** `key`: place of the row in the order in which rows are read. */
export type FoundEntry = Omit<AuditEntity, 'id'> & { key: string };

/** The trail of calls. By hand: batches travel as one document, and rows are removed in bounded portions. */
@Injectable()
export class AuditRepository {
  async write(tx: Transaction, entries: readonly AgedEntry[]): Promise<void> {
    await rows(
      tx,
      `INSERT INTO audit (at, call_id, caller_id, caller_issuer, proven_by, address, operation, path, request_id, outcome, status,
         reason)
       SELECT clock_timestamp() - "ageMillis" * interval '1 millisecond', "callId", "callerId", "callerIssuer", "provenBy",
         address, operation, path, "requestId", outcome, status, reason
       FROM jsonb_to_recordset($1::jsonb) AS e ("ageMillis" double precision, "callId" text, "callerId" text,
         "callerIssuer" text, "provenBy" text, address text, operation text, path text, "requestId" text, outcome text,
         status integer, reason text)`,
      [JSON.stringify(entries)],
    );
  }

  /** The newest first: those that `filter` lets through, and follow `after` (the `key` of a row) in that order. */
  find(tx: Queryable, filter: AuditFilter, { after, limit }: KeysetPage): Promise<FoundEntry[]> {
    const values: unknown[] = [];
    const given = (value: unknown): string => `$${values.push(value)}`;
    const { caller, requestId, outcome, from, to } = filter;
    const [micros, id] = after.split(' ');
    const tests = [
      caller !== undefined && `caller_id = ${given(caller)}`,
      requestId !== undefined && `request_id = ${given(requestId)}`,
      outcome !== undefined && `outcome = ${given(outcome)}`,
      from !== undefined && `at >= ${given(toTime(from))}`,
      to !== undefined && `at < ${given(toTime(to))}`,
      after !== '' &&
        `(at, id) < (timestamptz 'epoch' + ${given(micros)}::bigint * interval '1 microsecond', ${given(id)}::bigint)`,
    ].filter((test) => test !== false);
    return rows(
      tx,
      `SELECT at, call_id AS "callId", caller_id AS "callerId", caller_issuer AS "callerIssuer", proven_by AS "provenBy", address,
         operation, path, request_id AS "requestId", outcome, status, reason,
         (extract(epoch FROM at) * 1000000)::bigint || ' ' || id AS key
       FROM audit ${tests.length === 0 ? '' : `WHERE ${tests.join(' AND ')}`} ORDER BY at DESC, id DESC LIMIT ${given(limit + 1)}`,
      values,
    );
  }

  /** Removes at most `most` rows that are older than so many days, and answers how many went. */
  async removeOlder(tx: Transaction, days: number, most: number): Promise<number> {
    const gone = await rows(
      tx,
      `DELETE FROM audit WHERE id = ANY (ARRAY(
         SELECT id FROM audit WHERE at < now() - $1 * interval '1 day' ORDER BY at LIMIT $2)) RETURNING 1`,
      [days, most],
    );
    return gone.length;
  }

  /**
   * Removes at most `most` of the rows beyond a number, and answers how many went. Calls of which it is not known who made
   * them go first: no caller without a proof drives out what others did.
   */
  async removeBeyond(tx: Transaction, rowsKept: number, most: number): Promise<number> {
    const [counted] = await rows<{ count: string }>(tx, 'SELECT count(*) AS count FROM audit');
    const beyond = Math.min(most, Number(counted!.count) - rowsKept);
    if (beyond <= 0) return 0;
    const gone = await rows(
      tx,
      `DELETE FROM audit WHERE id = ANY (ARRAY(
         SELECT id FROM audit ORDER BY caller_id IS NOT NULL, id LIMIT $1)) RETURNING 1`,
      [beyond],
    );
    return gone.length;
  }
}
