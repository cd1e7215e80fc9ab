import { DatabaseError, type PoolClient, type QueryResult } from 'pg';
import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import { send } from './sql.js';
import type { Queryable } from './queryable.js';

/** Nothing is done in this transaction any more, because something before has failed. */
const isAborted = (cause: unknown): boolean => (cause as { code?: unknown }).code === '25P02';

/** A statement that only reads or locks. */
const looks = /^\s*SELECT\b/;

/** A transaction of the database, on one connection. TypeORM's repositories take part in it. */
export class Transaction implements Queryable {
  private readonly followers: (() => void)[] = [];
  private begun: Promise<unknown> | undefined;
  /**
   * Set at once, because parts of a transaction go on side by side: one may fail while another is between two
   * statements of its own.
   */
  private isOver = false;
  private broken: unknown;

  private constructor(
    /** Holds the connection, so that what TypeORM sends goes the same way. */
    private readonly runner: QueryRunner,
    private readonly client: PoolClient,
    beginning: string,
  ) {
    this.begun = this.attempt(send(client, beginning));
    this.begun.then(
      () => (this.begun = undefined),
      () => undefined,
    );
  }

  /** Commits when `work` has succeeded, and rolls back otherwise. */
  static async run<T>(
    source: DataSource,
    work: (tx: Transaction) => Promise<T>,
    beginning = 'START TRANSACTION',
  ): Promise<T> {
    const runner = source.createQueryRunner();
    try {
      const tx = new Transaction(runner, (await runner.connect()) as PoolClient, beginning);
      runner.data['transaction'] = tx;
      return await tx.complete(work);
    } finally {
      await runner.release();
    }
  }

  /**
   * The beginning goes out together with the first statement, when that only looks: the connection sends it without waiting. Nothing
   * is written before it is known that the transaction has begun.
   */
  readonly query: EntityManager['query'] = async <T>(sql: string, parameters?: unknown[]): Promise<T> => {
    if (!looks.test(sql)) await this.ready();
    else if (this.isOver) throw this.ended();
    const [result] = await Promise.all([this.attempt(this.send(sql, parameters)), this.begun]);
    return result.rows as T;
  };

  readonly getRepository: EntityManager['getRepository'] = (entity) => this.runner.manager.getRepository(entity);

  /** `work` is done once, right after the commit; never when there is none. For what others are told of it. */
  afterCommit(work: () => void): void {
    this.followers.push(work);
  }

  /** Resolves when a statement may be sent that changes something. */
  async ready(): Promise<void> {
    await this.begun;
    if (this.isOver) throw this.ended();
  }

  /** A statement has failed: whatever `work` makes of it, nothing is committed. */
  failed(cause: unknown): void {
    // Of statements that go out together those behind one that fails do so, too: the first is the cause of the others.
    if (!isAborted(cause)) this.broken ??= cause;
    // The server still works at what this side has given up, or is gone: the pool takes no connection back that is ending.
    if (!isOfServer(cause)) void this.client.end();
  }

  private async complete<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    try {
      const result = await work(this);
      await this.begun;
      // The server would answer its COMMIT as if all were well.
      if (this.broken !== undefined) throw this.broken;
      this.isOver = true;
      await this.attempt(this.send('COMMIT'));
      for (const follow of this.followers) follow();
      return result;
    } catch (cause) {
      this.isOver = true;
      // A connection that is broken has rolled back already.
      await this.send('ROLLBACK').catch(() => undefined);
      throw cause;
    }
  }

  private async attempt(answer: Promise<QueryResult>): Promise<QueryResult> {
    try {
      return await answer;
    } catch (cause) {
      this.failed(cause);
      throw this.broken ?? cause;
    }
  }

  /** TypeORM gives the connection back when it breaks, or when the pool is closed. */
  private send(sql: string, parameters?: unknown[]): Promise<QueryResult> {
    if (this.runner.isReleased)
      return Promise.reject(new Error('Connection terminated before the transaction had ended'));
    return send(this.client, sql, parameters);
  }

  private ended(): unknown {
    return this.broken ?? new Error('The transaction is over');
  }
}

/** The server has refused the statement. After any other failure the state of the connection is not known. */
export const isOfServer = (cause: unknown): boolean => cause instanceof DatabaseError;
