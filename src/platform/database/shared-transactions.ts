import { SchedulerError } from '../errors.js';
import { isPassing } from './database-errors.js';
import type { Database } from './database.js';
import { bracketsOfCall, outsideOfCalls, type Brackets } from './permits.js';
import type { Transaction } from './transaction.js';

/** Result of one call: `refusal` is thrown for its caller, and nothing was written for it. */
export type CallOutcome<T> = { value: T } | { refusal: SchedulerError };

interface Call<Wish, Result> extends Brackets {
  wish: Wish;
  done: (result: Result) => void;
  failed: (cause: unknown) => void;
}

/**
 * Calls on one record that come while another one is at it share the next transaction: one lock, one look and one commit for
 * all of them. Each is still permitted, refused and noted as done by itself, within that transaction.
 */
export class SharedTransactions<Wish, Result> {
  /** By record, those whose transaction has not begun. */
  private readonly waiting = new Map<string, Call<Wish, Result>[]>();

  constructor(
    private readonly db: Database,
    /** Answers for each wish what becomes of it, in their order. Writes nothing for what it refuses. */
    private readonly work: (tx: Transaction, key: string, wishes: readonly Wish[]) => Promise<CallOutcome<Result>[]>,
  ) {}

  /** Resolves after the commit. */
  add(key: string, wish: Wish): Promise<Result> {
    return new Promise((done, failed) => {
      const call = { ...bracketsOfCall(), wish, done, failed };
      const present = this.waiting.get(key);
      if (present) return void present.push(call);
      this.waiting.set(key, [call]);
      void outsideOfCalls(() => this.nextTurn(key));
    });
  }

  private async nextTurn(key: string): Promise<void> {
    const take = () => {
      const calls = this.waiting.get(key)!;
      this.waiting.delete(key);
      return calls;
    };
    try {
      await this.db.inTurn([key], () => this.carryOut(key, take()));
    } catch (cause) {
      for (const { failed } of take()) failed(cause);
    }
  }

  /**
   * Runs the calls together. A failure of all may be the fault of one, unless the database is at fault: then each is
   * tried alone.
   */
  private async carryOut(key: string, calls: readonly Call<Wish, Result>[]): Promise<void> {
    let settled: CallOutcome<Result>[];
    try {
      settled = await this.db.transaction((tx) => this.attempt(tx, key, calls));
    } catch (cause) {
      if (calls.length > 1 && !isPassing(cause)) {
        for (const call of calls) await this.carryOut(key, [call]);
      } else for (const { failed } of calls) failed(cause);
      return;
    }
    calls.forEach(({ done, failed }, index) => {
      const one = settled[index]!;
      if ('value' in one) done(one.value);
      else failed(one.refusal);
    });
  }

  private async attempt(
    tx: Transaction,
    key: string,
    calls: readonly Call<Wish, Result>[],
  ): Promise<CallOutcome<Result>[]> {
    const settled = new Map<Call<Wish, Result>, CallOutcome<Result>>();
    for (const call of calls) {
      const refusal = await refusalOf(call.permit?.hold(tx));
      if (refusal) settled.set(call, { refusal });
    }
    const permitted = calls.filter((call) => !settled.has(call));
    const wishes = permitted.map(({ wish }) => wish);
    const results = wishes.length > 0 ? await this.work(tx, key, wishes) : [];
    for (const [index, call] of permitted.entries()) {
      const result = results[index]!;
      settled.set(call, result);
      if ('value' in result) await call.ending?.(tx);
    }
    return calls.map((call) => settled.get(call)!);
  }
}

async function refusalOf(held: Promise<void> | undefined): Promise<SchedulerError | undefined> {
  try {
    await held;
    return undefined;
  } catch (cause) {
    if (cause instanceof SchedulerError) return cause;
    throw cause;
  }
}
