import { createHash } from 'node:crypto';
import { Client, type ClientConfig, type QueryResult } from 'pg';
import { arrayText } from './array-text.js';
import { demandProof } from './server-proof.mjs';

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

  /** What the server keeps under the names given so far no longer holds. */
  forget(): void {
    this.generation++;
    this.names.clear();
    this.uses.clear();
  }
}

type Send = (query: unknown, ...rest: unknown[]) => Promise<QueryResult>;

/** All connections of this process: the one that learns that a table has changed tells the others. */
const names = new StatementNames();

/** A connection on which the server keeps the plans of statements with parameters that are sent again and again. */
export class PreparingClient extends Client {
  constructor(config?: ClientConfig) {
    super(config);
    demandProof(this);
    const sent = this.query.bind(this) as Send;
    const send: Send = (...query) => {
      const answer = sent(...query);
      // Handed its work by a callback, a client answers nothing.
      return answer instanceof Promise ? answer.catch((cause: unknown) => this.fail(cause)) : answer;
    };
    const prepared = (text: string, name: string, values: unknown[]): Promise<QueryResult> =>
      sent({ name, text, values }).catch((cause: unknown) => {
        if (!isPlanOutdated(cause)) return this.fail(cause);
        names.forget();
        // Within a transaction all is lost, and it has to begin anew.
        if (this.getTransactionStatus() !== 'I') throw cause;
        return send(text, values);
      });
    this.query = ((query: unknown, ...rest: unknown[]) => {
      const [given] = rest;
      if (typeof query !== 'string' || !Array.isArray(given) || rest.length !== 1) return send(query, ...rest);
      const values = given.map((value: unknown) => (Array.isArray(value) ? (arrayText(value) ?? value) : value));
      const name = names.nameOf(query);
      return name ? prepared(query, name, values) : send(query, values);
    }) as Client['query'];
  }

  /** The server still works at what this side has given up, or is gone: whatever is sent behind it would wait, too. */
  private fail(cause: unknown): never {
    if (cause instanceof Error && cause.message === 'Query read timeout') {
      // With a statement in flight that hangs up at once; and from now on the pool does not take it back.
      this.end().catch(() => undefined);
    }
    throw cause;
  }
}

/** A migration has changed the columns of what a kept plan answers. */
export const isPlanOutdated = (cause: unknown): boolean =>
  (cause as { routine?: unknown } | undefined)?.routine === 'RevalidateCachedQuery';
