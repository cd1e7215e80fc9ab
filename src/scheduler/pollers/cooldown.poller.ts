import { Inject, Injectable, Logger } from '@nestjs/common';
import { isCooldownOver } from '../../core/completion/index.js';
import { deployKeyText } from '../../core/model/deploy.js';
import { Rows } from '../../rows.js';
import { concernsAll } from '../../platform/database/database-errors.js';
import { Database } from '../../platform/database/database.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import { cooldownRules } from '../rules.js';
import { tellFailure } from '../../platform/tell-failure.js';

/** Ends cooldowns whose failures have aged out. */
@Injectable()
export class CooldownPoller {
  private readonly log = new Logger(CooldownPoller.name);

  constructor(
    pollers: Pollers,
    private readonly db: Database,
    private readonly rows: Rows,
    private readonly wake: Wake,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    pollers.register({ name: 'cooldown', everyMs: 60_000, pass: (now) => this.runOnce(now) });
  }

  async runOnce(now: number): Promise<void> {
    for (const { request } of await this.rows.requests.findAll(this.db.pool, ['SYSTEM_COOLDOWN'])) {
      try {
        if (await this.db.leaderTransaction((tx) => this.endIfOver(tx, request.id, now))) this.wake.signal('webhooks');
      } catch (cause) {
        if (concernsAll(cause)) throw cause;
        // The others are still looked at.
        tellFailure(this.log, `Cooldown of request '${request.id}' is stuck`, cause);
      }
    }
  }

  /** A request that another transaction holds right now waits for the next pass. */
  private async endIfOver(tx: Transaction, requestId: string, now: number): Promise<boolean> {
    const [stored] = await this.rows.requests.lockFree(tx, [requestId]);
    if (stored?.state !== 'SYSTEM_COOLDOWN') return false;
    const key = { requestId, deployId: stored.activeDeployId ?? '' };
    const deploy = (await this.rows.deployStatistics.find(tx, [key])).get(deployKeyText(key));
    if (!isCooldownOver(deploy, cooldownRules(this.settings), now)) return false;
    await this.rows.requests.save(tx, { ...stored, state: 'ACTIVE', changedAt: now });
    await this.rows.requestHistory.record(tx, {
      createdAt: now,
      eventType: 'EXITED_COOLDOWN',
      request: stored.request,
    });
    return true;
  }
}
