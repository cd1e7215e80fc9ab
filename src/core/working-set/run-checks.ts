import { Heap } from './heap.js';

/** Times at which the run time of each task is checked next: by the task, and the earliest first. */
export class RunChecks {
  private readonly checks = new Heap<{ taskId: string; at: number }>((a, b) => a.at < b.at);

  get size(): number {
    return this.checks.size;
  }

  /** undefined: there is nothing to look at any more. */
  put(taskId: string, at: number | undefined): void {
    if (at === undefined) this.checks.delete(taskId);
    else this.checks.put(taskId, { taskId, at });
  }

  clear(): void {
    this.checks.clear();
  }

  nextAt(): number | undefined {
    return this.checks.first?.at;
  }

  /** Takes out those whose time has come, the earliest first, no more than so many. */
  takeDue(now: number, most: number): string[] {
    const due: string[] = [];
    for (let { first } = this.checks; first && first.at <= now && due.length < most; { first } = this.checks) {
      due.push(first.taskId);
      this.checks.delete(first.taskId);
    }
    return due;
  }
}
