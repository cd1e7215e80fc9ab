import { chmodSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { CliError } from '../exit-codes.js';
import type { Run } from '../run.js';
import { fileProblem } from '../../platform/file-problem.js';

/** A server under a name. */
export interface ServerContext {
  url: string;
  token?: string;
}
export interface Contexts {
  current?: string;
  contexts: Record<string, ServerContext>;
}

export const contextsFile = ({ environment }: Run): string =>
  join(environment['XDG_CONFIG_HOME'] || join(environment['HOME'] || homedir(), '.config'), 'muster', 'contexts.json');

export function readContexts(run: Run): Contexts {
  const path = contextsFile(run);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { contexts: {} };
    throw new CliError('usage', `Cannot read ${path}: ${fileProblem(cause)}`, { cause });
  }
  const contexts = parse(path, text);
  const isSecret = Object.values(contexts.contexts).some(({ token }) => token !== undefined);
  // As ssh does with keys: what others can read is no secret, and may have been made by them.
  if (isSecret && process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0) {
    throw new CliError('usage', `${path} holds tokens and others can read it: chmod 600 ${path}`);
  }
  return contexts;
}

function parse(path: string, text: string): Contexts {
  let value: Partial<Contexts>;
  try {
    value = JSON.parse(text) as Partial<Contexts>;
  } catch (cause) {
    throw new CliError('usage', `${path} is not JSON: ${(cause as Error).message}`, { cause });
  }
  const all = Object.values(value?.contexts ?? {});
  const isOurs = typeof value === 'object' && all.every((each) => typeof each?.url === 'string');
  if (!isOurs) throw new CliError('usage', `${path} does not hold contexts: muster context set makes them`);
  return { current: value.current, contexts: { ...value.contexts } };
}

/** Whole or not at all, and from its first moment readable for its owner alone. */
export function writeContexts(run: Run, contexts: Contexts): void {
  const path = contextsFile(run);
  const fresh = `${path}.${process.pid}`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(fresh, `${JSON.stringify(contexts, undefined, 2)}\n`, { mode: 0o600 });
    chmodSync(fresh, 0o600);
    renameSync(fresh, path);
  } catch (cause) {
    throw new CliError('usage', `Cannot write ${path}: ${fileProblem(cause)}`, { cause });
  }
}
