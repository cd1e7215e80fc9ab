import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { type AgentDirectory, elsewhere } from '../state/agent-directory.js';
import type { Log } from '../../platform/log.js';
import { ensureFolder, messageOf, barredDirectory } from '../../platform/files.js';
import type { LocalClusterSettings } from '../settings.js';
import { type Account, Accounts, namesIn, ownersIn } from './accounts.js';
import { cleanEnvironment, type RunAs, type SavedUser, UserSwitch } from '../processes/run-as.js';
import { ownUser } from './own-user.js';
import { rangeHere, sharingOf } from './shared-user.js';
import { UserNumbers } from './user-numbers.js';

const run = promisify(execFile);

/** Ways to give tasks other users than the agent's, and to give a user of its own to each that names none. */
type UserAssignment = { switch: UserSwitch; numbers: UserNumbers | undefined };

type UserSettings = Pick<
  LocalClusterSettings,
  'tasksRunAs' | 'taskUsers' | 'allowedRunUsers' | 'deniedRunUsers' | 'defaultRunAsUser' | 'requireIsolation'
>;

/** `sandboxes`: every user gets there. */
type UserDirectory = Pick<AgentDirectory, 'root' | 'sandboxes'>;

/** Says as which user a task runs. */
export class TaskUsers {
  private readonly accounts = new Accounts();
  private readonly own = ownUser();

  private constructor(
    private readonly settings: UserSettings,
    private readonly directory: UserDirectory,
    private readonly way: UserAssignment | undefined,
  ) {}

  /** Throws when tasks would get more rights than the settings allow. */
  static async open(settings: UserSettings, directory: UserDirectory, log: Log): Promise<TaskUsers> {
    return new TaskUsers(settings, directory, await findWay(settings, directory, log));
  }

  /**
   * For a new task; `home` is that of a user of its own. undefined: the agent's own user. A text says why the user cannot
   * be used here.
   */
  async resolve(name: string | undefined, home: string): Promise<RunAs | undefined | string> {
    if (name === undefined) return this.withoutName(home);
    const refusal = await this.refusal(name);
    if (refusal !== undefined) return `user: ${refusal}`;
    const account = await this.accounts.find(name);
    if (!account || account.uid === this.own.uid) return undefined;
    const { uid, gid } = account;
    return this.reachable({ ...account, own: false, prefix: this.way?.switch.words({ uid, gid, own: false }) ?? [] });
  }

  /**
   * Reason why no task may be this user here; undefined: it may. Decided by the number: one user may have several
   * names.
   */
  async refusal(name: string): Promise<string | undefined> {
    const account = await this.accounts.find(name);
    if (!account) return `no user '${name}' on this machine`;
    const { deniedRunUsers: denied } = this.settings;
    const isRoot = account.uid === 0 || account.gid === 0;
    if (denied.includes(name) || (await this.uidsOf(denied)).has(isRoot ? 0 : account.uid))
      return `tasks must not run as '${name}' (cluster.local.deniedRunUsers)`;
    // Tasks that name none have it.
    if (account.uid === this.own.uid && !this.way?.numbers) return undefined;
    if (this.own.uid !== 0) return `cannot run as '${name}', the agent runs as '${this.own.username}' and not as root`;
    if (!(await this.isAllowed(account)))
      return `tasks must not run as '${name}', which is none of cluster.local.allowedRunUsers`;
    return this.reservedFor(name, account);
  }

  /** None is, unless the operator has named it. */
  private async isAllowed({ uid }: Account): Promise<boolean> {
    const { allowedRunUsers, defaultRunAsUser = [] } = this.settings;
    return allowedRunUsers.includes('*') || (await this.uidsOf([...allowedRunUsers, defaultRunAsUser].flat())).has(uid);
  }

  private async reservedFor(name: string, { uid }: Account): Promise<string | undefined> {
    if (uid === 0) return undefined;
    if (this.way?.numbers?.contains(uid)) return `tasks must not run as '${name}', which is the user of another task`;
    if (!this.way) return `cannot run as '${name}': no way to change the user works here`;
    if ((await this.ownersBesideUs()).has(uid))
      return `tasks must not run as '${name}', which owns files of the service on this machine`;
    return undefined;
  }

