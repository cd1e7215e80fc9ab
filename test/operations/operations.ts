import { afterAll, beforeAll, expect, test } from 'vitest';
import { readContract } from '../contract/contract.js';
import type { Api } from '../e2e/support/api.js';
import { Installation, type InstallationOptions } from '../e2e/support/product.js';
import { AnswerSchemas } from './answer-schemas.js';
import { Ledger, type OperationName } from './ledger.js';

export interface CallInput {
  /** By the names in the path. */
  params?: Record<string, string>;
  query?: Record<string, string | number | boolean | readonly string[]>;
  body?: unknown;
  headers?: Record<string, string>;
}

export interface OperationsOptions extends InstallationOptions {
  /** What is started in place of the whole product, such as `scheduler`. */
  command?: string[];
}

/** The built product with one machine, called operation by operation; every answer is held against the served document. */
export class Operations {
  readonly installation: Installation;
  private schemas!: AnswerSchemas;
  private started!: Api;

  constructor(
    readonly ledgers: readonly Ledger[],
    private readonly options: OperationsOptions = {},
  ) {
    this.installation = new Installation(options);
  }

  /** The calls that only set the scene. */
  get api(): Api {
    return this.started;
  }

  async start(): Promise<void> {
    this.started = (await this.installation.start(this.options.command)).api;
    const document = await fetch(`${this.started.url}/docs/openapi.json`);
    this.schemas = new AnswerSchemas((await document.json()) as ConstructorParameters<typeof AnswerSchemas>[0]);
  }

  /** What was stated and not seen yet. */
  missing(): string[] {
    return this.ledgers.flatMap((ledger) => ledger.missing());
  }

  dispose(): Promise<void> {
    return this.installation.dispose();
  }

  /** Calls for real, and demands this status and an answer as the document says. Answers the body. */
  async call<Body = unknown>(operation: OperationName, status: number, input: CallInput = {}): Promise<Body> {
    const [method, path] = operation.split(' ') as [string, string];
    const { body, headers } = input;
    const response = await fetch(this.url(path, input), {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(15_000),
      redirect: 'manual',
    });
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

/**
 * Call it once at the beginning of a test file: starts a product for the file's tests. Another one, with other settings,
 * can note its calls where a first one does.
 */
export function operationsOf(groups: readonly string[] | Operations, options?: OperationsOptions): Operations {
  const contract = readContract();
  const ledgers = groups instanceof Operations ? groups.ledgers : groups.map((group) => new Ledger(contract, group));
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
