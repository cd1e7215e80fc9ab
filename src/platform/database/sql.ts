import type { Queryable } from './queryable.js';

/** Rows of one SQL statement, whatever its kind; of one without parameters, too, the server keeps the plan. */
export function rows<T = Record<string, unknown>>(
  tx: Queryable,
  sql: string,
  parameters: unknown[] = [],
): Promise<T[]> {
  return tx.query<T[]>(sql, parameters);
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
