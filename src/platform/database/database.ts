import { Injectable, Logger } from '@nestjs/common';
import type { Epoch } from '../../cluster/cluster-driver.js';
import { Leadership, NotLeaderError } from '../leadership/leadership.js';
import { bracketsOfCall, outsideOfCalls } from './permits.js';
import { OutcomeUnknownError } from '../errors.js';
import { isUnanswered } from './database-errors.js';
import type { DatabasePool } from './pool.js';
import { isPlanOutdated } from './sql.js';
import type { Transaction } from './transaction.js';
import { Turns } from './turns.js';

const attempts = 3;
/** Serialization failure and deadlock. */
const repeatableCodes = new Set(['40001', '40P01']);
/** Nothing was done, the whole decision may be taken again. */
const isRepeatable = (cause: unknown): boolean =>
  repeatableCodes.has(String((cause as { code?: unknown }).code)) || isPlanOutdated(cause);

/** Transactions. Every write of the API goes through transaction, every write of the leader through leaderTransaction. */
@Injectable()
export class Database {
  private readonly log = new Logger(Database.name);
  private readonly turns = new Turns();

  constructor(
    /** Connections of the API; for reads outside a transaction, too. */
    readonly pool: DatabasePool,
    /**
     * Connections of the leader: short time-outs, so that a frozen leader's locks vanish. Reads of its passes outside a transaction
     * take them as well: calls of the API, however many, do not make them wait.
     */
    readonly leaderPool: DatabasePool,
    private readonly leadership: Leadership,
  ) {}

  /** Fails while the database does not answer. */
  async ping(): Promise<void> {
    await this.pool.query('SELECT 1');
  }

  /**
   * Begins by asking again whether the call that it belongs to may act, so that no change comes in between. `requestIds`: whose
   * rows `work` locks, so that it waits for its turn without a connection.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>, requestIds: readonly string[] = []): Promise<T> {
    const { permit, ending } = bracketsOfCall();
    const bracketed = async (tx: Transaction): Promise<T> => {
      await permit?.hold(tx);
      const result = await work(tx);
      await ending?.(tx);
      return result;
    };
    const locked = [...requestIds, ...(permit?.requestIds ?? [])];
    return this.inTurn(locked, () => this.repeat(() => this.attempt(bracketed)));
  }

  /**
   * Runs the work once. A failure before the commit has changed nothing; of a commit without an answer it is not known.
   */
  private async attempt<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    let isCommitting = false;
    try {
      return await this.pool.transaction(async (tx) => {
        isCommitting = false;
        const result = await work(tx);
        isCommitting = true;
        return result;
      });
    } catch (cause) {
      throw isCommitting && isUnanswered(cause) ? new OutcomeUnknownError(cause) : cause;
    }
  }

  /** Calls of this process that lock the row of a request do so one after the other, in the order in which they came. */
  inTurn<T>(requestIds: readonly string[], work: () => Promise<T>): Promise<T> {
    return requestIds.length > 0 ? this.turns.with(requestIds, work) : work();
  }

  /** Reads that must agree with each other: one snapshot of the database. Nothing can be written in it. */
  snapshot<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.repeat(() =>
      this.pool.transaction(work, 'START TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY'),
    );
  }

  /** Fails with NotLeaderError, having written nothing, unless this instance leads from the first statement to the commit. */
  leaderTransaction<T>(work: (tx: Transaction, epoch: Epoch) => Promise<T>): Promise<T> {
    const once = () => {
      const epoch = this.leadership.current();
      if (epoch === undefined) throw new NotLeaderError('it holds no lease');
      return this.leaderPool.transaction(async (tx) => {
        // The lock makes a takeover wait for this transaction, so nothing of an old epoch is committed after it.
        const fence: unknown[] = await tx.query('SELECT 1 FROM leader_epoch WHERE epoch = $1 FOR SHARE', [epoch]);
        if (fence.length === 0) {
          this.leadership.stepDown(`epoch ${epoch} is over`);
          throw new NotLeaderError(`epoch ${epoch} is over`);
        }
        return work(tx, epoch);
      });
    };
    return outsideOfCalls(() => this.repeat(once));
  }

  private async repeat<T>(attempt: () => Promise<T>): Promise<T> {
    for (let left = attempts - 1; ; left--) {
      try {
        return await attempt();
      } catch (cause) {
        if (left === 0 || !isRepeatable(cause)) throw cause;
        this.log.debug(`Repeating a transaction after ${(cause as { code: string }).code}`);
      }
    }
  }
}
