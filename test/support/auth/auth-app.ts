import type { User } from '../../../src/core/authorization/index.js';
import { Tokens } from '../../../src/modules/auth/tokens/tokens.service.js';
import type { Clock } from '../../../src/platform/clock.js';
import { SettingsFile, type Settings } from '../../../src/platform/settings/settings.js';
import { startTestApp, type TestAppOptions } from '../test-app.js';
import type { ClusterDriver } from '../../../src/cluster/cluster-driver.js';

export interface Answer {
  status: number;
  headers: Headers;
  body: { [name: string]: unknown; message: string; code: string };
}

export interface CallOptions {
  body?: unknown;
  headers?: Record<string, string>;
  /** Text of a token to come with. */
  token?: string;
}

export interface AuthApp {
  url: string;
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  sql(text: string, parameters?: unknown[]): Promise<Record<string, unknown>[]>;
  /** A token of this user, made without HTTP. */
  tokenOf(user: Partial<User> & { id: string }): Promise<string>;
  get<T>(type: abstract new (...args: never[]) => T): T;
  close(): Promise<void>;
}

/** Settings as a file with this content would give them; fails as the start would. */
export function authSettings(file: Record<string, unknown>): Partial<Settings> {
  return SettingsFile.parse(file);
}

/** The whole application with these sections in its settings file. */
export async function startAuthApp(
  file: Record<string, unknown>,
  options: Pick<TestAppOptions<ClusterDriver>, 'databaseUrl' | 'follows' | 'driver'> & { clock?: Clock } = {},
): Promise<AuthApp> {
  const settings = authSettings({
    ...file,
    auth: { failuresBeforeDelay: 10_000, tokenCreationsPerMinute: 10_000, ...(file['auth'] as object) },
  });
  const running = await startTestApp({ ...options, settings });
  const { url, app, database } = running;
  return {
    url,
    call: (method, path, sent) => callWith(`${url}${path}`, method, sent),
    sql: (text, parameters) => database.pool.query(text, parameters),
    tokenOf: async (user) => {
      const full = { groups: [], scopes: [], authenticated: true, ...user };
      return (await app.get(Tokens, { strict: false }).create({ user: full }, full)).text;
    },
    get: (type) => app.get(type, { strict: false }),
    close: running.close,
  };
}

export async function callWith(url: string, method: string, sent: CallOptions = {}): Promise<Answer> {
  const { body, token } = sent;
  const response = await fetch(url, {
    method,
    headers: {
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(token === undefined ? {} : { Authorization: `Token ${token}` }),
      ...sent.headers,
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') && text !== '';
  return {
    status: response.status,
    headers: response.headers,
    body: (isJson ? JSON.parse(text) : text) as Answer['body'],
  };
}
