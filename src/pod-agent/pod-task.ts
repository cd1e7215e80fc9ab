import { chmod, chown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { ShellCommandOrder, ShellCommandReport } from '../cluster/cluster-driver.js';
import type { Log } from '../platform/log.js';
import { errorCode, messageOf, readIfThere, syncFolder, writeDurably } from '../platform/files.js';
import { additionalLogs } from '../agent/logs/plan.js';
import type { LogContext } from '../agent/logs/records.js';
import { compressionOf, moveToResults, removeResults, removeSurplus } from '../agent/logs/results.js';
import { TaskLogs } from '../agent/logs/task-logs.js';
import type { FetchContext } from '../agent/artifacts/fetch.js';
import type { ProcessStat } from '../agent/processes/process-identity.js';
import { removeTree } from '../agent/sandbox/remove-tree.js';
import { closeSandbox, executorLayout, type ExecutorLayout } from '../agent/sandbox/sandbox-layout.js';
import { CommandRecord } from '../agent/shell-commands/command-record.js';
import { TaskCommands } from '../agent/shell-commands/task-commands.js';
import { countedThreads } from '../agent/tasks/task-limits.js';
import { appendPatiently, type UpdatesLog } from '../agent/state/updates-log.js';
import type { UploadContext } from '../agent/uploads/uploader.js';
import type { Stream } from './cri-lines.js';
import { LogFollower } from './log-follower.js';
import {
  type CommandSettings,
  podContainerName,
  podSandboxPath,
  podToPrepare,
  type PodToPrepare,
  type PrepareAnswer,
} from './pod-agent-api.js';
import type { PodAgentSettings } from './pod-agent-settings.js';
import { artifactsDirectory, PodArtifacts } from './pod-artifacts.js';
import { PodFiles, resultsName } from './pod-files.js';
import type { PodCgroups, PodContainer } from './pod-cgroups.js';
import { type CommandedPod, planInPod, planLineInPod } from './pod-command.js';

/** Context shared by all tasks of an agent. */
export interface PodContext {
  node: string;
  settings: PodAgentSettings;
  cgroups: PodCgroups;
  updates: UpdatesLog;
  /** What the rotation and the upload of logs need, as an agent of processes has it. */
  logs: LogContext & UploadContext;
  fetching: FetchContext;
  log: Log;
  /** Aborted when the agent stops. */
  stopping: AbortSignal;
}

const SavedPod = z.object({
  pod: podToPrepare.omit({ artifacts: true }),
  /** It waits for its files in `artifacts/`. */
  hasArtifacts: z.boolean().optional(),
  /** Epoch millis. */
  preparedAt: z.number(),
  /** Number of its pod; absent: the kubelet has not begun with it yet. */
  uid: z.string().optional(),
  /** Epoch millis, from when on its files are kept for a time. */
  endedAt: z.number().optional(),
  /** All of its output was taken, and no more files to upload will appear. */
  areLogsFinished: z.boolean().optional(),
});
type SavedPod = z.infer<typeof SavedPod>;

/** Time for commands to end that run when the end is reported. */
const endCommandsMillis = 2_000;

/** Time for all that the kubelet has of the output; what is left then is taken later. */
const takeAllMillis = 60_000;

/** An output is rotated when it has this part of what it and its results may take: then the compressed ones have room beside it. */
const largestPart = 0.25;

/**
 * One task in a pod of this node. Its directory, which is the agent's alone:
 *
 *     spec.json   what is known of it
 *     sandbox/    mounted into its container, or a directory in it: all in it is the task's
 *     artifacts/  mounted into the container that waits for its files (see pod-artifacts.ts)
 *     logs/       what it printed, as the agent took it from the kubelet, and in logs/ what was rotated of it
 *     cursor      how far that is
 *     commands/   shell commands that were accepted, the newest of them and those that run
 */
export class PodTask {
  /** Directory that its container gets as its sandbox. `executor`: of a task with executorData, whose directory it is. */
  readonly sandbox: { root: string; executor?: ExecutorLayout };
  /** The sandbox as readers of its files see it: the same, or the directory above. */
  readonly shown: string;
  readonly commands: TaskCommands;
  readonly logs: TaskLogs;
  readonly artifacts: PodArtifacts;
  readonly isElsewhere = true;
  /** It takes more of the disk than it may. */
  isOverDisk = false;
  /** It has, or had, more threads than it may. */
  overThreads: { seen: number; limit: number } | undefined;
  /** Its app directory was removed. */
  isCleaned = false;
  private readonly commandSettings = new Map<string, CommandSettings>();
  private container: PodContainer | undefined;
  /** Directory of the cgroup of its pod. */
  private podGroup: string | undefined;
  private follower: Promise<LogFollower> | undefined;
  /** Name of the newest result of each output. */
  private readonly lastResults = new Map<Stream, string>();

  private constructor(
    private readonly context: PodContext,
    readonly path: string,
    private saved: SavedPod,
  ) {
    this.shown = join(path, 'sandbox');
    this.sandbox = sandboxBelow(this.shown, saved.pod);
    const { sandbox } = this;
    this.artifacts = new PodArtifacts(context, {
      pod: saved.pod,
      path,
      sandbox,
      renewSandbox: () => this.renewSandbox(),
    });
    this.commands = new TaskCommands(context, {
      taskId: this.id,
      directory: { path },
      plan: async (order, record) => {
        const settings = this.commandSettings.get(record.path);
        this.commandSettings.delete(record.path);
        return planInPod(this.commanded(), order, record, settings);
      },
      planLine: (line, mark) => planLineInPod(this.commanded(), line, mark),
      report: (report) => this.report(report),
    });
    this.logs = new TaskLogs(context.logs, this.loggedTask());
  }

  /** Resolves when all of it is on disk. */
  static async prepare(context: PodContext, path: string, { artifacts, ...pod }: PodToPrepare): Promise<PodTask> {
    for (const directory of [path, join(path, 'logs')]) await mkdir(directory, { mode: 0o700 });
    await makeSandbox(join(path, 'sandbox'), pod);
    if (artifacts) await PodArtifacts.save(path, artifacts);
    const hasArtifacts = artifacts !== undefined;
    const task = new PodTask(context, path, { pod, preparedAt: Date.now(), ...(hasArtifacts && { hasArtifacts }) });
    await task.follow();
    await task.save();
    await syncFolder(join(path, '..'));
    await task.logs.begin();
    task.artifacts.begin(true);
    return task;
  }

  /** undefined: the agent ended before it was prepared, so nothing uses it. `groups`: paths of those of pods, by the uid. */
  static async load(
    context: PodContext,
    path: string,
    groups: ReadonlyMap<string, string>,
  ): Promise<PodTask | undefined> {
    const text = await readIfThere(join(path, 'spec.json'));
    if (text === undefined) return undefined;
    const task = new PodTask(context, path, SavedPod.parse(JSON.parse(text)));
    if (task.endedAt !== undefined) return task;
    // What stood still for a rotation of the former agent has to go on.
    if (task.uid !== undefined) task.noteGroups(groups.get(task.uid));
    await task.logs.restore();
    await task.logs.begin();
    // The former agent may have left some as they were.
    task.logs.noteResults();
    return task;
  }

  get id(): string {
    return this.saved.pod.taskId;
  }

  get pod(): SavedPod['pod'] {
    return this.saved.pod;
  }

  /** It was prepared by an older agent, to which its artifacts said nothing, and so got no pod. */
  get isWithoutArtifacts(): boolean {
    return !this.saved.hasArtifacts && this.uid === undefined;
  }

  get prepared(): PrepareAnswer {
    const artifacts = this.saved.hasArtifacts ? { artifacts: artifactsDirectory(this.path) } : {};
    return { outcome: 'PREPARED', path: this.sandbox.root, ...artifacts };
  }

  get preparedAt(): number {
    return this.saved.preparedAt;
  }

  get endedAt(): number | undefined {
    return this.saved.endedAt;
  }

  get uid(): string | undefined {
    return this.saved.uid;
  }

  get areLogsFinished(): boolean {
    return this.saved.areLogsFinished === true;
  }

  get spec() {
    const { taskId, cpus, memoryMb, diskMb } = this.saved.pod;
    return { taskId, slaveId: this.context.node, cpus, memoryMb, diskMb };
  }

  /** Its container has processes. */
  get isRunning(): boolean {
    return this.endedAt === undefined && this.container?.hasProcesses === true;
  }

  get group() {
    return { usage: () => this.container?.group.usage() ?? {} };
  }

  get diskDirectories(): string[] {
    return [this.shown];
  }

  processes(): ProcessStat[] {
    return this.container?.processes() ?? [];
  }

  /** Reports that it exceeds its disk: the leader ends the task, not this agent. */
  async requestKill(): Promise<void> {
    if (this.isOverDisk) return;
    this.isOverDisk = true;
    this.context.updates.wake();
  }

  /** Reports that it has too many threads: the leader ends the task, not this agent. */
  checkThreads(): void {
    const { maxTaskThreads: usual, threadCheckerType } = this.context.settings;
    const limit = this.saved.pod.executor?.maxTaskThreads ?? usual;
    if (limit === undefined || !this.isRunning || this.overThreads) return;
    const seen = countedThreads(this.processes(), this.container?.main()?.pid, threadCheckerType);
    if (seen <= limit) return;
    this.overThreads = { seen, limit };
    this.context.updates.wake();
  }

  files(): PodFiles {
    return new PodFiles(this.shown, this.output, () => this.takeOutput());
  }

  async noteUid(uid: string): Promise<void> {
    await this.change({ uid });
  }

  /** `podPath`: of its cgroups; undefined: there are none. */
  noteGroups(podPath: string | undefined): void {
    this.podGroup = podPath === undefined ? undefined : this.context.cgroups.directoryOf(podPath);
    if (podPath === undefined) this.container = undefined;
    else if (!this.container?.hasProcesses) this.container = this.context.cgroups.containerIn(podPath);
  }

  /** Directory of its pod among the logs of the kubelet. */
  get logDirectory(): string | undefined {
    const { pod, uid } = this.saved;
    return uid && join(this.context.settings.podLogs, `${pod.namespace}_${pod.podName}_${uid}`);
  }

  /** Takes its output up to now, or much of it. */
  async takeOutput(): Promise<void> {
    const directory = this.logDirectory;
    if (directory === undefined || this.areLogsFinished) return;
    await (await this.follow()).take(join(directory, podContainerName));
  }

  /** The files of the kubelet are not held open any more. */
  async rest(): Promise<void> {
    const follower = await this.follower;
    this.follower = undefined;
    await follower?.close();
  }

  async run(order: ShellCommandOrder, settings: CommandSettings): Promise<boolean> {
    const { path } = CommandRecord.of(this, order);
    this.commandSettings.set(path, settings);
    const isAccepted = await this.commands.accept(order);
    if (!isAccepted) this.commandSettings.delete(path);
    return isAccepted;
  }

  /** No command runs after that, unless it cannot be ended. */
  async end(): Promise<void> {
    if (this.endedAt !== undefined) return;
    await this.artifacts.forget();
    await Promise.race([this.commands.endAll(), delay(endCommandsMillis, undefined, { ref: false })]);
    const failed = (cause: unknown) => this.context.log.error(`Task ${this.id}: its output`, cause);
    await this.takeAllOutput().catch(failed);
    await this.logs.finish().catch(failed);
    await closeSandbox({ root: this.shown });
    await this.change({ endedAt: Date.now() });
  }

  /** Some time after its end, when nothing is printed any more: all of its output is taken, put in order and noted for the upload. */
  async finishLogs(): Promise<void> {
    if (!(await this.takeAllOutput())) return;
    await this.logs.finish();
    await this.logs.compressAll();
    if (this.context.stopping.aborted) return;
    await this.change({ areLogsFinished: true });
    await this.rest();
  }

  /** What the settings say is not to stay after its end. `removed`: is told the bytes of each file. */
  async removeFurtherLogs(removed: (bytes: number) => void): Promise<void> {
    const logs = await additionalLogs(this.loggedTask().sandbox, this.context.logs.settings, 'WITH_RESULTS');
    for (const log of logs.filter(({ deleteAfterEnd }) => deleteAfterEnd)) await removeResults(log, removed);
  }

  /** False: not all that is there. */
  private async takeAllOutput(): Promise<boolean> {
    const directory = this.logDirectory;
    if (directory === undefined) return true;
    return (await this.follow()).takeAll(join(directory, podContainerName), takeAllMillis);
  }

  private commanded(): CommandedPod {
    const container = this.isRunning ? this.container : undefined;
    return { container, sandboxRoot: this.shown, directory: this.sandbox.root };
  }

  private get output(): string {
    return join(this.path, 'logs');
  }

  private loggedTask(): ConstructorParameters<typeof TaskLogs>[1] {
    const { taskId, user, logs } = this.pod;
    const { root } = this.sandbox;
    const area = logs?.executorData && root;
    const prefix = ['setpriv', '--no-new-privs', '--'];
    return {
      spec: { taskId, executorData: logs?.executorData, uploads: logs?.uploads },
      sandbox: { root, output: this.output, area, programLogs: logs?.programLogs, seenAs: podSandboxPath },
      runAs: user && { ...user, own: false, prefix },
      processes: () => this.context.cgroups.processesBelow(this.podGroup),
      elsewhere: {
        // Where only the image knows who its user is, nobody else may change its files.
        group: () => user && this.podGroup,
        rotate: async ({ path }) => (await this.follow()).rotate(path as Stream),
        beganAt: async (name) => (await this.follow()).beganAt(name as Stream),
      },
    };
  }

  private async renewSandbox(): Promise<void> {
    await removeTree(this.shown);
    await makeSandbox(this.shown, this.saved.pod);
  }

  private follow(): Promise<LogFollower> {
    const { settings, log, logs } = this.context;
    const place = { logs: this.output, cursor: join(this.path, 'cursor') };
    const opened = (this.follower ??= LogFollower.open(place, {
      name: `task ${this.id}`,
      log,
      mostBytes: settings.logMegabytes * 2 ** 20 * largestPart,
      toResults: (stream) => this.moveToResults(stream),
      now: logs.now,
    }));
    opened.catch(() => (this.follower = undefined));
    return opened;
  }

  private async moveToResults(stream: Stream): Promise<boolean> {
    const { settings, now } = this.context.logs;
    const place = { root: this.output, path: stream, into: resultsName };
    const log = { ...place, dateFormat: settings.logrotateDateformat, extension: '' };
    await mkdir(join(this.output, resultsName), { mode: 0o700 }).catch((cause: unknown) => {
      if (errorCode(cause) !== 'EEXIST') throw cause;
    });
    // One that is uploaded may be gone: its name is not given again, for results are sorted by their names.
    const name = await moveToResults(log, compressionOf(settings).extension, now(), this.lastResults.get(stream));
    if (name === undefined) return false;
    this.lastResults.set(stream, name);
    this.logs.noteResults();
    const bytes = this.context.settings.logMegabytes * 2 ** 20 * (1 - largestPart);
    const keep = { count: Infinity, maxAgeDays: Infinity, bytes };
    await removeSurplus(place, keep, now()).catch((cause: unknown) =>
      this.context.log.warn(`Task ${this.id}: could not remove old logs: ${messageOf(cause)}`),
    );
    return true;
  }

  private async change(what: Partial<SavedPod>): Promise<void> {
    Object.assign(this.saved, what);
    await this.save();
  }

  private save = (): Promise<void> => writeDurably(join(this.path, 'spec.json'), JSON.stringify(this.saved));

  private report(shellCommand: ShellCommandReport): Promise<void> {
    const about = {
      taskId: this.id,
      slaveId: this.context.node,
      state: 'TASK_RUNNING',
    } as const;
    return appendPatiently(this.context, `${shellCommand.updateType} of a command`, { ...about, shellCommand });
  }
}

function sandboxBelow(shown: string, { taskId, executor }: SavedPod['pod']): PodTask['sandbox'] {
  if (!executor) return { root: shown };
  const layout = executorLayout(shown, taskId, true);
  return { root: layout.directory, executor: layout };
}

/** Nothing leads there but the mount in its container. */
async function makeSandbox(shown: string, pod: SavedPod['pod']): Promise<void> {
  const { user } = pod;
  const { root, executor } = sandboxBelow(shown, pod);
  const { uid, gid } = user ?? { uid: 0, gid: 0 };
  const own = async (directory: string, owner: number, mode: number) => {
    await mkdir(directory, { mode: 0o700 });
    await chown(directory, owner, gid);
    await chmod(directory, mode);
  };
  const mode = user ? 0o750 : 0o777;
  if (!executor) return own(root, uid, mode);
  // Its container sees what is below. That name leads its kubelet there, and nobody else may give it to anything.
  await own(shown, 0, user ? 0o750 : 0o755);
  const inside = ['logs', 'tmp'].map((name) => join(root, name));
  for (const directory of [root, executor.app, ...inside]) await own(directory, uid, mode);
}
