import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CliError } from '../exit-codes.js';
import type { Run } from '../run.js';
import { readContexts } from './contexts.js';

export interface ConnectFlags {
  url?: string;
  context?: string;
  token?: string;
  timeout?: string;
}

export interface Address {
  url: string;
  token?: string;
}

/**
 * Where the server is: the flags, MUSTER_URL, the chosen context, or what runs on this machine. A token goes to the server that
 * it was given for: that of a context never to another address.
 */
export function addressOf(flags: ConnectFlags, run: Run): Address {
  const given = flags.token === undefined ? {} : { token: readToken(flags.token) };
  if (flags.url !== undefined && flags.context !== undefined) throw new CliError('usage', 'Either --url or --context');
  const { MUSTER_URL, MUSTER_TOKEN, MUSTER_CONTEXT } = run.environment;
  const ofEnvironment = MUSTER_TOKEN ? { token: MUSTER_TOKEN.trim() } : {};
  if (flags.url !== undefined) return { url: cleanUrl('--url', flags.url), ...ofEnvironment, ...given };
  if (flags.context === undefined && MUSTER_URL) {
    return { url: cleanUrl('MUSTER_URL', MUSTER_URL), ...ofEnvironment, ...given };
  }
  const { current, contexts } = readContexts(run);
  const name = flags.context ?? (MUSTER_CONTEXT || current);
  if (name === undefined) return { url: localUrl(run), ...ofEnvironment, ...given };
  const context = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
  if (!context) throw new CliError('usage', `There is no context '${name}': muster context list shows those there are`);
  return { ...context, url: cleanUrl(`The context '${name}'`, context.url), ...given };
}

/** Without what people paste along: the path of the API, a slash at the end. */
export function cleanUrl(name: string, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password) {
    throw new CliError('usage', `${name} must be an address such as https://muster.example.com:7099`);
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '').replace(/\/api$/, '')}`;
}

/** @file keeps it out of the list of processes. */
export function readToken(text: string): string {
  let token = text;
  if (text.startsWith('@')) {
    try {
      token = readFileSync(text === '@-' ? 0 : text.slice(1), 'utf8').trim();
    } catch (cause) {
      throw new CliError('usage', `Cannot read ${text.slice(1)}: ${(cause as NodeJS.ErrnoException).code}`, { cause });
    }
  }
  if (!/^[\x21-\x7e]{1,10000}$/.test(token)) throw new CliError('usage', 'A token is one word of printable characters');
  return token;
}

/** As the server that runs on the data directory wrote it down. */
function localUrl({ environment }: Run): string {
  const dataDir = resolve(environment['MUSTER_DATA_DIR'] || '.muster');
  try {
    return cleanUrl('', readFileSync(join(dataDir, 'address'), 'utf8').trim());
  } catch {
    return `http://127.0.0.1:${environment['MUSTER_PORT'] || 7099}`;
  }
}
