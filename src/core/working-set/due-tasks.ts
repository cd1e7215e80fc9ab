import { isDueAtOnce, type PendingTask } from '../model/task.js';
import { Heap } from './heap.js';

const isBefore = ({ pendingTaskId: a }: PendingTask, { pendingTaskId: b }: PendingTask): boolean =>
  a.nextRunAt === b.nextRunAt ? a.id < b.id : a.nextRunAt < b.nextRunAt;

/** Pending tasks by the time they are due: those whose time has come, and a heap of those to come. */
export class DueTasks {
  private readonly later = new Heap(isBefore);
  private readonly now = new Map<string, PendingTask>();

  add(task: PendingTask): void {
    const { id } = task.pendingTaskId;
    this.remove(id);
    if (isDueAtOnce(task.pendingTaskId)) this.now.set(id, task);
    else this.later.put(id, task);
  }

  remove(id: string): void {
    this.now.delete(id);
    this.later.delete(id);
  }

  /** Tasks whose time has come. */
  due(now: number): Iterable<PendingTask> {
    for (let { first } = this.later; first && first.pendingTaskId.nextRunAt <= now; { first } = this.later) {
      this.later.delete(first.pendingTaskId.id);
      this.now.set(first.pendingTaskId.id, first);
    }
    return this.now.values();
  }

  /** Time at which the next one is due; call `due` first. */
  nextDueAt(): number | undefined {
    return this.later.first?.pendingTaskId.nextRunAt;
  }
}
