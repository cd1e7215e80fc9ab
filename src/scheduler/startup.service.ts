import { Injectable } from '@nestjs/common';
import { Clock } from '../platform/clock.js';
import { Database } from '../platform/database/database.js';

/** What a new leader looks at again, in case something was missed between two leaders. */
@Injectable()
export class Startup {
  constructor(
    private readonly db: Database,
    private readonly clock: Clock,
  ) {}

  /**
   * A STARTUP entry per runnable request that goes on by itself; a job whose next run is planned needs none, if it was
   * planned after the request changed last. Nor does a request that a deploy is to wake from its pause: its active deploy
   * still rests, and the new one looks after its own tasks. What waits in the queue already stays as it is. The locks on
   * the requests are taken when the queue is drained: an entry is only a wish to look.
   */
  async queueRequests(): Promise<void> {
    const now = this.clock.now();
    await this.db.leaderTransaction((tx) =>
      tx.query(
        `INSERT INTO pending_request (request_id, deploy_id, pending_type, created_at, document)
         SELECT r.id, r.active_deploy_id, 'STARTUP', $1, jsonb_build_object('requestId', r.id,
           'deployId', r.active_deploy_id, 'pendingType', 'STARTUP', 'timestamp', $2::bigint)
         FROM request r
         WHERE r.state IN ('ACTIVE', 'SYSTEM_COOLDOWN') AND r.active_deploy_id IS NOT NULL
           AND r.request_type NOT IN ('ON_DEMAND', 'RUN_ONCE')
           AND NOT (r.request_type = 'SCHEDULED' AND EXISTS (SELECT 1 FROM pending_task p
             WHERE p.request_id = r.id AND p.deploy_id = r.active_deploy_id AND p.created_at >= r.changed_at
               AND NOT p.delete_requested))
         ORDER BY r.id
         ON CONFLICT (request_id, deploy_id, entry_key) DO NOTHING`,
        [new Date(now), now],
      ),
    );
  }
}
