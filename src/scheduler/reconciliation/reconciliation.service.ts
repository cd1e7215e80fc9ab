import { Inject, Injectable } from '@nestjs/common';
import { CLUSTER_DRIVER, type AgentTaskList, type ClusterDriver } from '../../cluster/cluster-driver.js';
import { isTerminal } from '../../core/model/enums.js';
import { ReconciliationFigures } from '../../modules/state/reconciliation-figures.service.js';
import { DisabledActions } from '../../platform/actions/disabled-actions.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { rows } from '../../platform/database/sql.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import type { Poller } from '../../platform/poller/poller.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import type { Report } from '../status/report.js';
import { StatusStore } from '../status/status-store.service.js';
import { StatusUpdates } from '../status/status-updates.service.js';
import { ReconciliationCycle } from './reconciliation-cycle.js';

const lookEveryMillis = 1_000;
const checkStalledEveryMillis = 15_000;
const reportsPerTransaction = 500;

interface AcknowledgedTask {
  task_id: string;
  slave_id: string;
  incarnation: string;
}

/** Compares the tasks we believe to be active with those that the machines hold. */
@Injectable()
export class Reconciliation {
  private readonly poller: Poller;
  private wanted = false;
  private lastStartedAt = 0;
  private cycle: ReconciliationCycle | undefined;
  private stalledCheckedAt = 0;

  constructor(
    pollers: Pollers,
    wake: Wake,
    private readonly db: Database,
    private readonly store: StatusStore,
    private readonly status: StatusUpdates,
    private readonly figures: ReconciliationFigures,
    private readonly leadership: Leadership,
    private readonly actions: DisabledActions,
    private readonly clock: Clock,
    @Inject(CLUSTER_DRIVER) private readonly driver: ClusterDriver,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    this.poller = pollers.register({
      name: 'reconciliation',
      everyMs: lookEveryMillis,
      pass: (now) => this.runWhenDue(now),
    });
    wake.on('reconcile', () => this.request());
  }

  /** This instance leads from now on: it compares at once, unless that is switched off, and then regularly. */
  async begin(): Promise<void> {
    this.lastStartedAt = this.clock.now();
    if (!(await this.actions.isDisabled('STARTUP_TASK_RECONCILIATION'))) this.request();
  }

  /** One comparison soon, beside the regular ones. */
  request(): void {
    this.wanted = true;
    this.poller.wake();
  }

  async runWhenDue(now: number): Promise<void> {
    await this.lookForStalledLaunches(now);
    if (!this.wanted && !(await this.isRegularDue(now))) return;
    this.wanted = false;
    this.lastStartedAt = now;
    this.cycle ??= new ReconciliationCycle(now);
    // Updates were still on their way: what they say has to be known before anything is missing.
    if (await this.runOnce()) await this.endCycle();
    else this.wanted = true;
  }

  private async isRegularDue(now: number): Promise<boolean> {
    if (now - this.lastStartedAt < this.settings.startNewReconcileEverySeconds * 1_000) return false;
    return !(await this.actions.isDisabled('TASK_RECONCILIATION'));
  }

  /** false: some list could not be compared yet. */
  async runOnce(): Promise<boolean> {
    const epoch = this.leadership.current();
    if (epoch === undefined) return true;
    // Read before the lists are made: a launch that is answered later may be missing in them.
    const acknowledged = await rows<AcknowledgedTask>(
      this.db.manager,
      'SELECT task_id, slave_id, incarnation FROM task WHERE ended_at IS NULL AND answered_at IS NOT NULL',
    );
    let complete = true;
    this.cycle?.roundBegins();
    for (const list of await this.driver.reconcile(epoch)) {
      const answered = acknowledged.filter(({ incarnation }) => incarnation === list.incarnation);
      this.cycle?.answered(
        answered.map((task) => task.task_id),
        this.clock.now(),
      );
      await this.killStrangers(list);
      complete = (await this.endMissing(list, acknowledged)) && complete;
    }
    return complete;
  }

  private async endCycle(): Promise<void> {
    const run = this.cycle?.ended(this.clock.now());
    this.cycle = undefined;
    if (!run || this.leadership.current() === undefined) return;
    await this.db.leaderTransaction((tx) => this.figures.save(tx, run));
  }

  /** A launch that shows no status for minutes is asked after, at most every 15 seconds. */
  private async lookForStalledLaunches(now: number): Promise<void> {
    if (now - this.stalledCheckedAt < checkStalledEveryMillis) return;
    this.stalledCheckedAt = now;
    const [found] = await rows<{ stalled: boolean }>(
      this.db.manager,
      `SELECT EXISTS (SELECT 1 FROM task WHERE state = 'TASK_LAUNCHED' AND ended_at IS NULL AND started_at < $1) AS stalled`,
      [new Date(now - this.settings.reconcileLaunchAfterMillis)],
    );
    if (found!.stalled) this.wanted = true;
  }

  private async endMissing(list: AgentTaskList, acknowledged: readonly AcknowledgedTask[]): Promise<boolean> {
    const ours = acknowledged.filter(({ incarnation }) => incarnation === list.incarnation);
    const states = new Map(list.tasks.map(({ taskId, state }) => [taskId, state]));
    const reports = ours.flatMap((task): Report[] => {
      const state = states.get(task.task_id);
      const how = { taskId: task.task_id, slaveId: task.slave_id, timestamp: this.clock.now() };
      if (state === undefined) {
        return [{ ...how, state: 'TASK_LOST', reason: 'REASON_RECONCILIATION', message: 'Its slave does not have it' }];
      }
      return isTerminal(state) ? [{ ...how, state, message: 'Found ended by reconciliation' }] : [];
    });
    if (reports.length === 0) return true;
    const cursor = await this.store.cursor(this.db.manager, list.agentId);
    const applied = cursor?.incarnation === list.incarnation ? cursor.number : 0;
    if (applied < list.asOfUpdate) return false;
    for (let first = 0; first < reports.length; first += reportsPerTransaction) {
      await this.status.concluded(reports.slice(first, first + reportsPerTransaction));
    }
    return true;
  }

  /** Rows exist before a launch is sent, so a task without one is wanted by nobody. */
  private async killStrangers(list: AgentTaskList): Promise<void> {
    const running = list.tasks.filter(({ state }) => !isTerminal(state));
    const active = await rows<{ task_id: string }>(
      this.db.manager,
      'SELECT task_id FROM task WHERE task_id = ANY ($1) AND ended_at IS NULL',
      [running.map(({ taskId }) => taskId)],
    );
    const known = new Set(active.map((row) => row.task_id));
    const [machine] = this.driver.machines().filter(({ agentId }) => agentId === list.agentId);
    const slaveId = machine?.slaveId ?? list.agentId;
    this.status.killStrangers(running.filter(({ taskId }) => !known.has(taskId)).map((task) => ({ ...task, slaveId })));
  }
}
