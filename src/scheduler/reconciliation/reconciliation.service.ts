import { Inject, Injectable } from '@nestjs/common';
import type { Epoch } from '../../cluster/cluster-driver.js';
import { hasPassed } from '../../core/elapsed.js';
import { ReconciliationCycle } from '../../core/reconciliation/reconciliation.js';
import { StateRepository } from '../../modules/state/state.repository.js';
import { MachineTaskRepository } from '../../modules/tasks/machine-task.repository.js';
import { DisabledActions } from '../../platform/actions/disabled-actions.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import type { Poller } from '../../platform/poller/poller.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import { StatusUpdates } from '../status/status-updates.service.js';
import { AskedTasks } from './asked-tasks.service.js';
import { ListComparison } from './list-comparison.service.js';

const checkEveryMillis = 1_000;
/** With so many updates waiting a comparison would mostly find what they are about to say. */
const fullBacklog = 4_000;

type ReconciliationStart =
  | 'STARTED'
  | 'ALREADY_RUNNING'
  /** This instance does not lead, so it has no connection to the machines. */
  | 'NO_DRIVER'
  /** Too many status updates wait to be stored. */
  | 'BUSY';

/** Compares the tasks we believe to be active with those that the machines hold. */
@Injectable()
export class Reconciliation {
  private readonly poller: Poller;
  private wanted = false;
  private lastStartedAt = 0;
  /** The term in which comparisons are made regularly. */
  private regularIn: Epoch | undefined;
  private cycle: ReconciliationCycle | undefined;
  /** Epoch of the cycle and of its term, with which it ends. */
  private epoch: Epoch | undefined;
  private nextRoundAt = 0;

  constructor(
    pollers: Pollers,
    wake: Wake,
    private readonly db: Database,
    private readonly tasks: MachineTaskRepository,
    private readonly comparison: ListComparison,
    private readonly asked: AskedTasks,
    private readonly status: StatusUpdates,
    private readonly states: StateRepository,
    private readonly leadership: Leadership,
    private readonly actions: DisabledActions,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    this.poller = pollers.register({
      name: 'reconciliation',
      everyMs: checkEveryMillis,
      pass: (now) => this.runWhenDue(now),
    });
    wake.on('reconcile', () => this.poller.wake());
  }

  /** This instance leads from now on: it compares at once, unless that is switched off, and then regularly. */
  async begin(): Promise<void> {
    this.lastStartedAt = this.clock.now();
    this.regularIn = this.leadership.current();
    if (!(await this.actions.isDisabled('STARTUP_TASK_RECONCILIATION'))) this.request();
  }

  /** One comparison of everything soon, beside the regular ones. */
  request(): void {
    this.wanted = true;
    this.poller.wake();
  }

  /** Starts a cycle for a caller that wants to know if it begins. */
  async start(): Promise<ReconciliationStart> {
    const epoch = this.leadership.current();
    if (epoch === undefined) return 'NO_DRIVER';
    if (this.cycle && this.epoch === epoch) return 'ALREADY_RUNNING';
    if (this.status.backlog >= fullBacklog) return 'BUSY';
    await this.startCycle(epoch, this.clock.now());
    this.poller.wake();
    return 'STARTED';
  }

  async runWhenDue(now: number): Promise<void> {
    const epoch = this.leadership.current();
    if (epoch === undefined) return;
    if (this.epoch !== epoch) this.cycle = undefined;
    await this.asked.runOnce(epoch, now);
    const isDue = await this.isRegularDue(epoch, now);
    const askAll = this.wanted || isDue;
    if (askAll && !this.cycle && this.status.backlog >= fullBacklog) return;
    if (askAll && !this.cycle) await this.startCycle(epoch, now);
    if (!this.cycle || (!askAll && now < this.nextRoundAt)) return;
    this.wanted = false;
    if (isDue) this.lastStartedAt = now;
    await this.round(this.cycle, epoch, askAll);
  }

  private async isRegularDue(epoch: Epoch, now: number): Promise<boolean> {
    if (
      this.regularIn !== epoch ||
      !hasPassed(this.lastStartedAt, this.settings.startNewReconcileEverySeconds * 1_000, now)
    )
      return false;
    return !(await this.actions.isDisabled('TASK_RECONCILIATION'));
  }

  private async startCycle(epoch: Epoch, now: number): Promise<void> {
    // Asked for once more before the first round is over: the round that follows is the one that was wanted.
    this.wanted = true;
    this.lastStartedAt = now;
    this.epoch = epoch;
    this.cycle = new ReconciliationCycle(now, (await this.tasks.answered(this.db.pool)).keys());
  }

  /**
   * The first round asks all machines, later ones only those that have not answered. While some are away for long, the
   * others are still compared as often as ever.
   */
  private async round(cycle: ReconciliationCycle, epoch: Epoch, askAll: boolean): Promise<void> {
    cycle.roundBegins();
    const agents = askAll ? undefined : await this.agentsOf(cycle.waitsFor);
    const { answered, tooEarly } = await this.comparison.all(epoch, agents);
    cycle.answered(answered, this.clock.now());
    const active = await this.tasks.answered(this.db.pool);
    cycle.keepOnly((taskId) => active.has(taskId));
    const pause = tooEarly.length > 0 ? checkEveryMillis : this.settings.checkReconcileWhenRunningEveryMillis;
    this.nextRoundAt = this.clock.now() + pause;
    if (cycle.isDone && tooEarly.length === 0) await this.end(cycle);
  }

  private async end(cycle: ReconciliationCycle): Promise<void> {
    this.cycle = undefined;
    await this.db.leaderTransaction((tx) => this.states.saveReconciliation(tx, cycle.ended(this.clock.now())));
  }

  private async agentsOf(taskIds: ReadonlySet<string>): Promise<Set<string>> {
    const agents = this.comparison.agentsOfSlaves();
    const active = await this.tasks.answered(this.db.pool);
    return new Set(
      [...taskIds].flatMap((taskId) => {
        const slaveId = active.get(taskId);
        return slaveId === undefined ? [] : [agents.get(slaveId) ?? slaveId];
      }),
    );
  }
}
