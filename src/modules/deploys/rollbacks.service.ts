import { Inject, Injectable } from '@nestjs/common';
import { redeploy, rollbackId } from '../../core/deploys/rollback.js';
import type { Deploy } from '../../core/model/deploy.js';
import type { RequestParent } from '../../core/model/request.js';
import { Database } from '../../platform/database/database.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SchedulerError } from '../../platform/errors.js';
import type { Caller } from '../../platform/http/caller.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { refuseChanged } from '../requests/check-index.js';
import { RequestRepository, type StoredRequest } from '../requests/request.repository.js';
import { DeployRepository } from './deploy.repository.js';
import { DeploysService, type StartDeploy } from './deploys.service.js';

export interface Rollback extends Omit<StartDeploy, 'deploy' | 'updatedRequest'> {
  /** undefined: the last successful one before the active deploy. */
  deployId?: string;
}

export interface RolledBack extends RequestParent {
  deployId: string;
  rolledBackTo: string;
}

/** Deploys an earlier version of a request again, as a deploy of its own. */
@Injectable()
export class Rollbacks {
  constructor(
    private readonly db: Database,
    private readonly requests: RequestRepository,
    private readonly deploys: DeployRepository,
    private readonly starts: DeploysService,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async rollBack(requestId: string, { deployId, checkIndex, ...wish }: Rollback, caller: Caller): Promise<RolledBack> {
    await this.refuseUsers(requestId, deployId);
    const answer = await this.db.transaction(
      async (tx) => {
        const stored = await this.requests.lock(tx, requestId);
        if (!stored) throw SchedulerError.requestNotFound(requestId);
        refuseChanged(stored, checkIndex);
        await this.starts.refuseSecondDeploy(tx, requestId);
        const rolledBackTo = await this.choose(tx, stored, deployId);
        const deploy = redeploy(
          await this.read(tx, requestId, rolledBackTo),
          await this.newId(tx, requestId, rolledBackTo),
        );
        const message = wish.message ?? `Rollback to ${rolledBackTo}`;
        const parent = await this.starts.startIn(tx, { ...wish, deploy, message, isStored: true }, caller);
        return { ...parent, deployId: deploy.id, rolledBackTo };
      },
      [requestId],
    );
    const message = wish.message ?? `Rollback to ${answer.rolledBackTo}`;
    this.starts.begun({ deploy: { requestId, id: answer.deployId }, message }, caller);
    return answer;
  }

  /** The cluster is asked, so before the transaction, which says whatever else is wrong. */
  private async refuseUsers(requestId: string, asked: string | undefined): Promise<void> {
    const { pool } = this.db;
    const active = (await this.requests.find(pool, requestId))?.activeDeployId;
    const deployId =
      asked ?? (active && (await this.deploys.lastSuccessfulBefore(pool, { requestId, deployId: active })));
    const earlier = deployId && (await this.deploys.find(pool, { requestId, deployId }));
    if (earlier) await this.starts.refuseUsers({ deploy: redeploy(earlier.deploy, earlier.deploy.id) });
  }

  private async choose(
    tx: Transaction,
    { request: { id: requestId }, activeDeployId }: StoredRequest,
    asked: string | undefined,
  ): Promise<string> {
    if (asked !== undefined && asked === activeDeployId) {
      const message = `deployId '${asked}' is the active deploy of request '${requestId}', not an earlier one`;
      throw SchedulerError.invalid('INVALID_DEPLOY', [{ field: 'deployId', rule: 'earlier', message }]);
    }
    if (asked !== undefined) {
      const isAnothers = await this.deploys.isOfFormerRequest(tx, { requestId, deployId: asked });
      if (isAnothers) throw SchedulerError.deployNotFound(requestId, asked);
      return asked;
    }
    if (activeDeployId === undefined) {
      throw new SchedulerError('NO_DEPLOY', `Request '${requestId}' has no active deploy to go back from`);
    }
    const found = await this.deploys.lastSuccessfulBefore(tx, { requestId, deployId: activeDeployId });
    if (found !== undefined) return found;
    const message = `Request '${requestId}' has no successful deploy before '${activeDeployId}'`;
    throw new SchedulerError('NO_DEPLOY', message);
  }

  private async read(tx: Transaction, requestId: string, deployId: string): Promise<Deploy> {
    const key = { requestId, deployId };
    const stored = await this.deploys.find(tx, key);
    if (stored) return stored.deploy;
    if ((await this.deploys.findMarkers(tx, [key])).size === 0)
      throw SchedulerError.deployNotFound(requestId, deployId);
    const message = `What deploy '${deployId}' of request '${requestId}' deployed is not stored any more`;
    throw new SchedulerError('NO_DEPLOY', message);
  }

  private async newId(tx: Transaction, requestId: string, earlierId: string): Promise<string> {
    const used = await this.deploys.idsWith(tx, requestId, '.rollback');
    return rollbackId(earlierId, (id) => used.has(id), this.settings.maxDeployIdSize);
  }
}
