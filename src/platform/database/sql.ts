import type { Pool } from 'pg';
import { type DataSource, type EntityManager, QueryFailedError, type QueryRunner, TypeORMError } from 'typeorm';

/** Rows of one SQL statement, whatever its kind (TypeORM wraps those of UPDATE and DELETE differently). */
export function rows<T = Record<string, unknown>>(
  tx: EntityManager,
  sql: string,
  parameters: unknown[] = [],
): Promise<T[]> {
  const { queryRunner } = tx;
  const found = queryRunner ? within(queryRunner, sql, parameters) : alone(tx.dataSource, sql, parameters);
  return found as Promise<T[]>;
}

async function within(transaction: QueryRunner, sql: string, parameters: unknown[]): Promise<unknown[]> {
  const result: unknown = await transaction.query(sql, parameters);
  // UPDATE and DELETE answer [rows, count]; all others answer the rows themselves.
  if (Array.isArray(result) && result.length === 2 && Array.isArray(result[0]) && typeof result[1] === 'number') {
    return result[0] as unknown[];
  }
  return result as unknown[];
}

/** Where TypeORM has its pool, and whom it lent connections of it, which it takes back when it is told to end. */
interface Lender {
  master?: Pool;
  connectedQueryRunners: { release(): void }[];
}

/** Outside of transactions, on a connection of the pool: what TypeORM puts around that costs more than a cheap read. */
function alone({ driver, logger }: DataSource, sql: string, parameters: unknown[]): Promise<unknown[]> {
  const { master: pool, connectedQueryRunners: lent } = driver as unknown as Lender;
  if (!pool) return Promise.reject(new TypeORMError('Driver not Connected'));
  return new Promise((resolve, reject) => {
    pool.connect((failure, client, giveBack) => {
      if (!client) return reject(failure as Error);
      const loan = {
        release: (broken?: Error): void => {
          const place = lent.indexOf(loan);
          if (place < 0) return;
          lent.splice(place, 1);
          client.removeListener('error', loan.release);
          giveBack(broken);
        },
      };
      lent.push(loan);
      // While it is lent, the pool does not listen.
      client.on('error', loan.release);
      logger.logQuery(sql, parameters);
      client.query(sql, parameters).then(
        (result) => {
          loan.release();
          resolve(result.rows);
        },
        (cause: Error) => {
          loan.release();
          reject(new QueryFailedError(sql, parameters, cause));
        },
      );
    });
  });
}

/** Epoch milliseconds to what a timestamptz column takes, keeping absence. */
export const toTime = (millis: number | undefined | null): Date | null => (millis == null ? null : new Date(millis));
/** A timestamptz value to epoch milliseconds, keeping absence. */
export const toMillis = (time: Date | null | undefined): number | undefined => time?.getTime();

/** ` AND column > .. AND column < ..` for the bounds that there are, whose values are added to the parameters. */
export function timeTests(
  column: string,
  { after, before }: { after?: number; before?: number },
  parameters: unknown[],
): string {
  const test = (sign: string, millis: number | undefined): string =>
    millis === undefined ? '' : ` AND ${column} ${sign} $${parameters.push(new Date(millis))}`;
  return test('>', after) + test('<', before);
}
