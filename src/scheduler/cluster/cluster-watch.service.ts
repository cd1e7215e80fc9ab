import { Injectable, Logger } from '@nestjs/common';
import type {
  AgentMachines,
  ClusterEvents,
  MachineSnapshot,
  StaleEpochError,
  StatusUpdate,
} from '../../cluster/cluster-driver.js';
import { MachineReports } from '../../modules/slaves/machine-reports.service.js';
import { Rows } from '../../rows.js';
import type { TaskOfSlave } from '../../modules/tasks/machine-task.repository.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import { StatusDelays } from '../../platform/metrics/status-delays.js';
import { Wake } from '../../platform/wake/wake.js';
import { StatusUpdates } from '../status/status-updates.service.js';
import { KnownFleet } from './known-fleet.service.js';

/** The lock on the fleet holds placements back for as long as a transaction of machines lasts. */
const machinesPerTransaction = 200;

/** Hears what the cluster has to say. */
@Injectable()
export class ClusterWatch implements ClusterEvents {
  private readonly log = new Logger(ClusterWatch.name);

  constructor(
    private readonly db: Database,
    private readonly reports: MachineReports,
    private readonly rows: Rows,
    private readonly fleet: KnownFleet,
    private readonly status: StatusUpdates,
    private readonly delays: StatusDelays,
    private readonly leadership: Leadership,
    private readonly wake: Wake,
    private readonly clock: Clock,
  ) {}

  /**
   * The consequences are looked up anew each time rather than concluded from the change, which finds whatever an
   * earlier leader, or an earlier attempt, has left undone.
   */
  async machines(agents: readonly AgentMachines[]): Promise<void> {
    const present = agents.flatMap(({ machines }) => machines);
    for (const machines of inPieces(present, machinesPerTransaction))
      await this.db.leaderTransaction((tx) => this.reports.allSeen(tx, machines, this.clock.now()));
    // What ran in another incarnation ran before.
    const former = await this.rows.machineTasks.activeOfOtherIncarnations(this.db.pool, present);
    const began = (slaveId: string) => `Slave '${slaveId}' began anew; whatever ran there before is gone`;
    await this.lost(former, 'REASON_AGENT_RESTARTED', began);
    await this.confirmGone(present);
    await this.askAfterTasks(present);
    await this.missingFrom(agents);
    this.wake.signal('scheduler', 'machines');
  }

  /** What was given up in another incarnation does not run any more. */
  private async confirmGone(machines: readonly MachineSnapshot[]): Promise<void> {
    const gone = await this.rows.machineTasks.mayRunInOthers(this.db.pool, machines);
    if (gone.length > 0) await this.db.leaderTransaction((tx) => this.rows.machineTasks.confirmGone(tx, gone));
  }

  /** Machines that their agent has presented before. Until this leader knows all agents, the comparison with all lists will see to them. */
  private async missingFrom(agents: readonly AgentMachines[]): Promise<void> {
    if (!this.fleet.isCompared) return this.wake.signal('fleet');
    const presented = new Map(agents.map(({ agentId, machines }) => [agentId, new Set(machines.map(slaveIdOf))]));
    for (const { id, agentId } of await this.rows.slaves.present(this.db.leaderPool))
      if (presented.get(agentId)?.has(id) === false)
        await this.machineDown(id, 'its agent does not present it any more');
  }

  async machineDown(slaveId: string, reason: string): Promise<void> {
    this.log.warn(`Slave '${slaveId}' is gone: ${reason}`);
    await this.db.leaderTransaction((tx) => this.reports.down(tx, slaveId, reason, this.clock.now()));
    const message = `Slave '${slaveId}' is gone: ${reason}`;
    const former = await this.rows.machineTasks.activeOnSlaves(this.db.pool, [slaveId]);
    await this.lost(former, 'REASON_AGENT_REMOVED', () => message);
  }

  /** Its agent does not answer: nothing is placed there until it does. Its tasks may run on. */
  async machineSilent(slaveId: string, reason: string): Promise<void> {
    this.log.warn(`Slave '${slaveId}' gets no more tasks: ${reason}`);
    await this.db.leaderTransaction((tx) => this.reports.silent(tx, slaveId, reason, this.clock.now()));
    this.wake.signal('scheduler', 'machines');
  }

  /** Their agent has had its time: they end unsuccessfully, and one that comes back is taken up again where it is still wanted. */
  async tasksUnreachable(slaveIds: readonly string[]): Promise<void> {
    const tasks = await this.rows.machineTasks.activeOnSlaves(this.db.pool, slaveIds);
    if (tasks.length === 0) return;
    this.log.warn(`${tasks.length} tasks on ${slaveIds.join(', ')} are unreachable: their agent does not answer`);
    await this.conclude(
      tasks,
      'TASK_UNREACHABLE',
      'REASON_AGENT_DISCONNECTED',
      (slaveId) => `Slave '${slaveId}' does not answer`,
    );
  }

  /** Tasks on machines that vanished while no leader watched. */
  strandedTasks(tasks: readonly TaskOfSlave[]): Promise<void> {
    return this.lost(tasks, 'REASON_AGENT_REMOVED', (slaveId) => `Slave '${slaveId}' is gone`);
  }

  /** Machines that were given up may still have their tasks: those that can come back are asked after. */
  private async askAfterTasks(machines: readonly MachineSnapshot[]): Promise<void> {
    const asked = await this.rows.machineTasks.endedIn(this.db.pool, machines);
    if (asked.length === 0) return;
    await this.db.leaderTransaction((tx) => this.rows.reconciliationWishes.add(tx, asked, this.clock.now()));
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

  /** Their machine is confirmed not to run them. */
  private async lost(
    tasks: readonly TaskOfSlave[],
    reason: string,
    messageFor: (slaveId: string) => string,
  ): Promise<void> {
    await this.conclude(tasks, 'TASK_LOST', reason, messageFor);
  }

  private async conclude(
    tasks: readonly TaskOfSlave[],
    state: 'TASK_LOST' | 'TASK_UNREACHABLE',
    reason: string,
    messageFor: (slaveId: string) => string,
  ): Promise<void> {
    const timestamp = this.clock.now();
    await this.status.concluded(
      tasks.map((task) => ({ ...task, timestamp, state, reason, message: messageFor(task.slaveId) })),
    );
  }
}

const slaveIdOf = ({ slaveId }: MachineSnapshot): string => slaveId;

function* inPieces<T>(list: readonly T[], length: number): Generator<T[]> {
  for (let begin = 0; begin < list.length; begin += length) yield list.slice(begin, begin + length);
}
