import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { CrashLoopInfo } from '../../../core/model/crash-loop.js';
import type { CrashLoopType } from '../../../core/model/enums.js';
import { rows, toMillis, toTime } from '../../../platform/database/sql.js';

interface CrashLoopRow {
  request_id: string;
  deploy_id: string;
  loop_type: CrashLoopType;
  started_at: Date;
  ended_at: Date | null;
}

/** The rows of crash loops. Changed by the leader, under the lock on the request's row. */
@Injectable()
export class CrashLoopStore {
  /** Of these requests, or of all; by request, newest first. */
  async find(tx: EntityManager, requestIds?: readonly string[]): Promise<CrashLoopInfo[]> {
    const found = await rows<CrashLoopRow>(
      tx,
      `SELECT * FROM crash_loop WHERE $1::text[] IS NULL OR request_id = ANY ($1)
       ORDER BY request_id, started_at DESC, loop_type`,
      [requestIds ?? null],
    );
    return found.map((row) => ({
      requestId: row.request_id,
      deployId: row.deploy_id,
      start: row.started_at.getTime(),
      end: toMillis(row.ended_at),
      type: row.loop_type,
    }));
  }

  /** A loop that is stored already gets this end, or none. */
  async save(tx: EntityManager, loops: readonly CrashLoopInfo[]): Promise<void> {
    for (const loop of loops) {
      await tx.query(
        `INSERT INTO crash_loop (request_id, deploy_id, loop_type, started_at, ended_at) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (request_id, deploy_id, loop_type, started_at) DO UPDATE SET ended_at = excluded.ended_at`,
        [...keyOf(loop), toTime(loop.end)],
      );
    }
  }

  async remove(tx: EntityManager, loops: readonly CrashLoopInfo[]): Promise<void> {
    for (const loop of loops) {
      await tx.query(
        'DELETE FROM crash_loop WHERE request_id = $1 AND deploy_id = $2 AND loop_type = $3 AND started_at = $4',
        keyOf(loop),
      );
    }
  }

  /** The request is gone. */
  async removeAll(tx: EntityManager, requestId: string): Promise<void> {
    await tx.query('DELETE FROM crash_loop WHERE request_id = $1', [requestId]);
  }
}

const keyOf = ({ requestId, deployId, type, start }: CrashLoopInfo): unknown[] => [
  requestId,
  deployId,
  type,
  new Date(start),
];
