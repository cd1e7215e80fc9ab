interface Event {
  at: number;
  /** Order of planning: of two events at the same time the one that was planned first happens first. */
  order: number;
  run: () => void;
}

const isBefore = (a: Event, b: Event): boolean => (a.at === b.at ? a.order < b.order : a.at < b.at);

/** Future events by virtual time: a binary heap, for there are many thousands. */
export class EventQueue {
  private readonly heap: Event[] = [];
  private planned = 0;

  get nextAt(): number {
    return this.heap[0]?.at ?? Infinity;
  }

  plan(at: number, run: () => void): void {
    this.heap.push({ at, order: this.planned++, run });
    let index = this.heap.length - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.swapIfBefore(index, parent)) break;
      index = parent;
    }
  }

  runNext(): void {
    const first = this.heap[0];
    const last = this.heap.pop();
    if (!first || !last) return;
    if (this.heap.length > 0) {
      this.heap[0] = last;
      this.sink();
    }
    first.run();
  }

  private sink(): void {
    let index = 0;
    for (;;) {
      const [left, right] = [2 * index + 1, 2 * index + 2];
      const [leftEvent, rightEvent] = [this.heap[left], this.heap[right]];
      const child = leftEvent && rightEvent && isBefore(rightEvent, leftEvent) ? right : left;
      if (!this.heap[child] || !this.swapIfBefore(child, index)) return;
      index = child;
    }
  }

  private swapIfBefore(child: number, parent: number): boolean {
    const [a, b] = [this.heap[child], this.heap[parent]];
    if (!a || !b || !isBefore(a, b)) return false;
    [this.heap[child], this.heap[parent]] = [b, a];
    return true;
  }
}
