/** While others call as well, a turn rests so many times as long as it took, at most so long. */
const restFactor = 3;
const longestRestMillis = 3_000;
/** Who has called last so long ago does not call any more. */
const presentMillis = 10_000;

interface Line {
  /** Turns that are taken, or rest. */
  inWork: number;
  /** In the order in which they came. */
  waiting: Set<() => void>;
}

export interface Turn {
  /** Resolves when it is this call's turn; undefined: it is. Of a call that has ended before, never. */
  begun: Promise<void> | undefined;
  /** Also for one that did not begin. Calls after the first do nothing. */
  end(): void;
}

/**
 * Of one caller so many calls are worked on at a time; further ones wait here. Calls share one thread and a few connections to the
 * database, and who waits for these is served in the order of coming: without this, a call of one caller would come after hundreds of
 * another one. What a call costs of the thread is seen in how long it takes: so, by their rests, a quarter of it is left to a caller
 * who calls as fast as it can, and all of it to one who is alone.
 */
export class CallerTurns {
  private readonly lines = new Map<string, Line>();
  /** The one who called last, and the last one before that who is not the same. */
  private last = { caller: '', at: -Infinity };
  private other = this.last;

  constructor(
    private readonly mostInWork: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Also of callers who wait for no turn. */
  seen(caller: string): void {
    if (caller !== this.last.caller) this.other = this.last;
    this.last = { caller, at: this.now() };
  }

  take(caller: string): Turn {
    this.seen(caller);
    const line = this.lines.get(caller) ?? { inWork: 0, waiting: new Set() };
    this.lines.set(caller, line);
    let begunAt = this.now();
    let begin: (() => void) | undefined;
    let begun: Promise<void> | undefined;
    if (line.inWork < this.mostInWork) line.inWork++;
    else {
      begun = new Promise((resolve) => {
        begin = () => {
          begunAt = this.now();
          resolve();
        };
      });
      line.waiting.add(begin!);
    }
    let isOver = false;
    const end = () => {
      if (isOver) return;
      isOver = true;
      if (begin && line.waiting.delete(begin)) return;
      const rest = this.isAlone(caller) ? 0 : Math.min(longestRestMillis, restFactor * (this.now() - begunAt));
      // Even then, what has come from others meanwhile is before the next one.
      if (rest < 1) setImmediate(() => this.pass(caller, line));
      else setTimeout(() => this.pass(caller, line), rest).unref();
    };
    return { begun, end };
  }

  private isAlone(caller: string): boolean {
    const { at } = this.last.caller === caller ? this.other : this.last;
    return this.now() - at > presentMillis;
  }

  private pass(caller: string, line: Line): void {
    const [next] = line.waiting;
    if (next) {
      line.waiting.delete(next);
      next();
    } else if (--line.inWork === 0) this.lines.delete(caller);
  }
}
