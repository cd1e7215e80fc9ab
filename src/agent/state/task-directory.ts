import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { link, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { TaskState } from '../../core/model/enums.js';
import type { LaunchSpec } from '../../core/model/launch.js';
import { monotonicOf } from '../../platform/monotonic.js';
import type { AgentDirectory } from './agent-directory.js';
import { ensureFolder, errorCode, readIfThere, syncFolder, writeDurably } from '../../platform/files.js';
import { parseStat, type ProcessIdentity } from '../processes/process-identity.js';
import type { SavedUser } from '../processes/run-as.js';

/** Content of `spec.json`: the launch as it was sent, and the boot in which it was accepted. */
interface SavedLaunch {
  spec: LaunchSpec;
  bootId: string;
  /** Epoch millis. */
  acceptedAt: number;
  /** Absent: the agent's own user. */
  runAs?: SavedUser;
}

/** Name of a file that exists for a task whose container has other users than the task. */
const ownersFile = 'any-owner';

/** Content of `kill.json`: the kill goes on after a restart of the agent. */
const SavedKill = z.object({
  /** Epoch millis. */
  askedAt: z.number(),
  /** Shortest grace that was requested. */
  graceMillis: z.number(),
  /** Epoch millis at which SIGKILL is due. */
  deadline: z.number(),
  /** Set when the agent itself found the task out of bounds. */
  because: z
    .object({
      threads: z.object({ seen: z.number(), limit: z.number() }).optional(),
      healthFileMissingAfterSeconds: z.number().optional(),
      diskExceededMb: z.number().optional(),
      containerMissingAfterSeconds: z.number().optional(),
    })
    .optional(),
});
export type SavedKill = z.infer<typeof SavedKill>;

/** Content of `outcome.json`: the main program is over, and only what is around it goes on. */
const SavedOutcome = z.object({
  state: z.string().transform((state) => state as TaskState),
  message: z.string(),
  reason: z.string().optional(),
  exitCode: z.number().optional(),
  /** By the monotonic clock, in milliseconds. */
  at: z.number().optional(),
  /** The main program had begun. */
  hasRun: z.boolean(),
});
export type SavedOutcome = z.infer<typeof SavedOutcome>;

/** Content of `end.json`, written when the scheduler has acknowledged the end. */
const SavedEnd = z.object({
  state: z.string().transform((state) => state as TaskState),
  acknowledgedAt: z.number(),
  /** Id of the launch that it is the end of, once `spec.json` is gone. */
  launchId: z.string().optional(),
});
type SavedEnd = z.infer<typeof SavedEnd>;

/** Identities that the task's first process wrote of itself and its shim before it became the task's program. */
export interface StartedTask {
  main: ProcessIdentity;
  shim: ProcessIdentity;
}

/** End of a task, as its shim wrote it down. */
export interface TaskExit {
  /** As a shell reports it: 128 + n after signal n. */
  status: number;
  /** By the monotonic clock, in milliseconds. Absent: its shim is of an older agent. */
  at?: number;
}

/** A file name for a task id. Usual ids stay as they are. */
export const fileNameOf = (taskId: string): string => encodeURIComponent(taskId).replace(/^\.+$/, '%2E');

/** undefined: it is the name of no task. */
export function taskIdOf(fileName: string): string | undefined {
  try {
    const taskId = decodeURIComponent(fileName);
    return fileNameOf(taskId) === fileName ? taskId : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The control files of one task:
 *
 *     spec.json   the launch, written before anything is started
 *     launcher    script with the variables of the task, which its user may read but not reach
 *     task.new    by the task's first process: /proc stat lines of itself and of its shim
 *     task        made by it next, empty: from then on it has started, unless the agent was there before it
 *     exit        by the shim: exit status of the task, and when it ended in seconds since the boot
 *     kill.json   the kill under way
 *     asked       processes that got its SIGTERM, one a line
 *     programs/   the same of each start of a program around the main one: <name>/<number>/
 *     outcome.json  how the main program ended, while others around it go on
 *     end.json    the end, once acknowledged; all that is kept when the sandbox has gone
 *     commands/   shell commands that were accepted, the newest of them and those that run
 *     shim.log    what the shell had to say
 */
export class TaskDirectory {
  readonly claim: string;
  readonly exit: string;
  readonly launcher: string;
  private readonly starting: string;
  private readonly spec: string;
  private readonly kill: string;
  private readonly asked: string;
  private readonly end: string;
  private readonly outcome: string;

  private constructor(readonly path: string) {
    this.claim = join(path, 'task');
    this.starting = join(path, 'task.new');
    this.exit = join(path, 'exit');
    this.launcher = join(path, 'launcher');
    this.spec = join(path, 'spec.json');
    this.kill = join(path, 'kill.json');
    this.asked = join(path, 'asked');
    this.end = join(path, 'end.json');
    this.outcome = join(path, 'outcome.json');
  }

  static live = (agent: AgentDirectory, taskId: string) => new TaskDirectory(join(agent.tasks, fileNameOf(taskId)));
  static ended = (agent: AgentDirectory, taskId: string) => new TaskDirectory(join(agent.ended, fileNameOf(taskId)));
  static at = (path: string) => new TaskDirectory(path);

  /** True when files of whatever owner in the sandbox are the task's: its container has other users than the task. */
  static ownersAreItsOwn = (agent: AgentDirectory, taskId: string): boolean =>
    [TaskDirectory.live(agent, taskId), TaskDirectory.ended(agent, taskId)].some(({ path }) =>
      existsSync(join(path, ownersFile)),
    );

  noteOwners(): Promise<void> {
    return writeDurably(join(this.path, ownersFile), '');
  }

  exists = (): Promise<boolean> =>
    stat(this.path).then(
      () => true,
      () => false,
    );

  /**
   * Resolves when a power cut would not take it. What stands there of an attempt that failed was never accepted. The disk is waited
   * for once, and not for the file, its name and the directory's in turn: what is there by halves is no JSON.
   */
  async saveLaunch(launch: SavedLaunch): Promise<void> {
    await ensureFolder(this.path, 0o700);
    const file = await open(this.spec, 'w', 0o600);
    try {
      await file.writeFile(JSON.stringify(launch));
      await Promise.all([file.sync(), syncFolder(this.path), syncFolder(join(this.path, '..'))]);
    } finally {
      await file.close();
    }
  }

  /** undefined: the agent ended before the launch was on disk, so it was never accepted. */
  async readLaunch(): Promise<SavedLaunch | undefined> {
    const text = await readIfThere(this.spec);
    try {
      return text === undefined ? undefined : (JSON.parse(text) as SavedLaunch);
    } catch (cause) {
      // Nothing begins before it is whole.
      if ((await readIfThere(this.claim)) !== undefined) throw cause;
      return undefined;
    }
  }

  saveKill = (kill: SavedKill): Promise<void> => writeDurably(this.kill, JSON.stringify(kill));

  async readKill(): Promise<SavedKill | undefined> {
    const text = await readIfThere(this.kill);
    return text === undefined ? undefined : SavedKill.parse(JSON.parse(text));
  }

  /** At once, and not to outlast a power cut, with which the processes go, too. A full disk has a process asked twice at worst. */
  noteAsked(name: string): void {
    try {
      appendFileSync(this.asked, `${name}\n`, { mode: 0o600 });
    } catch {
      // As above.
    }
  }

  readAsked(): string[] {
    try {
      return readFileSync(this.asked, 'utf8').split('\n').slice(0, -1);
    } catch {
      return [];
    }
  }

  /** undefined: the task's program has not started, or never will (see `forbidStart`). */
  async readStarted(): Promise<StartedTask | undefined> {
    // Of earlier releases the lines are in the claim itself.
    const claim = await readIfThere(this.claim);
    const text = claim === '' ? await readIfThere(this.starting) : claim;
    const [main, shim] = (text ?? '').split('\n').map(parseStat);
    if (!main || !shim) return undefined;
    return { main, shim };
  }

  /**
   * Takes the name that the task's first process must take before it starts the program: exactly one of the two gets it.
   * False: the program has started.
   */
  async forbidStart(): Promise<boolean> {
    const mine = `${this.claim}.forbidden`;
    await writeDurably(mine, 'never started\n');
    try {
      await link(mine, this.claim);
      return true;
    } catch (cause) {
      if (errorCode(cause) !== 'EEXIST') throw cause;
      return (await this.readStarted()) === undefined;
    }
  }

  async readExit(): Promise<TaskExit | undefined> {
    const [, status, uptime] = /^(\d+)(?: (\d+\.\d+))?\n$/.exec((await readIfThere(this.exit)) ?? '') ?? [];
    if (status === undefined) return undefined;
    return { status: Number(status), at: uptime === undefined ? undefined : monotonicOf(Number(uptime)) };
  }

  saveOutcome = (outcome: SavedOutcome): Promise<void> => writeDurably(this.outcome, JSON.stringify(outcome));

  /** undefined: the main program goes on, has not begun, or is followed by nothing. */
  async readOutcome(): Promise<SavedOutcome | undefined> {
    const text = await readIfThere(this.outcome);
    return text === undefined ? undefined : SavedOutcome.parse(JSON.parse(text));
  }

  /** True when the main program was ever about to be started. */
  async isStarting(): Promise<boolean> {
    return (await readIfThere(this.launcher)) !== undefined;
  }

  saveEnd = (end: SavedEnd): Promise<void> => writeDurably(this.end, JSON.stringify(end));

  async readEnd(): Promise<SavedEnd | undefined> {
    const text = await readIfThere(this.end);
    return text === undefined ? undefined : SavedEnd.parse(JSON.parse(text));
  }

  /** Keeps what a repeated launch is answered by. A crash in the middle is made good by doing it again. */
  async keepEndOnly(): Promise<void> {
    const [end, launch] = await Promise.all([this.readEnd(), this.readLaunch().catch(() => undefined)]);
    if (!end) return;
    if (launch) await this.saveEnd({ ...end, launchId: launch.spec.launchId });
    for (const name of await readdir(this.path)) {
      const path = join(this.path, name);
      if (path !== this.end) await rm(path, { recursive: true, force: true });
    }
  }

  moveTo = (other: TaskDirectory): Promise<void> => rename(this.path, other.path);
  remove = (): Promise<void> => rm(this.path, { recursive: true, force: true });
}
