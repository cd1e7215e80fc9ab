import { execFile } from 'node:child_process';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { errorCode, isMissing } from '../../platform/files.js';

const run = promisify(execFile);

/** An account of this machine. */
export interface Account {
  name: string;
  uid: number;
  gid: number;
  home: string;
}

const keptMillis = 10_000;
const mostKept = 1_000;
const lookUpMillis = 5_000;

/** No account has a longer one. */
const longestName = 256;

/** Exit status of getent: no such entry. */
const noEntry = 2;

/** The accounts of this machine, by name or number. What was found is believed for some seconds. */
export class Accounts {
  private readonly known = new Map<string, { account: Promise<Account | undefined>; until: number }>();

  find(name: string): Promise<Account | undefined> {
    const now = performance.now();
    const known = this.known.get(name);
    if (known && known.until > now) return known.account;
    if (this.known.size >= mostKept) this.known.clear();
    const account = lookUp(name);
    this.known.set(name, { account, until: now + keptMillis });
    // A failure is no answer: the next one asks again.
    account.catch(() => this.known.delete(name));
    return account;
  }

  /** Numbers of the users among them that exist. */
  async uidsOf(names: readonly string[]): Promise<Set<number>> {
    const found = await Promise.all(names.map((name) => this.find(name)));
    return new Set(found.flatMap((account) => (account ? [account.uid] : [])));
  }
}

async function lookUp(name: string): Promise<Account | undefined> {
  if (name.includes('\0') || name.length > longestName) return undefined;
  try {
    const { stdout } = await run('getent', ['passwd', '--', name], { timeout: lookUpMillis });
    const [found, , uid, gid, , home] = stdout.trim().split(':');
    return found && uid && gid ? { name: found, uid: Number(uid), gid: Number(gid), home: home || '/' } : undefined;
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === noEntry) return undefined;
    throw cause;
  }
}

/** Users that own something in these directories, such as the database beside the agent: a task of theirs could write it. */
export async function ownersIn(directories: readonly string[]): Promise<Set<number>> {
  const owners = new Set<number>();
  for (const directory of directories) {
    for (const name of [...(await namesIn(directory)), '.']) {
      const uid = await stat(join(directory, name)).then(
        (stats) => stats.uid,
        () => undefined,
      );
      if (uid !== undefined) owners.add(uid);
    }
  }
  return owners;
}

export async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (cause) {
    if (isMissing(cause) || errorCode(cause) === 'EACCES') return [];
    throw cause;
  }
}
