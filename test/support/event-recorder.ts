import type {
  AgentMachines,
  ClusterEvents,
  MachineSnapshot,
  ShellCommandOrder,
  StaleEpochError,
  StatusUpdate,
} from '../../src/cluster/cluster-driver.js';

/** Stands for the scheduler behind a driver: stores what it is told, and remembers up to where. */
export class EventRecorder implements ClusterEvents {
  readonly slaves = new Map<string, MachineSnapshot>();
  readonly machinesDown: string[] = [];
  readonly updates: StatusUpdate[] = [];
  /** The highest epoch that it was told of. */
  outrankedBy: number | undefined;
  /** Batches that could not be stored. */
  refused = 0;
  private stored = new Map<string, { incarnation: string; number: number }>();
  private toRefuse = 0;

  async machines(agents: readonly AgentMachines[]): Promise<void> {
    for (const { agentId, machines } of agents) {
      const present = new Set(machines.map(({ slaveId }) => slaveId));
      for (const known of this.slaves.values())
        if (known.agentId === agentId && !present.has(known.slaveId)) await this.machineDown(known.slaveId);
      for (const machine of machines) this.slaves.set(machine.slaveId, machine);
    }
  }

  async machineDown(slaveId: string): Promise<void> {
    this.slaves.delete(slaveId);
    this.machinesDown.push(slaveId);
  }

  async statusUpdates(updates: readonly StatusUpdate[]): Promise<void> {
    if (this.toRefuse > 0) {
      this.toRefuse--;
      this.refused++;
      throw new Error('the database is away');
    }
    for (const update of updates) if (!this.isKnown(update)) this.updates.push(update);
    for (const { agentId, incarnation, number } of updates) this.stored.set(agentId, { incarnation, number });
  }

  /** True for an update without a number whose state, or report of a command or of another program, was recorded already. */
  private isKnown({ number, taskId, state, shellCommand: report, program }: StatusUpdate): boolean {
    if (number !== 0) return false;
    const ofTask = this.updates.filter((update) => update.taskId === taskId);
    if (program)
      return ofTask.some(
        ({ program: known }) =>
          known?.name === program.name && known.state === program.state && known.starts === program.starts,
      );
    if (!report) return ofTask.some((update) => !update.shellCommand && !update.program && update.state === state);
    const { name, timestamp, updateType } = report;
    return ofTask.some(
      ({ shellCommand: known }) =>
        known?.name === name && known.timestamp === timestamp && known.updateType === updateType,
    );
  }

  outranked({ highest }: StaleEpochError): void {
    this.outrankedBy = highest;
  }

  appliedUpdate = async (agentId: string) => this.stored.get(agentId);

  /** The next so many batches cannot be stored. */
  refuseNext(batches: number): void {
    this.toRefuse = batches;
  }

  /** The recorder of a successor that reads the same database. */
  copy(): EventRecorder {
    const copy = new EventRecorder();
    copy.updates.push(...this.updates);
    copy.stored = new Map(this.stored);
    return copy;
  }

  statesOf = (taskId: string): string[] =>
    this.updates
      .filter((update) => update.taskId === taskId && !update.shellCommand && !update.program)
      .map((update) => update.state);

  /** In the order in which they came: name and state of a program around the main one, with the number of its starts. */
  programsOf = (taskId: string): string[] =>
    this.updates.flatMap(({ taskId: id, program }) =>
      program && id === taskId ? `${program.name} ${program.state} ${program.starts}` : [],
    );

  /** In the order in which they came. */
  commandUpdatesOf = (order: Pick<ShellCommandOrder, 'taskId' | 'name' | 'timestamp'>): string[] =>
    this.updates.flatMap(({ taskId, shellCommand: report }) =>
      report && taskId === order.taskId && report.name === order.name && report.timestamp === order.timestamp
        ? [report.updateType]
        : [],
    );

  messagesOf = (taskId: string): string[] =>
    this.updates.filter((update) => update.taskId === taskId).map((update) => update.message ?? '');

  onlyIncarnation(): string {
    const incarnations = [...new Set([...this.slaves.values()].map((machine) => machine.incarnation))];
    if (incarnations.length !== 1) throw new Error(`Expected one incarnation, not ${incarnations.join(', ')}`);
    return incarnations[0]!;
  }
}
