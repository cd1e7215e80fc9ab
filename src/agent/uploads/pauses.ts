import { backOffMillis } from '../../core/back-off.js';

const firstPauseMillis = 5_000;

interface Pause {
  inRow: number;
  /** On the clock of performance.now. */
  until: number;
  /** Names of records that wait for its end. */
  names: Set<string>;
}

/** Pauses after failures, longer and longer: of buckets that take nothing for now, and of records of which something was not taken. */
export class Pauses {
  private readonly places = new Map<string, Pause>();

  constructor(private readonly longestMillis: number) {}

  /** Notes that a record waits, if there is a pause now. */
  holds(place: string, name: string): boolean {
    const pause = this.places.get(place);
    if (!pause || performance.now() >= pause.until) return false;
    pause.names.add(name);
    return true;
  }

  /** Records whose pauses are over, each once. */
  takeDue(): string[] {
    const due = [...this.places.values()].filter(({ until }) => performance.now() >= until);
    return due.flatMap(({ names }) => {
      const taken = [...names];
      names.clear();
      return taken;
    });
  }

  /** Answers whether it is the first one since the last success. Failures during a pause are those that it began with. */
  begin(place: string, name: string): boolean {
    const before = this.places.get(place);
    const names = before?.names ?? new Set();
    names.add(name);
    if (before && performance.now() < before.until) return false;
    const inRow = (before?.inRow ?? 0) + 1;
    const millis = backOffMillis(inRow, firstPauseMillis, this.longestMillis);
    this.places.set(place, { inRow, until: performance.now() + millis, names });
    return inRow === 1;
  }

  end(place: string): void {
    this.places.delete(place);
  }
}
