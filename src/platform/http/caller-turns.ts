interface Line {
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
 * another one.
 */
export class CallerTurns {
  private readonly lines = new Map<string, Line>();

  constructor(private readonly mostInWork: number) {}

  take(caller: string): Turn {
    const line = this.lines.get(caller) ?? { inWork: 0, waiting: new Set() };
    this.lines.set(caller, line);
    let begin: (() => void) | undefined;
    let begun: Promise<void> | undefined;
    if (line.inWork < this.mostInWork) line.inWork++;
    else {
      begun = new Promise((resolve) => (begin = resolve));
      line.waiting.add(begin!);
    }
    let isOver = false;
    const end = () => {
      if (isOver) return;
      isOver = true;
      if (begin && line.waiting.delete(begin)) return;
      const [next] = line.waiting;
      if (next) {
        line.waiting.delete(next);
        // What has come from others meanwhile is before it.
        setImmediate(next);
      } else if (--line.inWork === 0) this.lines.delete(caller);
    };
    return { begun, end };
  }
}
