import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { rows } from '../../../platform/database/sql.js';
import type { DeployKey } from '../deploy-store.service.js';

/** Reads which deploys a request had before. */
@Injectable()
export class EarlierDeploys {
  /** The newest one that succeeded before `active` was started. */
  async lastSuccessfulBefore(tx: EntityManager, active: DeployKey): Promise<string | undefined> {
    const found = await rows<{ deploy_id: string }>(
      tx,
      `SELECT earlier.deploy_id FROM deploy_history earlier JOIN deploy_history active USING (request_id)
       WHERE request_id = $1 AND active.deploy_id = $2 AND earlier.deploy_id <> $2
         AND earlier.deploy_state = 'SUCCEEDED' AND earlier.created_at <= active.created_at
       ORDER BY earlier.created_at DESC, earlier.deploy_id DESC LIMIT 1`,
      [active.requestId, active.deployId],
    );
    return found[0]?.deploy_id;
  }

  /** Ids that rollbacks of the request have used. */
  async rollbackIds(tx: EntityManager, requestId: string): Promise<Set<string>> {
    const found = await rows<{ deploy_id: string }>(
      tx,
      `SELECT deploy_id FROM deploy_history WHERE request_id = $1 AND position('.rollback' IN deploy_id) > 0`,
      [requestId],
    );
    return new Set(found.map((row) => row.deploy_id));
  }
}
