import { isDueAtOnce, type PendingTask } from '../model/task.js';
import { Heap } from './heap.js';

const isBefore = ({ pendingTaskId: a }: PendingTask, { pendingTaskId: b }: PendingTask): boolean =>
  a.nextRunAt === b.nextRunAt ? a.id < b.id : a.nextRunAt < b.nextRunAt;

/** Pending tasks by the time they are due: those whose time has come, and a heap of those to come. */
export class DueTasks {
  private readonly heap = new Heap(isBefore);
  private readonly now = new Map<string, PendingTask>();
  /** The valid tasks: others that are still in the heap are gone. */
  private readonly all = new Map<string, PendingTask>();

  add(task: PendingTask): void {
    this.all.set(task.pendingTaskId.id, task);
    if (isDueAtOnce(task.pendingTaskId)) this.now.set(task.pendingTaskId.id, task);
    else this.heap.push(task);
  }

  remove(id: string): void {
    this.all.delete(id);
    this.now.delete(id);
  }

  /** Tasks whose time has come. */
  due(now: number): Iterable<PendingTask> {
    for (let first = this.first(); first && first.pendingTaskId.nextRunAt <= now; first = this.first()) {
      this.now.set(first.pendingTaskId.id, first);
      this.heap.pop();
    }
    return this.now.values();
  }

  /** Time at which the next one is due; call `due` first. */
  nextDueAt(): number | undefined {
    return this.first()?.pendingTaskId.nextRunAt;
  }

  /** The first in the heap that is still there. */
  private first(): PendingTask | undefined {
    for (;;) {
      const { first } = this.heap;
      if (!first || this.all.get(first.pendingTaskId.id) === first) return first;
      this.heap.pop();
    }
  }
}
