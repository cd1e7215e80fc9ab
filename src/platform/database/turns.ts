import { SchedulerError } from '../errors.js';

/** As long as for a connection. */
const longestWaitMillis = 5_000;

/**
 * Calls of this process on one record take turns: the first one waits for its row in the database, the others here, in the
 * order in which they came. So one call per instance stands in the line of a row, where the leader's passes stand as well, and
 * the connections are left for calls on other records.
 */
export class Turns {
  /** By key: who has its turn, and behind it who waits. */
  private readonly lines = new Map<string, Turn[]>();

  constructor(private readonly waitMillis = longestWaitMillis) {}

  /** Fails with UNAVAILABLE, nothing done, when its turn does not come in time. */
  async with<T>(keys: Iterable<string>, work: () => Promise<T>): Promise<T> {
    const taken: Turn[] = [];
    const deadline = performance.now() + this.waitMillis;
    try {
      // In one order, so that two calls do not wait for each other.
      for (const key of [...new Set(keys)].toSorted()) taken.push(await this.take(key, deadline));
      return await work();
    } finally {
      for (const turn of taken) this.end(turn);
    }
  }

  private async take(key: string, deadline: number): Promise<Turn> {
    const line = this.lines.get(key) ?? [];
    this.lines.set(key, line);
    const turn: Turn = { key, begin: () => undefined };
    line.push(turn);
    if (line.length === 1) return turn;
    await new Promise<void>((begin, fail) => {
      const late = setTimeout(() => {
        this.end(turn);
        fail(
          new SchedulerError('UNAVAILABLE', `Too many calls on '${key}' are being done; nothing was done, try again`),
        );
      }, deadline - performance.now());
      turn.begin = () => {
        clearTimeout(late);
        begin();
      };
    });
    return turn;
  }

  private end(turn: Turn): void {
    const line = this.lines.get(turn.key)!;
    const place = line.indexOf(turn);
    line.splice(place, 1);
    if (line.length === 0) this.lines.delete(turn.key);
    else if (place === 0) line[0]!.begin();
  }
}

interface Turn {
  key: string;
  begin: () => void;
}
