/** Takes a job out of the queue; nothing when it has run or was taken out before. */
export type Cancel = () => void;

interface TimedJob {
  /** On the clock of performance.now(): a change of the system's time moves nothing. */
  at: number;
  job: () => void;
  /** Index in the heap; -1: it is not there any more. */
  index: number;
}

/** Many jobs that are due at once must not keep the event loop from everything else for longer than this. */
const longestTurnMillis = 5;
/** A timer of Node holds no more. */
const longestTimerMillis = 2 ** 31 - 1;

/** Runs jobs when their time has come, with one timer of Node however many there are: a binary heap, earliest first. */
export class TimedQueue {
  private readonly heap: TimedJob[] = [];
  private timer: NodeJS.Timeout | undefined;
  private armedFor = Number.POSITIVE_INFINITY;
  private turn: NodeJS.Immediate | undefined;

  get size(): number {
    return this.heap.length;
  }

  /** The job must not throw. */
  after(millis: number, job: () => void): Cancel {
    const planned: TimedJob = { at: performance.now() + Math.max(millis, 0), job, index: this.heap.length };
    this.heap.push(planned);
    this.rise(planned);
    this.arm();
    return () => this.remove(planned);
  }

  private remove(planned: TimedJob): void {
    const { index } = planned;
    if (index < 0) return;
    planned.index = -1;
    const last = this.heap.pop()!;
    if (last !== planned) {
      this.place(last, index);
      this.rise(last);
      this.sink(last);
    }
    this.arm();
  }

  /** The timer may go off too early when its job was taken out; that is cheaper than a new timer each time. */
  private arm(): void {
    const first = this.heap[0];
    if (!first) return this.disarm();
    if (this.turn || first.at >= this.armedFor) return;
    clearTimeout(this.timer);
    this.armedFor = first.at;
    const wait = Math.min(Math.ceil(first.at - performance.now()), longestTimerMillis);
    this.timer = setTimeout(() => this.runDue(), Math.max(wait, 0));
  }

  private disarm(): void {
    clearTimeout(this.timer);
    clearImmediate(this.turn);
    this.turn = undefined;
    this.armedFor = Number.POSITIVE_INFINITY;
  }

  private runDue(): void {
    this.disarm();
    const begun = performance.now();
    for (let now = begun; this.heap[0] && this.heap[0].at <= now; now = performance.now()) {
      if (now - begun > longestTurnMillis) {
        this.turn = setImmediate(() => this.runDue());
        return;
      }
      const { job } = this.heap[0];
      this.remove(this.heap[0]);
      job();
    }
    this.arm();
  }

  private rise(planned: TimedJob): void {
    while (planned.index > 0) {
      const parent = this.heap[(planned.index - 1) >> 1]!;
      if (parent.at <= planned.at) return;
      this.swap(parent, planned);
    }
  }

  private sink(planned: TimedJob): void {
    for (;;) {
      const [left, right] = [this.heap[planned.index * 2 + 1], this.heap[planned.index * 2 + 2]];
      const child = right && right.at < left!.at ? right : left;
      if (!child || planned.at <= child.at) return;
      this.swap(planned, child);
    }
  }

  private swap(a: TimedJob, b: TimedJob): void {
    const { index } = a;
    this.place(a, b.index);
    this.place(b, index);
  }

  private place(planned: TimedJob, index: number): void {
    planned.index = index;
    this.heap[index] = planned;
  }
}
