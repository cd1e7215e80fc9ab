import type { FindOptionsWhere, QueryDeepPartialEntity, Repository } from 'typeorm';

/** The only row of its table, which is equal for all instances: the first one that needs it makes it. */
export async function onlyRow<Row extends { onlyRow: boolean }>(
  table: Repository<Row>,
  make: () => Omit<Row, 'onlyRow'>,
): Promise<Row> {
  const where = { onlyRow: true } as FindOptionsWhere<Row>;
  const kept = await table.findOneBy(where);
  if (kept) return kept;
  const made = { onlyRow: true, ...make() } as QueryDeepPartialEntity<Row>;
  await table.createQueryBuilder().insert().values(made).orIgnore().updateEntity(false).execute();
  return table.findOneByOrFail(where);
}