  /** The user of a task that an earlier agent started. `name` is what its launch says. */
  async restore(saved: SavedUser | undefined, name: string | undefined): Promise<RunAs | undefined> {
    const { way } = this;
    if (!way) return undefined;
    // Launches of earlier releases do not say who they became.
    const user = saved ?? (await this.accountOf(name));
    if (!user) return undefined;
    return { ...user, prefix: way.switch.words(user) };
  }

  /** One that a live task has got from an earlier agent. */
  keep(user: RunAs): void {
    if (user.own) this.way?.numbers?.keep(user.uid);
  }

  /** The task has ended, and nothing of it can be read by who comes next. */
  release(user: RunAs): void {
    if (user.own) this.way?.numbers?.release(user.uid);
  }

  /** SIGKILL to every process of a user that only this task had, wherever it hides. */
  async killAll(user: RunAs): Promise<void> {
    if (!this.way?.numbers?.isOursAlone(user.uid)) return;
    const [program = '', ...words] = user.prefix;
    // Fails when there is nothing to kill, which is the usual case.
    await run(program, [...words, '/bin/sh', '-c', 'kill -s KILL -- -1'], { env: cleanEnvironment, cwd: '/' }).catch(
      () => undefined,
    );
  }

  close(): void {
    this.way?.numbers?.close();
  }

  private async withoutName(home: string): Promise<RunAs | undefined | string> {
    const { way } = this;
    if (!way?.numbers) return undefined;
    const uid = way.numbers.take();
    const user = { uid, gid: uid, name: String(uid), home, own: true };
    return this.reachable({ ...user, prefix: way.switch.words(user) });
  }

  private reachable(user: RunAs): RunAs | string {
    const barred = barredDirectory(this.directory.sandboxes, user.uid, user.gid);
    if (barred === undefined) return user;
    this.release(user);
    return `user: '${user.name}' cannot reach the sandboxes, ${barred} is closed to others`;
  }

  private async accountOf(name: string | undefined): Promise<SavedUser | undefined> {
    const account = name === undefined ? undefined : await this.accounts.find(name);
    return account && account.uid !== this.own.uid ? { ...account, own: false } : undefined;
  }

  /** Each name counts as itself, and "root" as the number 0 whatever the machine calls it. */
  private async uidsOf(names: readonly string[]): Promise<Set<number>> {
    const uids = await this.accounts.uidsOf(names);
    return names.includes('root') ? uids.add(0) : uids;
  }

  /** Owners of what lies beside the agent's directory, such as the embedded database, wherever on this machine that is. */
  private async ownersBesideUs(): Promise<Set<number>> {
    const places = (await namesIn(elsewhere)).map((name) => join(elsewhere, name));
    return ownersIn([dirname(this.directory.root), ...places]);
  }
}

async function findWay(
  settings: UserSettings,
  directory: UserDirectory,
  log: Log,
): Promise<UserAssignment | undefined> {
  const sharing = sharingOf(settings);
  if (sharing?.problem !== undefined) throw new Error(sharing.problem);
  if (sharing) log.warn(sharing.warning);
  if (ownUser().uid !== 0) return undefined;
  const { first, count } = settings.taskUsers;
  const range = rangeHere(settings);
  if (!range) return undefined;
  const isOwn = sharing === undefined;
  const found = await UserSwitch.find(range.first).catch((cause: unknown) => {
    if (!isOwn) return undefined;
    throw new Error(
      `Tasks cannot get users of their own: ${messageOf(cause)}. To run them as root, set cluster.local.tasksRunAs to AGENT`,
    );
  });
  if (isOwn && (range.first !== first || range.count !== count))
    log.warn(
      `Users ${first} to ${first + count - 1} do not exist here: tasks get ${range.first} and the ${range.count - 1} after it`,
    );
  return (
    found && {
      switch: found,
      numbers: isOwn ? new UserNumbers(range, await claimsDirectory(directory, log)) : undefined,
    }
  );
}

/** Common to the agents of this machine, and closed to all but root. */
async function claimsDirectory(directory: UserDirectory, log: Log): Promise<string> {
  const common = join(elsewhere, 'task-users');
  try {
    await ensureFolder(elsewhere, 0o711);
    await ensureFolder(common, 0o700);
    await access(common, constants.W_OK);
    return common;
  } catch (cause) {
    log.warn(`Other agents of this machine may give their tasks the same users: ${messageOf(cause)}`);
    const own = join(directory.root, 'task-users');
    await ensureFolder(own, 0o700);
    return own;
  }
}
