import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { instancesOf, type Request } from '../../core/model/request.js';
import { refuseUpdate } from '../../core/requests/action-rules.js';
import { scaleMessage } from '../../core/requests/changes.js';
import { followsActiveSlaves, onePerSlave } from '../../core/request-validation/index.js';
import { concernsAll } from '../../platform/database/database-errors.js';
import { Database } from '../../platform/database/database.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import { SlaveRepository } from '../slaves/slave.repository.js';
import { RequestActions } from './request-actions.service.js';
import { RequestChanges } from './request-changes.service.js';
import { RequestRepository } from './request.repository.js';
import { tellFailure } from '../../platform/tell-failure.js';

/** Keeps requests that run once on every slave at as many instances as there are slaves for them (`SlaveRepository.spreadCount`). */
@Injectable()
export class SpreadAllPoller implements OnModuleInit {
  private readonly log = new Logger(SpreadAllPoller.name);

  constructor(
    private readonly pollers: Pollers,
    private readonly db: Database,
    private readonly requests: RequestRepository,
    private readonly actions: RequestActions,
    private readonly changes: RequestChanges,
    private readonly slaves: SlaveRepository,
    private readonly wake: Wake,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  onModuleInit(): void {
    if (!this.settings.spreadAllSlavesEnabled) return;
    this.pollers.register({
      name: 'spread-all',
      everyMs: this.settings.checkAutoSpreadAllSlavesEverySeconds * 1000,
      pass: (now) => this.runOnce(now),
    });
  }

  /** One pass, one transaction per request that has another number than it should. */
  async runOnce(now: number): Promise<void> {
    const stored = await this.requests.findAll(this.db.pool);
    for (const { request } of stored.filter((one) => followsActiveSlaves(one.request, this.settings))) {
      try {
        if (!this.isOff(request, await this.slaves.spreadCount(this.db.pool, request.id))) continue;
        const scaled = await this.db.leaderTransaction((tx) => this.scale(tx, request.id, now));
        if (scaled) this.wake.signalOf([request.id], 'scheduler', 'cleanup', 'webhooks');
      } catch (cause) {
        if (concernsAll(cause)) throw cause;
        tellFailure(this.log, `Request '${request.id}' could not be spread; it is tried again`, cause);
      }
    }
  }

  private isOff(request: Request, slaves: number): boolean {
    const wanted = onePerSlave(request, slaves);
    return followsActiveSlaves(request, this.settings) && instancesOf(request) !== instancesOf(wanted);
  }

  /** false: nothing to do after all, or not now: a request that another transaction is changing waits for the next pass. */
  private async scale(tx: Transaction, id: string, now: number): Promise<boolean> {
    const [free] = await this.requests.lockFree(tx, [id]);
    const locked = free && (await this.actions.lock(tx, id));
    if (!locked || refuseUpdate(locked.facts)) return false;
    const before = locked.stored.request;
    const slaves = await this.slaves.spreadCount(tx, id);
    if (!this.isOff(before, slaves)) return false;
    const after = onePerSlave(before, slaves);
    const message = scaleMessage(instancesOf(before), instancesOf(after), 'One instance per active slave');
    await this.changes.apply(tx, locked.stored, after, { eventType: 'SCALED', now, message });
    return true;
  }
}
