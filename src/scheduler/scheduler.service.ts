import { Inject, Injectable } from '@nestjs/common';
import { CLUSTER_DRIVER, type ClusterDriver, type Epoch } from '../cluster/cluster-driver.js';
import { PendingRequestRepository } from '../modules/tasks/pending-request.repository.js';
import { Clock } from '../platform/clock.js';
import { Database } from '../platform/database/database.js';
import { Leadership, NotLeaderError, type LeaderDuty } from '../platform/leadership/leadership.js';
import { Pollers } from '../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../platform/settings/settings.js';
import { ClockSetBack } from './clock-set-back.service.js';
import { ClusterWatch } from './cluster/cluster-watch.service.js';
import { KillDispatcher } from './dispatch/kill-dispatcher.service.js';
import { LaunchDispatcher } from './dispatch/launch-dispatcher.service.js';
import { DrainService } from './drain/drain.service.js';
import { WaitingReasons } from './explain/waiting-reasons.service.js';
import { LeaderMemory } from './memory/leader-memory.service.js';
import { UnaskedMachines } from './memory/unasked-machines.js';
import { PlacementService } from './placement/placement.service.js';
import { Reconciliation } from './reconciliation/reconciliation.service.js';
import { HeldUpdates } from './status/held-updates.service.js';
import { AgentCursorRepository } from './status/agent-cursor.repository.js';

/** Interval between checks of unanswered launches and kills; new ones are sent at once. */
const dispatchEveryMillis = 1_000;
/**
 * Delay before requests that another transaction held are checked again. Timers of pollers tick together: one that is
 * held by another poller now would be held by it at the next tick, too.
 */
const heldRequestsMillis = 50;

/** The scheduler's part in leading: follows the cluster, drains the queue, places and starts tasks. */
@Injectable()
export class Scheduler implements LeaderDuty {
  readonly name = 'scheduler';

  constructor(
    private readonly leadership: Leadership,
    pollers: Pollers,
    private readonly db: Database,
    private readonly drain: DrainService,
    private readonly placement: PlacementService,
    private readonly memory: LeaderMemory,
    private readonly reasons: WaitingReasons,
    private readonly launches: LaunchDispatcher,
    private readonly kills: KillDispatcher,
    private readonly watch: ClusterWatch,
    private readonly reconciliation: Reconciliation,
    private readonly queue: PendingRequestRepository,
    private readonly cursors: AgentCursorRepository,
    private readonly held: HeldUpdates,
    private readonly unasked: UnaskedMachines,
    private readonly setBack: ClockSetBack,
    private readonly clock: Clock,
    @Inject(CLUSTER_DRIVER) private readonly driver: ClusterDriver,
    @Inject(SETTINGS) settings: Settings,
  ) {
    leadership.register(this);
    pollers.register({
      name: 'scheduler',
      essential: true,
      runsWhile: 'RUN_SCHEDULER_POLLER',
      everyMs: settings.checkSchedulerEverySeconds * 1_000,
      pass: (now) => this.runOnce(now),
      wakeOn: ['scheduler'],
    });
    pollers.register({
      name: 'dispatch',
      essential: true,
      everyMs: dispatchEveryMillis,
      pass: (now) => this.dispatch(now),
      wakeOn: ['dispatch'],
    });
  }

  /**
   * One pass: what was just queued is placed, and what is placed is sent, without waiting for another tick. Answers when
   * the next planned task is due, so that a cron job starts at its second, or when to look again at what another transaction held.
   */
  async runOnce(now: number): Promise<number | undefined> {
    this.unasked.passBegins();
    const someAreHeld = await this.drain.runOnce(now);
    // Draining took its time: tasks that it planned for "now" are due.
    const due = await this.placement.runOnce(Math.max(now, this.clock.now()));
    return someAreHeld ? Math.min(due ?? Number.POSITIVE_INFINITY, this.clock.now() + heldRequestsMillis) : due;
  }

  async dispatch(now: number): Promise<void> {
    await this.kills.runOnce();
    await this.launches.repeat(now);
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
      await this.driver.start(epoch, this.watch, (agentId) => this.cursors.find(this.db.pool, agentId));
      await this.launches.load();
    } catch (cause) {
      // The driver may be that of a later term by now.
      if (this.leadership.current() === epoch) await this.driver.stop();
      throw cause;
    }
    await this.reconciliation.begin();
  }

  async lost(): Promise<void> {
    await this.driver.stop();
    await Promise.all([this.launches.settled(), this.kills.settled()]);
  }
}
