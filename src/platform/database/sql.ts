import type { EntityManager } from 'typeorm';

/** Rows of one SQL statement, whatever its kind (TypeORM wraps those of UPDATE and DELETE differently). */
export async function rows<T = Record<string, unknown>>(
  tx: EntityManager,
  sql: string,
  parameters: unknown[] = [],
): Promise<T[]> {
  const result: unknown = await tx.query(sql, parameters);
  // UPDATE and DELETE answer [rows, count]; all others answer the rows themselves.
  if (Array.isArray(result) && result.length === 2 && Array.isArray(result[0]) && typeof result[1] === 'number') {
    return result[0] as T[];
  }
  return result as T[];
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
