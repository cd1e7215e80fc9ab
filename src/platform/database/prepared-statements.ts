import { Client, type ClientConfig, type QueryResult } from 'pg';
import { StatementNames } from './statement-names.js';

type Send = (query: unknown, ...rest: unknown[]) => Promise<QueryResult>;

/** All connections of this process: whoever learns that a table has changed tells the others. */
const names = new StatementNames();

/** A connection on which the server keeps the plans of statements with parameters that are sent again and again. */
export class PreparingClient extends Client {
  constructor(config?: ClientConfig) {
    super(config);
    const send = this.query.bind(this) as Send;
    const prepared = async (text: string, name: string, values: unknown[]): Promise<QueryResult> => {
      try {
        return await send({ name, text, values });
      } catch (cause) {
        if (!isPlanOutdated(cause)) throw cause;
        names.forget();
        // Within a transaction all is lost, and it has to begin anew.
        if (this.getTransactionStatus() !== 'I') throw cause;
        return send(text, values);
      }
    };
    this.query = ((query: unknown, ...rest: unknown[]) => {
      const [values] = rest;
      const name = typeof query === 'string' && Array.isArray(values) && rest.length === 1 && names.nameOf(query);
      return name ? prepared(query as string, name, values as unknown[]) : send(query, ...rest);
    }) as Client['query'];
  }
}

/** A migration has changed the columns of what a kept plan answers. */
export const isPlanOutdated = (cause: unknown): boolean =>
  (cause as { routine?: unknown } | undefined)?.routine === 'RevalidateCachedQuery';
