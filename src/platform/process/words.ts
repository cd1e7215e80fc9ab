import type { Wake, WakeTopic } from '../wake/wake.js';

/** What one process of an instance tells the others past the database, and of whom or what. */
export interface Word {
  about: 'wake' | 'wrong-proof' | 'token-made';
  of: readonly string[];
}

/** What processes keep in memory is out of date when these are signalled. */
const topicsOfKept: ReadonlySet<WakeTopic> = new Set(['actions', 'tokens']);

/**
 * What each process of an instance keeps of its own, although it holds for all of them, is told to the others: so a bound holds for
 * the sum, and what one has changed is known to all before its caller is answered. A word that is lost costs what it costs
 * between instances.
 */
export class Words {
  private readonly listeners = new Map<Word['about'], (of: readonly string[]) => void>();
  private readonly onTheirWay = new Set<Promise<void>>();

  /** `spread` resolves when all others have heard it, or do not answer. */
  constructor(private readonly spread: (word: Word) => Promise<void>) {}

  tell(about: Word['about'], ...of: string[]): void {
    const told = this.spread({ about, of }).finally(() => this.onTheirWay.delete(told));
    this.onTheirWay.add(told);
  }

  on(about: Word['about'], listener: (of: readonly string[]) => void): void {
    this.listeners.set(about, listener);
  }

  /** Another process has told it. */
  hear({ about, of }: Word): void {
    this.listeners.get(about)?.(of);
  }

  /** Resolves when the others have heard what was told by now. */
  async heard(): Promise<void> {
    if (this.onTheirWay.size > 0) await Promise.all(this.onTheirWay);
  }

  /** Has signals about what is kept go this way, too. */
  carry(wake: Wake): void {
    this.on('wake', ([topic, ...keys]) => wake.signalHere(topic as WakeTopic, keys.length > 0 ? keys : undefined));
    wake.addRelay((topic, keys) => {
      if (topicsOfKept.has(topic)) this.tell('wake', topic, ...(keys ?? []));
    });
  }
}
