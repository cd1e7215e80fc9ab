import { Injectable, Logger } from '@nestjs/common';
import type { ClusterEvents, MachineSnapshot, StaleEpochError, StatusUpdate } from '../../cluster/cluster-driver.js';
import type { StrandedTask } from '../../modules/slaves/fleet-comparison.service.js';
import { StatusDelays } from '../../modules/leadership/status-delays.service.js';
import { Machines } from '../../modules/slaves/machines.service.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { rows } from '../../platform/database/sql.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import { Wake } from '../../platform/wake/wake.js';
import { StatusUpdates } from '../status/status-updates.service.js';

/** Hears what the cluster has to say. */
@Injectable()
export class ClusterWatch implements ClusterEvents {
  private readonly log = new Logger(ClusterWatch.name);

  constructor(
    private readonly db: Database,
    private readonly machines: Machines,
    private readonly status: StatusUpdates,
    private readonly delays: StatusDelays,
    private readonly leadership: Leadership,
    private readonly wake: Wake,
    private readonly clock: Clock,
  ) {}

  async machineUp(machine: MachineSnapshot): Promise<void> {
    await this.db.leaderTransaction((tx) => this.machines.seen(tx, machine, this.clock.now()));
    // Looked up anew each time rather than concluded from the change: after a crash in between it is still found.
    const former = await this.tasksOf(machine.slaveId, machine.incarnation);
    const message = `Slave '${machine.slaveId}' began anew; whatever ran there before is gone`;
    await this.lost(former, 'REASON_AGENT_RESTARTED', () => message);
    await this.askAfterTasks(machine);
    this.wake.signal('scheduler', 'machines');
  }

  async machineDown(slaveId: string, reason: string): Promise<void> {
    this.log.warn(`Slave '${slaveId}' is gone: ${reason}`);
    await this.db.leaderTransaction((tx) => this.machines.down(tx, slaveId, reason, this.clock.now()));
    const message = `Slave '${slaveId}' is gone: ${reason}`;
    await this.lost(await this.tasksOf(slaveId, ''), 'REASON_AGENT_REMOVED', () => message);
  }

  /** Tasks on machines that vanished while nobody watched. */
  strandedTasks(tasks: readonly StrandedTask[]): Promise<void> {
    return this.lost(tasks, 'REASON_AGENT_REMOVED', (slaveId) => `Slave '${slaveId}' is gone`);
  }

  /** A machine that was given up may still have its tasks: those that can come back are asked after. */
  private async askAfterTasks({ slaveId, incarnation }: MachineSnapshot): Promise<void> {
    const asked = await rows<{ task_id: string }>(
      this.db.manager,
      'SELECT task_id FROM task WHERE slave_id = $1 AND incarnation = $2 AND ended_at IS NOT NULL',
      [slaveId, incarnation],
    );
    if (asked.length === 0) return;
    await this.db.leaderTransaction((tx) =>
      tx.query(
        `INSERT INTO reconciliation_wish (task_id, asked_at) SELECT task_id, $2 FROM unnest($1::text[]) AS w (task_id)
         ON CONFLICT DO NOTHING`,
        [asked.map((row) => row.task_id), new Date(this.clock.now())],
      ),
    );
    this.wake.signal('reconcile');
  }

  async statusUpdates(updates: readonly StatusUpdate[]): Promise<void> {
    await this.status.reported(updates);
    const now = this.clock.now();
    for (const { timestamp } of updates) this.delays.record(now - timestamp);
  }

  outranked(cause: StaleEpochError): void {
    this.leadership.outranked(cause);
  }

  /** Active tasks of a machine that were launched in another incarnation than this one. */
  private async tasksOf(slaveId: string, incarnation: string): Promise<StrandedTask[]> {
    const found = await rows<{ task_id: string }>(
      this.db.manager,
      'SELECT task_id FROM task WHERE slave_id = $1 AND incarnation <> $2 AND ended_at IS NULL',
      [slaveId, incarnation],
    );
    return found.map((row) => ({ taskId: row.task_id, slaveId }));
  }

  /** Their machine is confirmed not to run them. */
  private async lost(
    tasks: readonly StrandedTask[],
    reason: string,
    messageFor: (slaveId: string) => string,
  ): Promise<void> {
    const timestamp = this.clock.now();
    await this.status.concluded(
      tasks.map((task) => ({ ...task, timestamp, state: 'TASK_LOST', reason, message: messageFor(task.slaveId) })),
    );
  }
}
