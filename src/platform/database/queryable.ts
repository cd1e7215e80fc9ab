import type { EntityManager } from 'typeorm';

/**
 * Runs statements: the pool, where each stands alone, or a `Transaction`. A method that takes a `Queryable` may be
 * called outside of a transaction; one that locks, or writes what belongs together, takes a `Transaction`.
 */
export interface Queryable {
  /** Answers the rows of the statement, whatever its kind. Its text is sent as it is; `parameters` are $1 and so on. */
  readonly query: EntityManager['query'];
  /** TypeORM on the same connection, for cold tables. */
  readonly getRepository: EntityManager['getRepository'];
}
