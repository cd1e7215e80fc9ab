import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request, type Dispatcher } from 'undici';
import { backOffMillis } from '../../../../src/core/back-off.js';
import { StartError } from '../../../../src/platform/errors.js';

export interface OriginalOptions {
  /** Address at which it answers, with or without `/api` at the end. */
  url: string;
  /** Sent with every call, such as Authorization. Never shown. */
  headers: Readonly<Record<string, string>>;
  /** Calls at the same time. */
  concurrency: number;
  /** For one answer. */
  timeoutMillis: number;
}

const attempts = 4;
const firstPauseMillis = 250;
const longestPauseMillis = 5_000;
/** The longest answer is the list of all requests; no installation comes near. */
const mostBytes = 512 * 2 ** 20;
/** Entries on each page of a list. */
const pageSize = 100;

/** The installation that is left, through its HTTP API. It is only read, unless an operator asks for a pause there. */
export class OriginalApi {
  private readonly base: string;
  private readonly headers: Record<string, string>;
  private readonly dispatcher: Agent;

  constructor(private readonly options: OriginalOptions) {
    const { base, headers } = readAddress(options.url);
    this.base = base;
    this.headers = { accept: 'application/json', ...headers, ...options.headers };
    this.dispatcher = new Agent({ connections: options.concurrency, connect: { timeout: options.timeoutMillis } });
  }

  /** Without anything secret. */
  get address(): string {
    return this.base;
  }

  /** undefined: there is nothing at this path. */
  async find(path: string): Promise<unknown> {
    return this.call('GET', path);
  }

  /** Reads a list. One that only newer or older versions have may be missing. */
  async list(path: string): Promise<unknown[]> {
    const found = await this.call('GET', path);
    if (found === undefined) return [];
    if (!Array.isArray(found)) throw new StartError(`${this.base}/${path} does not answer a list`);
    return found;
  }

  /** The pages of a list, one after the other, so that a long one is never in memory as a whole. */
  async *pages(path: string): AsyncGenerator<unknown[]> {
    for (let page = 1; ; page++) {
      const found = await this.list(`${path}?count=${pageSize}&page=${page}`);
      if (found.length > 0) yield found;
      if (found.length < pageSize) return;
    }
  }

  post(path: string, body: object): Promise<unknown> {
    return this.call('POST', path, body);
  }

  close(): Promise<void> {
    return this.dispatcher.destroy();
  }

  private async call(method: Dispatcher.HttpMethod, path: string, body?: object): Promise<unknown> {
    for (let failures = 1; ; failures++) {
      try {
        return await this.once(method, path, body);
      } catch (cause) {
        // What was asked for once by POST may have been done.
        if (cause instanceof StartError || failures === attempts || method !== 'GET') throw this.explain(path, cause);
        await delay(backOffMillis(failures, firstPauseMillis, longestPauseMillis));
      }
    }
  }

  private async once(method: Dispatcher.HttpMethod, path: string, body?: object): Promise<unknown> {
    const { timeoutMillis } = this.options;
    const sent = body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
    const answer = await request(`${this.base}/${path}`, {
      method,
      dispatcher: this.dispatcher,
      headersTimeout: timeoutMillis,
      bodyTimeout: timeoutMillis,
      body: sent?.body,
      headers: { ...this.headers, ...sent?.headers },
    });
    const text = await readText(answer.body);
    const { statusCode: status } = answer;
    const type = String(answer.headers['content-type'] ?? '');
    if (status === 401 || status === 403) {
      const hint = 'name who asks with --header or --token';
      throw new StartError(`${this.base} asks for authentication (HTTP ${status} at ${path}): ${hint}`);
    }
    if (status === 404) return undefined;
    if (status >= 300 && status < 400) {
      throw new StartError(`${this.base} answers with a redirection (HTTP ${status}): give the address it leads to`);
    }
    if (status >= 400 && status < 500 && status !== 408 && status !== 429) {
      throw new StartError(`${this.base}/${path} answers HTTP ${status}: ${text.slice(0, 200)}`);
    }
    if (status >= 400) throw new Error(`HTTP ${status}: ${text.slice(0, 200)}`);
    if (!type.includes('json')) {
      const hint = 'is it the address of the API, such as http://host:7099/singularity/api?';
      throw new StartError(`${this.base} answers with '${type}' where JSON is expected: ${hint}`);
    }
    return JSON.parse(text) as unknown;
  }

  private explain(path: string, cause: unknown): StartError {
    if (cause instanceof StartError) return cause;
    const { code, message } = cause as Error & { code?: string };
    const what = message || code || String(cause);
    const hint = 'What was taken so far stays; run it again to go on';
    return new StartError(`${this.base} does not answer (${path}, ${attempts} attempts): ${what}. ${hint}`, { cause });
  }
}

async function readText(body: Dispatcher.ResponseData['body']): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > mostBytes) throw new StartError(`An answer is longer than ${mostBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** User and password may stand in the address: they become a header, so that nothing that is printed has them. */
function readAddress(given: string): { base: string; headers: Record<string, string> } {
  if (!URL.canParse(given)) throw new StartError('The address of the other installation is not a URL');
  const url = new URL(given);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new StartError('The address of the other installation must begin with http:// or https://');
  }
  const path = url.pathname.replace(/\/+$/, '');
  const base = `${url.origin}${path.endsWith('/api') ? path : `${path}/api`}`;
  if (url.username === '' && url.password === '') return { base, headers: {} };
  const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return { base, headers: { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` } };
}
