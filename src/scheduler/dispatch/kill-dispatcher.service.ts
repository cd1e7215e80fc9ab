import { Inject, Injectable, Logger } from '@nestjs/common';
import { CLUSTER_DRIVER, StaleEpochError, type ClusterDriver } from '../../cluster/cluster-driver.js';
import { KilledTaskRepository, type DecidedKill } from '../../modules/tasks/killed-task.repository.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { GatheredWarning } from '../../platform/gathered-warning.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import { Reconciliation } from '../reconciliation/reconciliation.service.js';

/** Sends kills that were decided and committed, until the machine has accepted them. */
@Injectable()
export class KillDispatcher {
  private readonly log = new Logger(KillDispatcher.name);
  private readonly failed = new GatheredWarning((line) => this.log.warn(line));
  private readonly inFlight = new Map<string, Promise<void>>();

  constructor(
    private readonly db: Database,
    private readonly kills: KilledTaskRepository,
    private readonly leadership: Leadership,
    private readonly reconciliation: Reconciliation,
    private readonly clock: Clock,
    @Inject(CLUSTER_DRIVER) private readonly driver: ClusterDriver,
  ) {}

  /** Begins to send what is not under way; an agent that does not answer holds up no other. */
  async runOnce(): Promise<void> {
    for (const kill of await this.kills.unsent(this.db.pool)) {
      if (this.inFlight.has(kill.taskId)) continue;
      const call = this.send(kill).finally(() => this.inFlight.delete(kill.taskId));
      this.inFlight.set(kill.taskId, call);
    }
  }

  /** Resolves when no call is under way any more. */
  async settled(): Promise<void> {
    await Promise.all(this.inFlight.values());
  }

  private async send(kill: DecidedKill): Promise<void> {
    const { taskId, slaveId, graceMillis } = kill;
    const epoch = this.leadership.current();
    if (epoch === undefined) return;
    try {
      const answer = await this.driver.kill(taskId, slaveId, graceMillis, epoch);
      if (answer === 'UNKNOWN') return;
      await this.db.leaderTransaction((tx) => this.kills.accepted(tx, kill, answer, this.clock.now()));
      // No update will come of a task that is not there: comparing lists tells whether its end is still on the way.
      if (answer === 'GONE') this.reconciliation.request();
    } catch (cause) {
      if (cause instanceof StaleEpochError) this.leadership.outranked(cause);
      else this.failed.note(`The kill of task '${taskId}' is sent again: ${String(cause)}`);
    }
  }
}
