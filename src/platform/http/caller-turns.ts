/** A turn of one who has taken more time than others who call rests so many times as long as it took, at most so long. */
const restFactor = 3;
const longestRestMillis = 3_000;
/** Time after which a caller who has not called again does not count as present. */
const presentMillis = 10_000;
/** Half-life of the time that a caller has taken. */
const halfLifeMillis = 5_000;
/** Callers of whom it is known, until those who do not call any more are forgotten. */
const mostKnown = 1_000;

/** Milliseconds of turns, as of a moment. */
interface TurnTime {
  millis: number;
  at: number;
}

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
 * Limits the calls of one caller that are worked on at a time; further ones wait here. Calls share one thread and a few
 * connections to the database, and who waits for these is served in the order of coming: without this, a call of one
 * caller would come after hundreds of another one. The time that a call takes shows what it costs of the thread: so, by
 * their rests, a quarter of it is left to the caller who takes the most, and all of it to one who is alone.
 */
export class CallerTurns {
  private readonly lines = new Map<string, Line>();
  /** The one who called last, and the last one before that who is not the same. */
  private last = { caller: '', at: -Infinity };
  private other = this.last;
  private readonly taken = new Map<string, TurnTime>();

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
      const millis = this.now() - begunAt;
      this.count(caller, millis);
      const rest = this.hasMost(caller) ? Math.min(longestRestMillis, restFactor * millis) : 0;
      // Even then, what has come from others meanwhile is before the next one.
      if (rest < 1) setImmediate(() => this.pass(caller, line));
      else setTimeout(() => this.pass(caller, line), rest).unref();
    };
    return { begun, end };
  }

  /** Someone else calls, and has taken less. */
  private hasMost(caller: string): boolean {
    const { caller: other, at } = this.last.caller === caller ? this.other : this.last;
    return this.now() - at <= presentMillis && this.takenBy(caller) > this.takenBy(other);
  }

  private takenBy(caller: string): number {
    const taken = this.taken.get(caller);
    return taken ? taken.millis * 0.5 ** ((this.now() - taken.at) / halfLifeMillis) : 0;
  }

  private count(caller: string, millis: number): void {
    const at = this.now();
    if (this.taken.size >= mostKnown && !this.taken.has(caller))
      for (const [each, known] of this.taken) if (at - known.at > presentMillis) this.taken.delete(each);
    this.taken.set(caller, { millis: this.takenBy(caller) + millis, at });
  }

  private pass(caller: string, line: Line): void {
    const [next] = line.waiting;
    if (next) {
      line.waiting.delete(next);
      next();
    } else if (--line.inWork === 0) this.lines.delete(caller);
  }
}
