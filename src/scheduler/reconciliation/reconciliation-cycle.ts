import type { ReconciliationRun } from '../../core/reconciliation/statistics.js';

/** One reconciliation from its start until every machine that answers has been compared; it may take several rounds. */
export class ReconciliationCycle {
  private readonly delays = new Map<string, number>();
  private iterations = 0;

  constructor(private readonly startedAt: number) {}

  roundBegins(): void {
    this.iterations += 1;
  }

  /** A task counts once, with its first answer. */
  answered(taskIds: readonly string[], now: number): void {
    for (const id of taskIds) if (!this.delays.has(id)) this.delays.set(id, now - this.startedAt);
  }

  ended(endedAt: number): ReconciliationRun {
    return { startedAt: this.startedAt, endedAt, iterations: this.iterations, delays: [...this.delays.values()] };
  }
}
