import { execFile } from 'node:child_process';
import { access, constants, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** How a task becomes another user. */
export interface RunAs {
  uid: number;
  gid: number;
  home: string;
  /** Words put before the command; they change the user and then become the command. */
  prefix: string[];
}

/** undefined: the agent's own user. A text says why the user cannot be used here. */
export async function resolveUser(name: string | undefined, sandboxes: string): Promise<RunAs | undefined | string> {
  const own = userInfo();
  if (name === undefined || name === own.username || name === String(own.uid)) return undefined;
  if (own.uid !== 0) return `user: cannot run as '${name}', the agent runs as '${own.username}' and not as root`;
  const account = await findAccount(name);
  if (!account) return `user: no user '${name}' on this machine`;
  const prefix = await switchWords(account.uid, account.gid);
  if (!prefix) return `user: cannot run as '${name}', neither setpriv nor chroot is installed`;
  const barred = await barredFolder(sandboxes, account.uid, account.gid);
  if (barred) return `user: '${name}' cannot reach the sandboxes, ${barred} is closed to others`;
  return { ...account, prefix };
}

async function findAccount(name: string): Promise<{ uid: number; gid: number; home: string } | undefined> {
  try {
    const { stdout } = await run('getent', ['passwd', '--', name]);
    const [, , uid, gid, , home] = stdout.trim().split(':');
    return uid && gid ? { uid: Number(uid), gid: Number(gid), home: home || '/' } : undefined;
  } catch {
    return undefined;
  }
}

/** Both change the user and execute: no process stays in between, so signals and exit status are the command's own. */
async function switchWords(uid: number, gid: number): Promise<string[] | undefined> {
  const candidates = [
    ['/usr/bin/setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--init-groups', '--'],
    ['/usr/sbin/chroot', `--userspec=${uid}:${gid}`, '--', '/'],
  ];
  for (const words of candidates) {
    const [program = ''] = words;
    if (
      await access(program, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return words;
  }
  return undefined;
}

/** The first folder on the way that this user may not pass. */
async function barredFolder(path: string, uid: number, gid: number): Promise<string | undefined> {
  const { mode, uid: owner, gid: group } = await stat(path);
  const bit = owner === uid ? 0o100 : group === gid ? 0o010 : 0o001;
  if ((mode & bit) === 0) return path;
  return path === '/' ? undefined : barredFolder(dirname(path), uid, gid);
}
