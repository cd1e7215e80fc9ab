import { Logger } from '@nestjs/common';
import { DataSource, type EntitySchema, type MixedList } from 'typeorm';
import {
  answerTimeoutMillis,
  apiParameters,
  leaderParameters,
  migrationParameters,
  withParameters,
} from './connection.js';
import { migrations as allMigrations } from './migrations.js';
import { PreparingClient } from './prepared-statements.js';

export type Entities = MixedList<Function | EntitySchema>;

const parametersOf = { api: apiParameters, leader: leaderParameters, migrations: migrationParameters };

interface DataSourceSettings {
  url: string;
  /** Whose connections these are, as pg_stat_activity shows them. */
  use: keyof typeof parametersOf;
  entities?: Entities;
  poolSize?: number;
  /** Default: a little longer than the server lets a statement run. */
  queryTimeoutMillis?: number;
  /** Default: all of this program. */
  migrations?: readonly Function[];
}

/** Which migrations have run. */
export const migrationsTable = 'muster_migration';

/** Not connected yet; `initialize()` does that. int8 columns arrive as numbers: ours stay far below 2^53. */
export function createDataSource({
  url,
  use,
  entities,
  poolSize = 10,
  queryTimeoutMillis = answerTimeoutMillis(parametersOf[use]),
  migrations = allMigrations,
}: DataSourceSettings): DataSource {
  const log = new Logger('Database');
  return new DataSource({
    type: 'postgres',
    url: withParameters(url, parametersOf[use]),
    applicationName: `muster ${use}`,
    entities: entities ?? [],
    migrations: [...migrations],
    migrationsTableName: migrationsTable,
    parseInt8: true,
    poolSize,
    connectTimeoutMS: 5_000,
    extra: {
      Client: PreparingClient,
      // What need not wait for an answer is sent at once: the beginning of a transaction with its first statement.
      pipeline: true,
      keepAlive: true,
      keepAliveInitialDelayMillis: 1_000,
      query_timeout: queryTimeoutMillis,
    },
    // An idle connection that breaks is replaced at its next use; here no query waits for it.
    poolErrorHandler: (cause: unknown) => log.debug(`An idle ${use} connection broke: ${String(cause)}`),
    logging: false,
  });
}
