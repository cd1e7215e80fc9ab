import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { promisify } from 'node:util';
import { messageOf } from '../../platform/files.js';
import { commandLine, type Option } from './command-line.js';

const run = promisify(execFile);

/** Way for a task to become another user than the agent. */
export interface RunAs {
  uid: number;
  gid: number;
  home: string;
  /** As people call it: the name of the account, or the number of a user that only this task has. */
  name: string;
  /** A user of the task's own: no other process of the machine has it. */
  own: boolean;
  /**
   * Words put before a command: they change the user for good (no groups but the account's, no capabilities, no way to
   * more rights) and then become the command. They run as root, so never with an environment of the task.
   */
  prefix: readonly string[];
}

/** Part of it that is stored with the task, for later agents. */
export type SavedUser = Omit<RunAs, 'prefix'>;

const programs = ['/usr/bin/setpriv', '/bin/setpriv', '/usr/local/bin/setpriv'];

/**
 * Options for a container that has a root, but does not let it shrink the bounding set: without the uid 0 there is
 * nothing left in it to gain.
 */
const without: readonly Option[] = [
  ['no-new-privs', true],
  ['inh-caps', '-all'],
];
const options = [[...without, ['bounding-set', '-all'] as const], without];

/** A way to become another user: no process stays in between, so signals and exit status are the command's own. */
export class UserSwitch {
  private constructor(
    private readonly program: string,
    private readonly options: readonly Option[],
  ) {}

  /** Tried with a user that tasks are to get. Throws with the reason when none works. */
  static async find(uid: number): Promise<UserSwitch> {
    let reason = 'setpriv (of util-linux) is not installed';
    for (const program of programs) {
      if (!(await isProgram(program))) continue;
      for (const some of options) {
        const found = new UserSwitch(program, some);
        const [first = '', ...words] = found.words({ uid, gid: uid, own: true });
        try {
          await run(first, [...words, '/bin/sh', '-c', ':'], { env: cleanEnvironment, cwd: '/' });
          return found;
        } catch (cause) {
          reason = messageOf(cause).trim().split('\n').at(-1) ?? '';
        }
      }
    }
    throw new Error(reason);
  }

  words({ uid, gid, own }: Pick<RunAs, 'uid' | 'gid' | 'own'>): string[] {
    const groups: Option = [own ? 'clear-groups' : 'init-groups', true];
    return [this.program, ...commandLine([['reuid', uid], ['regid', gid], groups, ...this.options]), '--'];
  }
}

/** For whatever runs as the agent's user on behalf of a task: nothing in it comes from the task. */
export const cleanEnvironment = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' };

const isProgram = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
/** A user that nothing belongs to. */
export const nobody = { uid: 4294967294, gid: 4294967294 };
