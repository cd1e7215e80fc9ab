import { Injectable, Logger } from '@nestjs/common';
import type { TaskId } from '../../core/model/task.js';
import { parseTaskId } from '../../core/task-id.js';
import { HistoryMover } from '../../modules/history/history-mover.service.js';
import { Metrics } from '../../platform/metrics/metrics.js';
import { tellFailure } from '../../platform/tell-failure.js';
import { Wake } from '../../platform/wake/wake.js';
import { LeaderMemory } from '../memory/leader-memory.service.js';
import { RunTimes } from '../memory/run-times.service.js';
import { UnaskedMachines } from '../memory/unasked-machines.js';
import { DatalessTasks } from './dataless-tasks.service.js';
import type { Report } from './report.js';
import type { AppliedReports } from './status-applier.service.js';
import { UnwantedTasks } from './unwanted-tasks.service.js';

/** Tasks that ended badly, of one transaction, that get a line each. */
const mostLogged = 20;

/** Tells the rest of the leader, after the commit, what applied reports have changed. */
@Injectable()
export class StatusFollowUp {
  private readonly log = new Logger(StatusFollowUp.name);
  private readonly skippedRuns: ReturnType<Metrics['counter']>;

  constructor(
    private readonly memory: LeaderMemory,
    private readonly runTimes: RunTimes,
    private readonly unasked: UnaskedMachines,
    private readonly unwanted: UnwantedTasks,
    private readonly dataless: DatalessTasks,
    private readonly mover: HistoryMover,
    private readonly wake: Wake,
    metrics: Metrics,
  ) {
    const help = 'Times of schedules that passed without a run: the run before took longer, or its end was told late';
    this.skippedRuns = metrics.counter('muster_skipped_runs_total', help);
  }

  /** The one place that knows what has changed. */
  async follow(applied: AppliedReports): Promise<void> {
    const {
      unexpected,
      recovered,
      givenUpOn,
      confirmedGone,
      dataless,
      changed,
      ended,
      skippedRuns,
      failed,
      commandsEnded,
    } = applied;
    this.memory.ended(ended);
    this.runTimes.ended(ended);
    this.skippedRuns.inc(skippedRuns);
    this.unasked.add(givenUpOn);
    this.logFailed(failed);
    this.unwanted.kill(unexpected);
    for (const requestId of recovered) this.memory.touched(requestId);
    this.wake.signalOf(recovered, 'scheduler', 'deploys', 'webhooks', 'load-balancer');
    this.wake.signalOf(commandsEnded, 'cleanup');
    this.wake.signalOf(changed, 'deploys', 'cleanup', 'webhooks');
    if (confirmedGone.length > 0) this.wake.signal('scheduler', 'history');
    if (ended.length > 0) this.wake.signal('scheduler', 'flows', 'history', 'machines', 'load-balancer', 'mails');
    for (const report of dataless) await this.settleDataless(report);
    await this.moveEnded(ended);
  }

  /** One line each; of many that end together the first ones. */
  private logFailed(failed: readonly Report[]): void {
    for (const { taskId, slaveId, state, message } of failed.slice(0, mostLogged))
      this.log.warn(`Task '${taskId}' on slave '${slaveId}' ended as ${state}: ${message ?? 'no message'}`);
    if (failed.length > mostLogged) this.log.warn(`${failed.length - mostLogged} more tasks ended at the same time`);
  }

  /** A failure here is found again by the next comparison with the machines. */
  private async settleDataless(report: Report): Promise<void> {
    try {
      if ((await this.dataless.settle(report)) === 'KILL') this.unwanted.kill([report]);
      const requestId = parseTaskId(report.taskId)?.requestId ?? '';
      this.memory.touched(requestId);
      this.wake.signalOf([requestId], 'scheduler', 'deploys', 'webhooks', 'load-balancer');
    } catch (cause) {
      tellFailure(this.log, `Task '${report.taskId}' is ${report.state} and cannot be settled`, cause);
    }
  }

  /** The rows of their requests are not locked meanwhile. What fails here is moved later by the history poller. */
  private async moveEnded(ended: readonly TaskId[]): Promise<void> {
    try {
      await this.mover.move(ended.map(({ id }) => id));
    } catch (cause) {
      this.log.debug(`${ended.length} ended tasks are moved to the history later: ${String(cause)}`);
    }
  }
}
