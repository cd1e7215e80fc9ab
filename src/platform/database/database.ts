import { Injectable, Logger } from '@nestjs/common';
import {
  type DataSource,
  type EntityManager,
  QueryRunnerAlreadyReleasedError,
  QueryRunnerProviderAlreadyReleasedError,
} from 'typeorm';
import type { Epoch } from '../../cluster/cluster-driver.js';
import { Leadership, NotLeaderError } from '../leadership/leadership.js';
import { followCommit } from './after-commit.js';
import { bracketsOfCall, outsideOfCalls } from './permits.js';
import { OutcomeUnknownError } from '../errors.js';
import { isUnanswered } from './database-errors.js';
import { isPlanOutdated } from './prepared-statements.js';
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
    /** Connections of the API. */
    readonly source: DataSource,
    /** Connections of the leader: short time-outs, so that a frozen leader's locks vanish. */
    readonly leaderSource: DataSource,
    private readonly leadership: Leadership,
  ) {}

  /** For reads outside a transaction. */
  get manager(): EntityManager {
    return this.source.manager;
  }

  /** For reads of the leader's passes outside a transaction: calls of the API, however many, do not make them wait. */
  get leaderManager(): EntityManager {
    return this.leaderSource.manager;
  }

  /** Fails while the database does not answer. */
  async ping(): Promise<void> {
    await this.source.query('SELECT 1');
  }

  /**
   * Begins by asking again whether the call that it belongs to may act, so that no change comes in between. `requestIds`: whose
   * rows `work` locks, so that it waits for its turn without a connection.
   */
  transaction<T>(work: (tx: EntityManager) => Promise<T>, requestIds: readonly string[] = []): Promise<T> {
    const { permit, ending } = bracketsOfCall();
    const bracketed = async (tx: EntityManager): Promise<T> => {
      await permit?.hold(tx);
      const result = await work(tx);
      await ending?.(tx);
      return result;
    };
    const locked = [...requestIds, ...(permit?.requestIds ?? [])];
    return this.inTurn(locked, () => this.repeat(() => this.attempt(bracketed)));
  }

  /** What fails before its commit has changed nothing; of a commit without an answer it is not known. */
  private async attempt<T>(work: (tx: EntityManager) => Promise<T>): Promise<T> {
    let isCommitting = false;
    try {
      return await committed(this.source, async (tx) => {
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
  snapshot<T>(work: (tx: EntityManager) => Promise<T>): Promise<T> {
    return this.repeat(() =>
      committed(this.source, work, 'START TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY'),
    );
  }

  /** Fails with NotLeaderError, having written nothing, unless this instance leads from the first statement to the commit. */
  leaderTransaction<T>(work: (tx: EntityManager, epoch: Epoch) => Promise<T>): Promise<T> {
    const once = () => {
      const epoch = this.leadership.current();
      if (epoch === undefined) throw new NotLeaderError('it holds no lease');
      return committed(this.leaderSource, async (tx) => {
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

/** Nothing is done in this transaction any more, because something before has failed. */
const isAborted = (cause: unknown): boolean => (cause as { code?: unknown }).code === '25P02';

/** TypeORM releases the connection of a transaction when it breaks, and what is asked next is told only that. */
const isReleased = (cause: unknown): boolean =>
  cause instanceof QueryRunnerAlreadyReleasedError || cause instanceof QueryRunnerProviderAlreadyReleasedError;

const connectionBroke = (cause: unknown): unknown =>
  isReleased(cause) ? new Error('Connection terminated before the transaction had ended', { cause }) : cause;

/** Only looks, or locks. */
const looks = /^\s*SELECT\b/;

/**
 * The beginning goes out together with the first statement, when that only looks: the connection sends it without waiting. Nothing
 * is written before it is known that the transaction has begun.
 */
async function committed<T>(
  source: DataSource,
  work: (tx: EntityManager) => Promise<T>,
  beginning = 'START TRANSACTION',
): Promise<T> {
  const runner = source.createQueryRunner();
  const query = runner.query.bind(runner) as (sql: string, ...rest: unknown[]) => Promise<unknown>;
  // Of what goes on side by side in `work`, one part may fail while another is between two statements of its own.
  let isOver = false;
  let broken: unknown;
  const end = (statement: 'COMMIT' | 'ROLLBACK'): Promise<unknown> => {
    isOver = true;
    return query(statement);
  };
  try {
    await runner.connect();
    // Of statements that go out together those behind one that fails do so, too: of what it was.
    const send = (sql: string, ...rest: unknown[]): Promise<unknown> =>
      query(sql, ...rest).catch((cause: unknown) => {
        // The first is the cause of the others.
        if (!isAborted(cause)) broken ??= cause;
        throw broken ?? cause;
      });
    let begun: Promise<unknown> | undefined = send(beginning);
    begun.then(
      () => (begun = undefined),
      () => undefined,
    );
    const inOrder = async (sql: string, ...rest: unknown[]): Promise<unknown> => {
      if (begun && looks.test(sql)) return (await Promise.all([begun, send(sql, ...rest)]))[1];
      if (begun) await begun;
      if (isOver) throw broken ?? new Error('The transaction is over');
      return send(sql, ...rest);
    };
    // As the driver's own beginning would leave it.
    Object.assign(runner, { query: inOrder, isTransactionActive: true, transactionDepth: 1 });
    const result = await work(runner.manager);
    // The server would answer its COMMIT as if all were well.
    if (broken !== undefined) throw broken;
    await end('COMMIT');
    followCommit(runner.manager);
    return result;
  } catch (cause) {
    // A connection that is broken has rolled back already.
    await end('ROLLBACK').catch(() => undefined);
    throw isReleased(cause) ? connectionBroke(broken ?? cause) : cause;
  } finally {
    await runner.release();
  }
}
