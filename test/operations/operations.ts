import { appendFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readAdditions, readContract } from '../contract/contract.js';
import { Api } from '../e2e/support/api.js';
import { Installation, type InstallationOptions, type Instance } from '../e2e/support/product.js';
import { createDatabase } from '../support/test-database.js';
import { AnswerSchemas } from './answer-schemas.js';
import { Ledger, type OperationName } from './ledger.js';

export interface OperationsOptions extends InstallationOptions {
  /** Sent with every call, unless the call has others of these names: who calls. */
  headers?: Record<string, string>;
  /** Command that is started in place of the whole product, such as `scheduler`. */
  command?: string[];
}

export interface CallInput {
  /** By the names in the path. */
  params?: Record<string, string>;
  query?: Record<string, string | number | boolean | readonly string[]>;
  body?: unknown;
  headers?: Record<string, string>;
}

/** The built product with one machine, called operation by operation; every answer is held against the served document. */
export class Operations {
  private schemas!: AnswerSchemas;
  private started!: Api;
  /** The process that is called. */
  instance!: Instance;

  constructor(
    readonly ledgers: readonly Ledger[],
    private readonly options: OperationsOptions = {},
    readonly installation = new Installation({
      ...(options.databaseUrl ? {} : { database: createDatabase }),
      ...options,
    }),
  ) {}

  /** The calls that only set the scene. */
  get api(): Api {
    return this.started;
  }

  get databaseUrl(): string {
    return this.installation.databaseUrl();
  }

  async start(env?: Record<string, string>): Promise<void> {
    this.instance = await this.installation.start(this.options.command, env);
    this.started = new Api(this.instance.api.url, this.options.headers);
    this.schemas = new AnswerSchemas(await this.started.document());
  }

  /** Another scheduler of the same installation. What it answers counts together with this one's answers. */
  async another(env: Record<string, string>): Promise<Operations> {
    const another = new Operations(this.ledgers, { command: ['scheduler'] }, this.installation);
    await another.start({ DATABASE_URL: this.databaseUrl, ...env });
    return another;
  }

  /** For the scenes that no call can set. */
  async sql(text: string, values: unknown[] = []): Promise<void> {
    const client = new pg.Client({ connectionString: this.databaseUrl });
    await client.connect();
    await client.query(text, values).finally(() => client.end());
  }

  /** Statuses that were stated and not seen yet. */
  missing(): string[] {
    return this.ledgers.flatMap((ledger) => ledger.missing());
  }

  dispose(): Promise<void> {
    return this.installation.dispose();
  }

  /** Calls for real, and demands this status and an answer as the document says. Answers the body. */
  async call<Body = unknown>(operation: OperationName, status: number, input: CallInput = {}): Promise<Body> {
    let response = await this.send(operation, input);
    // On a machine that is busy with other tests a lock may take too long: then callers are told to try again.
    for (let again = 0; response.status === 503 && status !== 503 && again < 3; again++) {
      noteRepeat(operation);
      await delay(Number(response.headers.get('retry-after') ?? 1) * 1_000);
      response = await this.send(operation, input);
    }
    const text = await response.text();
    const type = (response.headers.get('content-type') ?? '').split(';')[0]!;
    const answer: unknown = text === '' ? undefined : type.endsWith('json') ? JSON.parse(text) : text;
    if (response.status !== status)
      throw new Error(`${operation} answered ${response.status} in place of ${status}: ${text}`);
    const problems = this.schemas.problems(operation, status, type, answer);
    if (problems.length > 0) throw new Error(`${problems.join('\n')}\nIt answered: ${text}`);
    for (const ledger of this.ledgers) ledger.record(operation, status);
    return answer as Body;
  }

  private send(operation: OperationName, input: CallInput): Promise<Response> {
    const [method, path] = operation.split(' ') as [string, string];
    const { body, headers } = input;
    return fetch(this.url(path, input), {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...this.options.headers,
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(15_000),
      redirect: 'manual',
    });
  }

  private url(path: string, { params = {}, query = {} }: CallInput): string {
    const filled = path.replace(/\{(\w+)\}/g, (_whole, name: string) => {
      const value = params[name];
      if (value === undefined) throw new Error(`${path} is called without ${name}`);
      return encodeURIComponent(value);
    });
    const asked = Object.entries(query).flatMap(([name, value]) =>
      [value].flat().map((each): [string, string] => [name, String(each)]),
    );
    return `${this.started.url}${filled}${asked.length > 0 ? `?${new URLSearchParams(asked).toString()}` : ''}`;
  }
}

/** `npm test` and `npm run test:deep` print at their end which calls were repeated, and how often. */
function noteRepeat(operation: OperationName): void {
  const file = process.env['MUSTER_REPEATED_CALLS'];
  if (file) appendFileSync(file, `${operation}\n`);
  else console.log(`${operation} was answered 503 and is repeated`);
}

/**
 * Call it once at the beginning of a test file: starts a product for the file's tests. Another one, with other settings,
 * can note its calls where a first one does.
 */
export function operationsOf(groups: readonly string[] | Operations, options?: OperationsOptions): Operations {
  const all = [...readContract().operations, ...readAdditions()];
  const ledgers = groups instanceof Operations ? groups.ledgers : groups.map((group) => new Ledger(all, group));
  const operations = new Operations(ledgers, options);
  beforeAll(() => operations.start(), 90_000);
  afterAll(() => operations.dispose(), 90_000);
  return operations;
}

/** Call it at the end of the file, after all tests that call: a last test, by which nothing that the contract states is left. */
export function everyOperationWasCalled(operations: Operations): void {
  test('every operation was called with success and with each stated failure', () => {
    expect(operations.missing()).toEqual([]);
  });
}
