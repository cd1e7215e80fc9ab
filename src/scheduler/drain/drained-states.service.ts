import { Inject, Injectable } from '@nestjs/common';
import { isFailingFast } from '../../core/completion/index.js';
import type { WorkDecision } from '../../core/pending-work/index.js';
import type { StoredRequest } from '../../modules/requests/request.repository.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Rows } from '../../rows.js';
import { cooldownRules } from '../rules.js';

/** States that requests enter or leave when their work is looked at. */
@Injectable()
export class DrainedStates {
  constructor(
    private readonly rows: Rows,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async isFailingFast(
    tx: Transaction,
    stored: StoredRequest | undefined,
    deployId: string,
    now: number,
  ): Promise<boolean> {
    if (stored?.state !== 'SYSTEM_COOLDOWN') return false;
    const failures = await this.rows.deployStatistics.failureTimes(tx, { requestId: stored.request.id, deployId });
    return isFailingFast(failures, cooldownRules(this.settings), now);
  }

  async change(
    tx: Transaction,
    stored: StoredRequest,
    { leavesCooldown, finishes }: Pick<WorkDecision, 'leavesCooldown' | 'finishes'>,
    now: number,
  ): Promise<StoredRequest> {
    let changed = stored;
    if (leavesCooldown) {
      changed = await this.rows.requests.save(tx, { ...changed, state: 'ACTIVE', changedAt: now });
      await this.rows.requestHistory.record(tx, {
        createdAt: now,
        eventType: 'EXITED_COOLDOWN',
        request: changed.request,
      });
    }
    if (finishes) {
      changed = await this.rows.requests.save(tx, { ...changed, state: 'FINISHED', changedAt: now });
      await this.rows.requestHistory.record(tx, { createdAt: now, eventType: 'FINISHED', request: changed.request });
    }
    return changed;
  }
}
