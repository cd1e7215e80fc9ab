import { spawnSync } from 'node:child_process';
import { StartError } from '../start-error.js';

/** Whom the server runs as. Empty: whoever runs us. PostgreSQL refuses to run as root. */
export type ServerUser = { name: string; uid: number; gid: number } | undefined;

/** `postgres` where it exists, else `nobody`. No user is ever created. */
export function serverUser(): ServerUser {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody']) {
    const [uid, gid] = [idOf('-u', name), idOf('-g', name)];
    if (uid !== undefined && gid !== undefined) return { name, uid, gid };
  }
  throw new StartError(
    'PostgreSQL does not run as root, and there is neither a user "postgres" nor "nobody" to run it as',
  );
}

function idOf(flag: '-u' | '-g', name: string): number | undefined {
  const answer = spawnSync('id', [flag, name], { encoding: 'utf8' });
  return answer.status === 0 ? Number(answer.stdout.trim()) : undefined;
}

/** Whether the server's user gets at a file or folder, through all the folders above it. */
export function canReach(user: ServerUser, path: string): boolean {
  if (!user) return true;
  const test = spawnSync('/bin/sh', ['-c', 'test -x "$1"', 'sh', path], { uid: user.uid, gid: user.gid, cwd: '/' });
  return test.status === 0;
}
