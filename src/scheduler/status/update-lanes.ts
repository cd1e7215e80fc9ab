import type { StatusUpdate } from '../../cluster/cluster-driver.js';

/** Updates of one agent, in the order of their numbers. */
interface Group {
  agentId: string;
  updates: readonly StatusUpdate[];
  done: () => void;
  failed: (cause: unknown) => void;
}

/**
 * Brings together what many agents report: whatever arrives while a batch is being written goes with the next one. So a
 * single update waits for nobody, and thousands of agents with one update each share a few transactions. Two lanes
 * write at a time, to keep the database busy while the next batch is made ready; one agent is never in both, so its
 * updates stay in order.
 */
export class UpdateLanes {
  private readonly waiting = new Set<Group>();
  private readonly writing = new Set<string>();
  private freeLanes = 2;
  private isPlanned = false;

  constructor(
    private readonly batchSize: number,
    private readonly write: (updates: readonly StatusUpdate[]) => Promise<void>,
  ) {}

  /** How many updates are not in a batch yet. */
  get backlog(): number {
    let count = 0;
    for (const { updates } of this.waiting) count += updates.length;
    return count;
  }

  /** At most one batch full. Resolves when they are written. */
  add(updates: readonly StatusUpdate[]): Promise<void> {
    const [first] = updates;
    if (!first) return Promise.resolve();
    return new Promise((done, failed) => {
      this.waiting.add({ agentId: first.agentId, updates, done, failed });
      this.plan();
    });
  }

  /** After what is already at hand has been taken in: updates of several agents often come in one turn. */
  private plan(): void {
    if (this.isPlanned) return;
    this.isPlanned = true;
    setImmediate(() => {
      this.isPlanned = false;
      while (this.freeLanes > 0) {
        const groups = this.nextBatch();
        if (groups.length === 0) return;
        this.freeLanes -= 1;
        void this.writeGroups(groups);
      }
    });
  }

  private nextBatch(): Group[] {
    const batch: Group[] = [];
    let room = this.batchSize;
    for (const group of this.waiting) {
      if (this.writing.has(group.agentId)) continue;
      if (batch.length > 0 && group.updates.length > room) break;
      room -= group.updates.length;
      batch.push(group);
      this.waiting.delete(group);
      this.writing.add(group.agentId);
      if (room <= 0) break;
    }
    return batch;
  }

  private async writeGroups(groups: readonly Group[]): Promise<void> {
    try {
      await this.write(groups.flatMap(({ updates }) => updates));
      for (const { done } of groups) done();
    } catch (cause) {
      for (const { failed } of groups) failed(cause);
    }
    for (const { agentId } of groups) this.writing.delete(agentId);
    this.freeLanes += 1;
    this.plan();
  }
}
