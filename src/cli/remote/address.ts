import { constants, lstatSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isLoopbackHost } from '../../platform/addresses.js';
import { CliError } from '../exit-codes.js';
import type { Run } from '../run.js';
import { fileProblem } from '../../platform/file-problem.js';
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
 * Address of the server: by the flags, MUSTER_URL, the chosen context, or the instance that runs on this machine. A
 * token goes to the server that it was given for: that of a context never to another address, none to an address that
 * anybody may have written down.
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
      throw new CliError('usage', `Cannot read ${text.slice(1)}: ${fileProblem(cause)}`, { cause });
    }
  }
  if (!/^[\x21-\x7e]{1,10000}$/.test(token)) throw new CliError('usage', 'A token is one word of printable characters');
  return token;
}

/**
 * As the server that runs on the data directory wrote it down. A folder that MUSTER_DATA_DIR names is the caller's choice. One
 * that just lies where the caller is may be of somebody else who waits for tokens: it has to be the caller's or root's, and to
 * name a program of this machine.
 */
function localUrl({ environment }: Run): string {
  const named = environment['MUSTER_DATA_DIR'];
  const folder = resolve(named || '.muster');
  const file = join(folder, 'address');
  let text: string;
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch {
    return `http://127.0.0.1:${environment['MUSTER_PORT'] || 7099}`;
  }
  const url = cleanUrl(file, text);
  const doubt = named ? undefined : (doubtOf(folder) ?? doubtOf(file) ?? doubtOfHost(new URL(url).hostname));
  if (doubt === undefined) return url;
  const choices = 'name the server by --url, MUSTER_URL, MUSTER_DATA_DIR or a context';
  throw new CliError('usage', `The address in ${file} is not believed, because ${doubt}: ${choices}`);
}

/** The reason to believe that another user has put this here. A link is judged as well as its target. */
function doubtOf(path: string): string | undefined {
  const own = process.getuid?.();
  if (own === undefined) return undefined;
  for (const { uid, mode } of [lstatSync(path), statSync(path)]) {
    if (uid !== own && uid !== 0) return `${path} belongs to user ${uid}`;
    if ((mode & 0o022) !== 0 && (mode & constants.S_IFMT) !== constants.S_IFLNK) return `others may change ${path}`;
  }
  return undefined;
}

const doubtOfHost = (host: string): string | undefined =>
  isLoopbackHost(host) ? undefined : `${host} is no loopback address`;
