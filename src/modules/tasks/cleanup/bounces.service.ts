import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { rows } from '../../../platform/database/sql.js';
import { ExpiringActions } from '../../requests/expiring/expiring-actions.service.js';
import { RequestStore } from '../../requests/request-store.service.js';

/** The end of bounces: when no task waits for one any more, the request may be bounced again. */
@Injectable()
export class Bounces {
  constructor(
    private readonly requests: RequestStore,
    private readonly expiring: ExpiringActions,
  ) {}

  /** The request's row is locked in `tx`. true: a bounce was under way and is over. */
  async endIfOver(tx: EntityManager, requestId: string): Promise<boolean> {
    const stored = await this.requests.find(tx, requestId);
    if (!stored?.bouncing || (await this.isUnderWay(tx, requestId))) return false;
    await this.requests.save(tx, { ...stored, bouncing: false });
    await this.expiring.remove(tx, 'BOUNCE', requestId);
    return true;
  }

  /** An order for it waits, or an active task has to go whose cleanup is, or was before, that of a bounce. */
  private async isUnderWay(tx: EntityManager, requestId: string): Promise<boolean> {
    const found = await rows(
      tx,
      `SELECT 1 FROM request_cleanup WHERE request_id = $1 AND cleanup_type IN ('BOUNCE', 'INCREMENTAL_BOUNCE')
       UNION ALL
       SELECT 1 FROM task t JOIN task_update u ON u.task_id = t.task_id AND u.state = 'TASK_CLEANING'
       WHERE t.request_id = $1 AND t.ended_at IS NULL
         AND (EXISTS (SELECT 1 FROM task_cleanup c WHERE c.task_id = t.task_id)
           OR EXISTS (SELECT 1 FROM killed_task k WHERE k.task_id = t.task_id))
         AND (u.message ~ '^(BOUNCING|INCREMENTAL_BOUNCE)\\M'
         OR EXISTS (SELECT 1 FROM jsonb_array_elements(u.previous) former
           WHERE former->>'statusMessage' ~ '^(BOUNCING|INCREMENTAL_BOUNCE)\\M'))
       LIMIT 1`,
      [requestId],
    );
    return found.length > 0;
  }
}
