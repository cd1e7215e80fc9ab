import { Logger } from '@nestjs/common';
import { Pool, type PoolClient } from 'pg';
import { DataSource, type EntityManager, type EntitySchema, type MixedList } from 'typeorm';
import {
  answerTimeoutMillis,
  apiParameters,
  integersAsNumbers,
  leaderParameters,
  migrationParameters,
  ProvenClient,
  withParameters,
} from './connection.js';
import { migrations as allMigrations } from './migrations.js';
import { send } from './sql.js';
import type { Queryable } from './queryable.js';
import { isOfServer, Transaction } from './transaction.js';
import { TransactionSubscriber } from './transaction-subscriber.js';

export type EntityClasses = MixedList<Function | EntitySchema>;

const parametersOf = { api: apiParameters, leader: leaderParameters, migrations: migrationParameters };

interface PoolSettings {
  url: string;
  /** Use of the connections, as pg_stat_activity shows it. */
  use: keyof typeof parametersOf;
  entities?: EntityClasses;
  poolSize?: number;
  /** Default: a little longer than the server lets a statement run. */
  queryTimeoutMillis?: number;
  /** Default: all of this program. */
  migrations?: readonly Function[];
}

/** Table of the migrations that have run. */
export const migrationsTable = 'muster_migration';

/** Connections of one use, which our statements and TypeORM's share. int8 columns arrive as numbers: ours stay far below 2^53. */
export class DatabasePool implements Queryable {
  /** TypeORM on these connections: for repositories of cold tables, and for migrations. */
  readonly orm: DataSource;
  private readonly pool: Pool;
  /** Connections of single statements that are under way. */
  private readonly lent = new Set<PoolClient>();

  /** Does not connect yet; `open` does. */
  constructor({
    url: plainUrl,
    use,
    entities = [],
    poolSize = 10,
    queryTimeoutMillis = answerTimeoutMillis(parametersOf[use]),
    migrations = allMigrations,
  }: PoolSettings) {
    const log = new Logger('Database');
    const url = withParameters(plainUrl, parametersOf[use]);
    const pool = new Pool({
      connectionString: url,
      application_name: `muster ${use}`,
      max: poolSize,
      connectionTimeoutMillis: 5_000,
      Client: ProvenClient,
      types: integersAsNumbers,
      // What need not wait for an answer is sent at once: the beginning of a transaction with its first statement.
      pipeline: true,
      keepAlive: true,
      keepAliveInitialDelayMillis: 1_000,
      query_timeout: queryTimeoutMillis,
    });
    // One that breaks while it is lent fails its statements; without a listener it would end the process.
    pool.on('connect', (client) => client.on('error', () => undefined));
    this.pool = pool;
    this.orm = new DataSource({
      type: 'postgres',
      url,
      // In place of `pg`: TypeORM makes its pool with it.
      driver: {
        Pool: function SharedPool() {
          return pool;
        },
      },
      entities,
      subscribers: [TransactionSubscriber],
      migrations: [...migrations],
      migrationsTableName: migrationsTable,
      // An idle connection that breaks is replaced at its next use; here no query waits for it.
      poolErrorHandler: (cause: unknown) => log.debug(`An idle ${use} connection broke: ${String(cause)}`),
      logging: false,
    });
  }

  get isOpen(): boolean {
    return this.orm.isInitialized;
  }

  async open(): Promise<this> {
    await this.orm.initialize();
    return this;
  }

  /** Closes all connections: statements in progress fail. */
  async close(): Promise<void> {
    for (const client of this.lent) client.release(true);
    this.lent.clear();
    if (this.isOpen) await this.orm.destroy();
  }

  readonly query: EntityManager['query'] = async <T>(sql: string, parameters?: unknown[]): Promise<T> => {
    const client = await this.pool.connect();
    this.lent.add(client);
    let isBroken = false;
    try {
      const { rows } = await send(client, sql, parameters);
      return rows as T;
    } catch (cause) {
      isBroken = !isOfServer(cause);
      throw cause;
    } finally {
      if (this.lent.delete(client)) client.release(isBroken);
    }
  };

  readonly getRepository: EntityManager['getRepository'] = (entity) => this.orm.getRepository(entity);

  /** `work` in a transaction that is not repeated: `Database` does that. */
  transaction<T>(work: (tx: Transaction) => Promise<T>, beginning?: string): Promise<T> {
    return Transaction.run(this.orm, work, beginning);
  }

  /** Connections, and how many wait for one. */
  figures(): { busy: number; idle: number; waiting: number } {
    const { totalCount, idleCount, waitingCount } = this.pool;
    return { busy: totalCount - idleCount, idle: idleCount, waiting: waitingCount };
  }
}
