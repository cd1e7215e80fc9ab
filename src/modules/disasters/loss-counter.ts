/** That a task or a slave was lost. */
export interface Loss {
  id: string;
  /** Epoch milliseconds. */
  at: number;
}

/**
 * Counts each loss once, for the leader. A loss may become known a good while after its time, so each look goes back
 * further than to the look before, and what was counted is remembered.
 */
export class LossCounter {
  private epoch: number | undefined;
  private known: ReadonlySet<string> = new Set();

  /** Those of `found` that were not counted. A new leader knows only that its predecessor counted until `since`. */
  fresh(found: readonly Loss[], epoch: number, since: number): Loss[] {
    if (epoch !== this.epoch) return found.filter(({ at }) => at > since);
    return found.filter(({ id }) => !this.known.has(id));
  }

  /** All of these are counted now. */
  counted(found: readonly Loss[], epoch: number): void {
    this.epoch = epoch;
    this.known = new Set(found.map(({ id }) => id));
  }
}
