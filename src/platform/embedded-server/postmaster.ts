import { execFile, spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, readlinkSync, realpathSync, writeSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { StartError } from '../errors.js';
import { errorCode } from '../files.js';
import type { Binaries } from './binaries.js';

/** Content of the server's pid file: pid, port, directory of its socket and TCP address are lines 1, 4, 5, 6. */
export interface Postmaster {
  pid: number;
  port: number;
  /** Empty: none, or none yet. */
  socketFolder: string;
  isOnTcp: boolean;
}

/** The server of this cluster that runs now, if one does. */
export function runningPostmaster(cluster: string): Postmaster | undefined {
  const lines = textOf(join(cluster, pidFileName))?.split('\n');
  if (!lines) return undefined;
  const [pid, , , port, socketFolder = '', address = ''] = lines;
  const found = { pid: Number(pid), port: Number(port), socketFolder, isOnTcp: address.trim() !== '' };
  return isServerOf(found.pid, cluster) ? found : undefined;
}

/**
 * The server's working folder is its cluster. Where the system shows that, it tells the server from a zombie and from
 * another program that got the same pid after a restart of the machine or container.
 */
function isServerOf(pid: number, cluster: string): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  if (process.platform === 'linux') {
    try {
      return readlinkSync(`/proc/${pid}/cwd`) === realpathSync(cluster);
    } catch {
      return false;
    }
  }
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/**
 * A pid that is in use again keeps a server from starting. The file is not removed, because the server finds in it the
 * shared memory of its predecessor and waits for the processes that still write there.
 */
export function disarmStalePidFile(cluster: string): void {
  disarm(cluster, pidFileName);
}

/** Disarms the file beside the socket, in which nothing but the pid counts. */
export function disarmStaleLock(cluster: string, socket: string): void {
  disarm(cluster, `${socket}.lock`);
}

/**
 * Writes into the file that was read: of the file that a server started meanwhile puts in its place nothing is changed. An empty one is
 * that of a server that is about to write it.
 */
function disarm(cluster: string, name: string): void {
  const file = openIfThere(resolve(cluster, name));
  if (file === undefined) return;
  try {
    const text = readFileSync(file, 'utf8');
    const noSuchPid = '2147483646';
    if (/^\d/.test(text) && !runningPostmaster(cluster)) writeSync(file, text.replace(/^\d+/, noSuchPid), 0);
  } finally {
    closeSync(file);
  }
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, 'r+');
  } catch (cause) {
    if (errorCode(cause) === 'ENOENT') return undefined;
    throw cause;
  }
}

const pidFileName = 'postmaster.pid';

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** Runs one of the server's programs as the server's user, in a session of its own: Ctrl-C does not reach it. */
export function runProgram(
  binaries: Binaries,
  user: ServerUser,
  program: 'initdb' | 'pg_ctl',
  args: readonly string[],
): Promise<{ code: number; output: string }> {
  const options = { cwd: '/', uid: user?.uid, gid: user?.gid, detached: true, encoding: 'utf8' as const };
  return new Promise((resolve, reject) => {
    execFile(join(binaries.root, 'bin', program), args, options, (error, stdout, stderr) => {
      if (error && typeof error.code !== 'number') reject(error);
      else resolve({ code: error ? Number(error.code) : 0, output: `${stdout}${stderr}`.trim() });
    });
  });
}

/** The user that the server runs as. undefined: the user of this process. PostgreSQL refuses to run as root. */
export type ServerUser = { name: string; uid: number; gid: number } | undefined;

/**
 * The owner of the files that are there, else `postgres`, else an account of the system that runs little. `nobody` comes
 * last: other programs like to run as it, and would own the database. No user is ever created.
 */
export function serverUser(owner?: { uid: number; gid: number }): ServerUser {
  if (process.getuid?.() !== 0) return undefined;
  if (owner && owner.uid !== 0) return { name: nameOf(owner.uid), ...owner };
  for (const name of ['postgres', 'daemon', 'bin', 'nobody']) {
    const [uid, gid] = [idOf('-u', name), idOf('-g', name)];
    if (uid !== undefined && gid !== undefined) return { name, uid, gid };
  }
  throw new StartError(
    'PostgreSQL does not run as root, and there is no user "postgres", "daemon", "bin" or "nobody" to run it as',
  );
}

function nameOf(uid: number): string {
  const answer = spawnSync('id', ['-n', '-u', String(uid)], { encoding: 'utf8' });
  return answer.status === 0 ? answer.stdout.trim() : String(uid);
}

function idOf(flag: '-u' | '-g', name: string): number | undefined {
  const answer = spawnSync('id', [flag, name], { encoding: 'utf8' });
  return answer.status === 0 ? Number(answer.stdout.trim()) : undefined;
}

/** True if the server's user gets at a file or directory, through all directories above it. */
export function canReach(user: ServerUser, path: string): boolean {
  if (!user) return true;
  const test = spawnSync('/bin/sh', ['-c', 'test -x "$1"', 'sh', path], { uid: user.uid, gid: user.gid, cwd: '/' });
  return test.status === 0;
}
