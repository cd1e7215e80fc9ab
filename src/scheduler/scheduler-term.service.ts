import { Injectable } from '@nestjs/common';
import type { Epoch } from '../cluster/cluster-driver.js';
import { PendingRequestRepository } from '../modules/tasks/pending-request.repository.js';
import { Clock } from '../platform/clock.js';
import { Database } from '../platform/database/database.js';
import { Leadership, NotLeaderError, type LeaderDuty } from '../platform/leadership/leadership.js';
import { ClockSetBack } from './clock-set-back.service.js';
import { ClusterConnection } from './cluster/cluster-connection.service.js';
import { KillDispatcher } from './dispatch/kill-dispatcher.service.js';
import { LaunchDispatcher } from './dispatch/launch-dispatcher.service.js';
import { DrainService } from './drain/drain.service.js';
import { WaitingReasons } from './explain/waiting-reasons.service.js';
import { LeaderMemory } from './memory/leader-memory.service.js';
import { UnaskedMachines } from './memory/unasked-machines.js';
import { Reconciliation } from './reconciliation/reconciliation.service.js';
import { HeldUpdates } from './status/held-updates.service.js';

/** Begins and ends what the scheduler does while this instance leads: every part starts from the rows, then the cluster is followed. */
@Injectable()
export class SchedulerTerm implements LeaderDuty {
  readonly name = 'scheduler';

  constructor(
    private readonly leadership: Leadership,
    private readonly db: Database,
    private readonly drain: DrainService,
    private readonly memory: LeaderMemory,
    private readonly reasons: WaitingReasons,
    private readonly launches: LaunchDispatcher,
    private readonly kills: KillDispatcher,
    private readonly connection: ClusterConnection,
    private readonly reconciliation: Reconciliation,
    private readonly queue: PendingRequestRepository,
    private readonly held: HeldUpdates,
    private readonly unasked: UnaskedMachines,
    private readonly setBack: ClockSetBack,
    private readonly clock: Clock,
  ) {
    leadership.register(this);
  }

  async gained(epoch: Epoch): Promise<void> {
    this.memory.drop();
    this.reasons.drop();
    const now = this.clock.now();
    const misplanned = await this.drain.misplanned(now);
    await this.db.leaderTransaction(async (tx) => {
      await this.setBack.judgeAnew(tx, now);
      await this.setBack.dropPlans(tx, now);
      await this.queue.enqueueStartups(tx, now, misplanned);
    });
    await this.held.load(this.db.pool);
    await this.unasked.load();
    // `lost` was called while this one waited: what began now would end with no term.
    if (this.leadership.current() !== epoch) throw new NotLeaderError(`epoch ${epoch} is over`);
    try {
      await this.connection.start(epoch);
      await this.launches.load();
    } catch (cause) {
      // The connection may be that of a later term by now.
      if (this.leadership.current() === epoch) await this.connection.stop();
      throw cause;
    }
    await this.reconciliation.begin();
  }

  async lost(): Promise<void> {
    await this.connection.stop();
    await Promise.all([this.launches.settled(), this.kills.settled()]);
  }
}
