import { Heap } from './heap.js';

interface RunCheck {
  taskId: string;
  at: number;
}

const emptyHeap = (): Heap<RunCheck> => new Heap((a, b) => a.at < b.at);

/** Times at which the run time of each task is checked next: by the task, and the earliest first. */
export class RunChecks {
  /** The valid checks: others that are still in the heap are out of date. */
  private readonly byTask = new Map<string, RunCheck>();
  private heap = emptyHeap();

  get size(): number {
    return this.byTask.size;
  }

  /** undefined: there is nothing to look at any more. */
  put(taskId: string, at: number | undefined): void {
    if (at === undefined) this.byTask.delete(taskId);
    else if (this.byTask.get(taskId)?.at !== at) {
      const check = { taskId, at };
      this.byTask.set(taskId, check);
      this.heap.push(check);
    }
  }

  clear(): void {
    this.byTask.clear();
    this.heap = emptyHeap();
  }

  nextAt(): number | undefined {
    return this.first()?.at;
  }

  /** Takes out those whose time has come, the earliest first, no more than so many. */
  takeDue(now: number, most: number): string[] {
    const due: string[] = [];
    for (let first = this.first(); first && first.at <= now && due.length < most; first = this.first()) {
      due.push(first.taskId);
      this.byTask.delete(first.taskId);
    }
    return due;
  }

  private first(): RunCheck | undefined {
    for (;;) {
      const { first } = this.heap;
      if (!first || this.byTask.get(first.taskId) === first) return first;
      this.heap.pop();
    }
  }
}
