import { createHash } from 'node:crypto';
import type { Client, PoolClient, QueryResult } from 'pg';
import { arrayText } from './array-text.js';
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

/** A statement that is sent this often is worth being kept by the server. */
const usesUntilNamed = 3;
/** Each connection keeps every one of them: some 20 kB each. */
const mostNames = 500;
/** Searches are put together from many filters, and most are sent once. */
const mostSeen = 5_000;

/** Begins a statement whose best plan depends on the values that are sent with it: it gets no name. */
export const plannedEachTime = '/* planned each time */ ';

/**
 * Names of statements that are sent again and again: the server reads and plans one of a known name once per connection.
 * The text makes the name, so that one name never means two statements.
 */
export class StatementNames {
  private readonly uses = new Map<string, number>();
  private readonly names = new Map<string, string>();
  private generation = 0;

  /** undefined: not worth a name. */
  nameOf(text: string): string | undefined {
    if (text.startsWith(plannedEachTime)) return undefined;
    const known = this.names.get(text);
    if (known !== undefined || this.names.size >= mostNames) return known;
    const uses = (this.uses.get(text) ?? 0) + 1;
    if (uses < usesUntilNamed) {
      if (this.uses.size >= mostSeen) this.uses.clear();
      this.uses.set(text, uses);
      return undefined;
    }
    this.uses.delete(text);
    const name = `${this.generation}-${createHash('sha256').update(text).digest('base64url')}`;
    this.names.set(text, name);
    return name;
  }

  /** Forgets all names: the statements that the server keeps under them no longer hold. */
  forget(): void {
    this.generation++;
    this.names.clear();
    this.uses.clear();
  }
}

/** All connections of this process: the one that learns that a table has changed tells the others. */
const names = new StatementNames();

/** Sends a statement, at once. The server keeps the plans of those with parameters that are sent again and again. */
export async function send(
  client: Client | PoolClient,
  text: string,
  parameters?: readonly unknown[],
): Promise<QueryResult> {
  if (!parameters) return client.query(text);
  const values = parameters.map((value) => (Array.isArray(value) ? (arrayText(value) ?? value) : value));
  const name = names.nameOf(text);
  if (name === undefined) return client.query(text, values);
  try {
    return await client.query({ name, text, values });
  } catch (cause) {
    if (!isPlanOutdated(cause)) throw cause;
    names.forget();
    // Within a transaction all is lost, and it has to begin anew.
    if (client.getTransactionStatus() !== 'I') throw cause;
    return client.query(text, values);
  }
}

/** A migration has changed the columns of what a kept plan answers. */
export const isPlanOutdated = (cause: unknown): boolean =>
  (cause as { routine?: unknown } | undefined)?.routine === 'RevalidateCachedQuery';
