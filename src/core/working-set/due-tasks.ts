import { isDueAtOnce, type PendingTask } from '../model/task.js';

const isBefore = ({ pendingTaskId: a }: PendingTask, { pendingTaskId: b }: PendingTask): boolean =>
  a.nextRunAt === b.nextRunAt ? a.id < b.id : a.nextRunAt < b.nextRunAt;

/** Pending tasks by the time they are due: those whose time has come, and a binary heap of those to come. */
export class DueTasks {
  private readonly heap: PendingTask[] = [];
  private readonly now = new Map<string, PendingTask>();
  /** What counts: others that still lie in the heap are gone. */
  private readonly all = new Map<string, PendingTask>();

  add(task: PendingTask): void {
    this.all.set(task.pendingTaskId.id, task);
    if (isDueAtOnce(task.pendingTaskId)) {
      this.now.set(task.pendingTaskId.id, task);
      return;
    }
    this.heap.push(task);
    let index = this.heap.length - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(this.heap[index]!, this.heap[parent]!)) break;
      this.swap(index, parent);
      index = parent;
    }
  }

  remove(id: string): void {
    this.all.delete(id);
    this.now.delete(id);
  }

  /** Those whose time has come. */
  due(now: number): Iterable<PendingTask> {
    for (let first = this.first(); first && first.pendingTaskId.nextRunAt <= now; first = this.first()) {
      this.now.set(first.pendingTaskId.id, first);
      this.pop();
    }
    return this.now.values();
  }

  /** When the next one is due; call `due` first. */
  nextDueAt(): number | undefined {
    return this.first()?.pendingTaskId.nextRunAt;
  }

  /** The first in the heap that is still there. */
  private first(): PendingTask | undefined {
    for (;;) {
      const first = this.heap[0];
      if (!first || this.all.get(first.pendingTaskId.id) === first) return first;
      this.pop();
    }
  }

  private pop(): void {
    const last = this.heap.pop()!;
    if (this.heap.length === 0) return;
    this.heap[0] = last;
    for (let index = 0; ;) {
      const [left, right] = [2 * index + 1, 2 * index + 2];
      let least = index;
      if (left < this.heap.length && isBefore(this.heap[left]!, this.heap[least]!)) least = left;
      if (right < this.heap.length && isBefore(this.heap[right]!, this.heap[least]!)) least = right;
      if (least === index) return;
      this.swap(index, least);
      index = least;
    }
  }

  private swap(a: number, b: number): void {
    [this.heap[a], this.heap[b]] = [this.heap[b]!, this.heap[a]!];
  }
}
