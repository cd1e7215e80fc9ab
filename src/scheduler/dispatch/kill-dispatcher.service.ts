import { Inject, Injectable, Logger } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { CLUSTER_DRIVER, StaleEpochError, type ClusterDriver, type KillAnswer } from '../../cluster/cluster-driver.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { rows } from '../../platform/database/sql.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import { Reconciliation } from '../reconciliation/reconciliation.service.js';

interface DecidedKill {
  task_id: string;
  slave_id: string;
  grace_millis: number;
  killed_at: Date;
}

/** Sends kills that were decided and committed, until the machine has accepted them. */
@Injectable()
export class KillDispatcher {
  private readonly log = new Logger(KillDispatcher.name);
  private readonly inFlight = new Map<string, Promise<void>>();

  constructor(
    private readonly db: Database,
    private readonly leadership: Leadership,
    private readonly reconciliation: Reconciliation,
    private readonly clock: Clock,
    @Inject(CLUSTER_DRIVER) private readonly driver: ClusterDriver,
  ) {}

  /** Begins to send what is not under way; an agent that does not answer holds up nobody else. */
  async runOnce(): Promise<void> {
    const found = await rows<DecidedKill>(
      this.db.manager,
      `SELECT k.task_id, t.slave_id, k.killed_at,
         coalesce(k.grace_millis, (l.document->'launch'->>'killGraceMillis')::bigint, 0) AS grace_millis
       FROM killed_task k JOIN task t USING (task_id) JOIN task_launch l USING (task_id)
       WHERE k.sent_at IS NULL AND t.ended_at IS NULL ORDER BY k.killed_at, k.task_id`,
    );
    for (const kill of found) {
      if (this.inFlight.has(kill.task_id)) continue;
      const call = this.send(kill).finally(() => this.inFlight.delete(kill.task_id));
      this.inFlight.set(kill.task_id, call);
    }
  }

  /** Resolves when no call is under way any more. */
  async settled(): Promise<void> {
    await Promise.all(this.inFlight.values());
  }

  private async send(kill: DecidedKill): Promise<void> {
    const { task_id: taskId, slave_id: slaveId, grace_millis: graceMillis } = kill;
    const epoch = this.leadership.current();
    if (epoch === undefined) return;
    try {
      const answer = await this.driver.kill(taskId, slaveId, graceMillis, epoch);
      if (answer === 'UNKNOWN') return;
      await this.db.leaderTransaction((tx) => this.accepted(tx, kill, answer));
      // No update will come of a task that is not there: comparing lists tells whether its end is still on the way.
      if (answer === 'GONE') this.reconciliation.request();
    } catch (cause) {
      if (cause instanceof StaleEpochError) this.leadership.outranked(cause);
      else this.log.warn(`The kill of task '${taskId}' is sent again: ${String(cause)}`);
    }
  }

  private async accepted(tx: EntityManager, kill: DecidedKill, answer: KillAnswer): Promise<void> {
    const now = new Date(this.clock.now());
    await rows(tx, 'SELECT 1 FROM task WHERE task_id = $1 FOR NO KEY UPDATE', [kill.task_id]);
    // A kill that was decided anew meanwhile, perhaps with less grace, is still to be sent.
    await tx.query('UPDATE killed_task SET sent_at = $2 WHERE task_id = $1 AND killed_at = $3', [
      kill.task_id,
      now,
      kill.killed_at,
    ]);
    // The id is tombstoned: whether or not the launch ever got there, it can start nothing any more.
    if (answer === 'GONE') {
      await tx.query('UPDATE task SET answered_at = coalesce(answered_at, $2) WHERE task_id = $1', [kill.task_id, now]);
    }
  }
}
