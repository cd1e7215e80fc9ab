import { Injectable } from '@nestjs/common';
import type { MachineSnapshot } from '../../cluster/cluster-driver.js';
import { isSilent } from '../../core/machines/silence.js';
import { SlaveRepository } from '../../modules/slaves/slave.repository.js';
import { MachineTaskRepository } from '../../modules/tasks/machine-task.repository.js';
import { Database } from '../../platform/database/database.js';

/**
 * Slaves with tasks that were given up and may come back with them. Whatever they show of themselves, nothing is placed there
 * until they were asked what they run: else what runs would find its place taken by its own replacement. In memory, because only
 * the leader places; a new one reads it from the rows.
 */
@Injectable()
export class UnaskedMachines {
  private slaveIds = new Set<string>();
  /** Machines of them that were asked since the last pass began. */
  private readonly answered = new Set<string>();

  constructor(
    private readonly db: Database,
    private readonly tasks: MachineTaskRepository,
    private readonly slaves: SlaveRepository,
  ) {}

  /** Absent slaves are among them: the rows of what was given up there may have gone to the history since. */
  async load(): Promise<void> {
    const tasks = await this.tasks.givenUp(this.db.pool);
    const absent = await this.slaves.absent(this.db.pool);
    this.answered.clear();
    this.slaveIds = new Set([...tasks.map(({ slaveId }) => slaveId), ...absent]);
  }

  /**
   * Forgets slaves that were removed, as a new leader would not know them: nothing that was given up there counts any more. Those that
   * have rows of such tasks stay.
   */
  async forgetRemoved(): Promise<void> {
    const known = [...this.slaveIds];
    if (known.length === 0) return;
    const present = await this.slaves.slaveIds(this.db.pool);
    const tasks = await this.tasks.givenUp(this.db.pool, known);
    const kept = new Set([...present, ...tasks.map(({ slaveId }) => slaveId)]);
    for (const id of known) if (!kept.has(id)) this.slaveIds.delete(id);
  }

  add(slaveIds: Iterable<string>): void {
    for (const id of slaveIds) {
      this.slaveIds.add(id);
      this.answered.delete(id);
    }
  }

  /** Machines that are yet to be asked. */
  toAsk(): Set<string> {
    return new Set([...this.slaveIds].filter((id) => !this.answered.has(id)));
  }

  /**
   * Slaves that take nothing until they were asked, by id. The others of their agent came back in the same moment: a task that
   * was given up would be replaced there before its own slave is asked.
   */
  among(machines: readonly MachineSnapshot[]): Set<string> {
    if (this.slaveIds.size === 0) return new Set();
    const waiting = machines.filter(({ slaveId }) => this.slaveIds.has(slaveId));
    const answering = waiting.filter(({ silentForMillis }) => !isSilent(silentForMillis));
    const agents = new Set(answering.map(({ agentId }) => agentId));
    const beside = machines.filter(({ agentId }) => agents.has(agentId));
    return new Set([...waiting, ...beside].map(({ slaveId }) => slaveId));
  }

  /** They have said what they run, and it is recorded: from the next pass on they take tasks. Answers whether any had to. */
  asked(slaveIds: Iterable<string>): boolean {
    const before = this.answered.size;
    for (const id of slaveIds) if (this.slaveIds.has(id)) this.answered.add(id);
    return this.answered.size > before;
  }

  /** Before requests are counted: a pass that had counted them without the tasks that are back would place others beside those. */
  passBegins(): void {
    for (const id of this.answered) this.slaveIds.delete(id);
    this.answered.clear();
  }
}
