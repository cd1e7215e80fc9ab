import type { ObjectLiteral, Repository, ValueTransformer } from 'typeorm';
import { toMillis, toTime } from './sql.js';

/** For a timestamptz column that the entity has in epoch milliseconds; NULL is absent. */
export const epochMillis: ValueTransformer = { to: toTime, from: toMillis };

/** For a column whose NULL is absent in the entity, as it is in records of the core. */
export const absentWhenNull: ValueTransformer = {
  to: (value: unknown) => value ?? null,
  from: (value: unknown) => value ?? undefined,
};

/**
 * Inserts rows; those whose primary key is there already are replaced as a whole. `Repository.upsert` would keep the old
 * value of every column that is absent in the new row.
 */
export async function replaceRows<Row extends ObjectLiteral>(
  repository: Repository<Row>,
  rows: readonly Row[],
): Promise<void> {
  const { columns, primaryColumns } = repository.metadata;
  await repository
    .createQueryBuilder()
    .insert()
    .values([...rows])
    .orUpdate(
      columns.filter((column) => !column.isPrimary).map((column) => column.databaseName),
      primaryColumns.map((column) => column.databaseName),
    )
    .updateEntity(false)
    .execute();
}
