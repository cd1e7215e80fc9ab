import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { ProgramRole, ProgramState, ShellCommandUpdateType, TaskState } from '../core/model/enums.js';
import type { Deploy, ExtendedResources } from '../core/model/deploy.js';
import type { LaunchSpec } from '../core/model/launch.js';
import type { RunNowRequest } from '../core/model/request.js';
import type { MachineMetrics } from '../core/model/usage.js';

/** Raised by one with every takeover. A call that carries a lower one than its receiver has seen is refused. */
export type Epoch = number;

/** One machine as the cluster describes it. cpus in cores, memory and disk in MB. */
export interface MachineSnapshot {
  slaveId: string;
  /** The agent process that serves this machine; one agent may present several machines. */
  agentId: string;
  /** Random id of the agent's directory. Another one means: whatever ran there before is gone. */
  incarnation: string;
  hostname: string;
  rackId: string;
  attributes: Record<string, string>;
  cpus: number;
  memoryMb: number;
  diskMb: number;
  /** Absent: it has none. */
  extended?: ExtendedResources;
  /** Most tasks that may run there at once; absent: any number. */
  maxTasks?: number;
  /** Ports that may be given to tasks, as inclusive ranges. */
  portRanges: { begin: number; end: number }[];
  /** Ports found taken by something else at the last attempt to use them. */
  portsInUse: number[];
  /** So little of its disk is free that it starts no task until there is more. */
  isDiskFull?: boolean;
  /** Reason of its cluster why it takes no new tasks, though it answers. Absent: it takes them. */
  closedBecause?: string;
  /** True when it runs containers now; absent: it does not say. */
  runsContainers?: boolean;
  /** Reason why it runs none; absent: it does, or is still checking. */
  containersRefusal?: string;
  /** Since its agent answered last, by the monotonic clock: a clock that is set, here or there, makes no agent silent. */
  silentForMillis: number;
}

/** All machines that an agent presents at one time. */
export interface AgentMachines {
  agentId: string;
  machines: readonly MachineSnapshot[];
}

export type LaunchAnswer =
  /** Known or started: the state it is in now. */
  | { taskId: string; outcome: 'ACCEPTED'; state: TaskState; directory: string }
  /** A port was taken by another program. Nothing was started and nothing ever will be under this id. */
  | { taskId: string; outcome: 'PORT_IN_USE'; port: number }
  /** So little of the disk is free that it starts nothing. Nothing was started and nothing ever will under this id. */
  | { taskId: string; outcome: 'DISK_FULL' }
  /** The machine knows the id from another launch (`launchId`). Nothing was started for this one, and nothing ever will. */
  | { taskId: string; outcome: 'ID_IN_USE' }
  /** The cluster takes nothing like it now, on any machine: a quota, a policy, a right. Nothing was started under this id, and nothing will. */
  | { taskId: string; outcome: 'NOT_ADMITTED'; reason: string }
  /** Refused for good: tombstoned id, other incarnation, unreadable document. Nothing was started. */
  | { taskId: string; outcome: 'REFUSED'; reason: string }
  /** The outcome is not known: the agent could not be reached. Ask again. */
  | { taskId: string; outcome: 'UNKNOWN'; reason: string };

export type KillAnswer =
  /** The kill is under way; the end arrives as an update. */
  | 'KILLING'
  /** The task is not there (any more) and its id is tombstoned: it can never start. */
  | 'GONE'
  /** The agent could not be reached. Ask again. */
  | 'UNKNOWN';

/** A command to be run in a task. Task, name and time are its id: under it, it runs once at most. */
export interface ShellCommandOrder {
  taskId: string;
  /** One that the machine is configured with. */
  name: string;
  /** Epoch milliseconds at which it was queued. */
  timestamp: number;
  /** Names of options of the command. */
  options: string[];
  /** Stands in the name of its output file in place of its own name. */
  logfileName?: string;
}

export type ShellCommandAnswer =
  /** It is on the machine's disk; what becomes of it arrives as updates. */
  | 'ACCEPTED'
  /** The task does not run there (any more), and the command never will. */
  | 'GONE'
  /** The agent could not be reached. Ask again. */
  | 'UNKNOWN';

/** A command that shows whether a task is healthy, run in the task: as its user, in its sandbox. Nothing of it is kept. */
export interface TaskCheck {
  taskId: string;
  /** A line for `/bin/sh -c`. */
  command: string;
  /** After it the command and all that it has started are killed. */
  timeoutMillis: number;
  /** Limit of its output; the rest is dropped. */
  maxOutputBytes: number;
}

export type TaskCheckAnswer =
  | { outcome: 'ENDED'; exitCode: number; output: string }
  /** It could not be started, or took too long. */
  | { outcome: 'FAILED'; reason: string }
  /** The task does not run there (yet, or any more). */
  | { outcome: 'GONE' }
  /** The agent could not be reached. */
  | { outcome: 'UNKNOWN'; reason: string };

/** Result of a command. */
export interface ShellCommandReport {
  name: string;
  /** Time of its order. */
  timestamp: number;
  updateType: ShellCommandUpdateType;
  message?: string;
  /** Its output, relative to the task's sandbox; from ACKED on. */
  outputFilename?: string;
}

/** State of a program around the main one of its task. Told again it changes nothing. */
export interface ProgramReport {
  name: string;
  role: ProgramRole;
  state: ProgramState;
  /** Number of its starts by now. */
  starts: number;
  /** Exit code of its last end; absent: it has not ended, or how is not known. */
  exitCode?: number;
  message?: string;
}

/** One status of one task, numbered by its agent within an incarnation. */
export interface StatusUpdate {
  agentId: string;
  incarnation: string;
  /**
   * 1, 2, 3, ... within the incarnation. 0: concluded from what the cluster shows, not to be acknowledged: the state alone says
   * whether it is new, and it may be told again. A message of TASK_STARTING replaces the one before: what the task waits for now.
   */
  number: number;
  taskId: string;
  slaveId: string;
  state: TaskState;
  /** Epoch milliseconds. */
  timestamp: number;
  message?: string;
  /** REASON_... as the seed's failure rules name them. */
  reason?: string;
  /** Exit code of a program that failed by itself; as a shell tells it, 128 + n after signal n. */
  exitCode?: number;
  directory?: string;
  /** Set: the update is about a command of the task. Its state says nothing new then; nothing comes after the task's end. */
  shellCommand?: ShellCommandReport;
  /** Set: the update is about a program around the main one, as above. */
  program?: ProgramReport;
}

/** Tasks of an agent, with the number of its newest update when the list was made. */
export interface AgentTaskList {
  agentId: string;
  incarnation: string;
  asOfUpdate: number;
  /** Updates up to this number were stored and are forgotten there. Absent: an older agent, which does not tell. */
  acknowledged?: number;
  tasks: { taskId: string; state: TaskState }[];
}

/** The listener is the scheduler. A promise it returns is awaited before the next batch of the same agent. */
export interface ClusterEvents {
  /**
   * Agents whose machines are new, more, fewer or changed (resources, attributes, incarnation, ports in use), each with all that it
   * presents now. `machines()` of the driver shows the same lists, and did so before this call: whoever looks at an agent's machines
   * sees none or all of them. May be told again.
   */
  machines(agents: readonly AgentMachines[]): Promise<void>;
  /** Confirmed gone. An agent that does not answer is not: its tasks run on. */
  machineDown(slaveId: string, reason: string): Promise<void>;
  /** In the order of their numbers. Resolves after they are stored; only then are they acknowledged to the agent. */
  statusUpdates(updates: readonly StatusUpdate[]): Promise<void>;
  /** An agent has seen a higher epoch: this process leads no more. Nothing else is heard of that agent from then on. */
  outranked(cause: StaleEpochError): void;
}

export interface TaskStatistics {
  taskId: string;
  cpusLimit: number;
  cpusNrPeriods: number;
  cpusNrThrottled: number;
  cpusSystemTimeSecs: number;
  cpusThrottledTimeSecs: number;
  cpusUserTimeSecs: number;
  memAnonBytes: number;
  memFileBytes: number;
  memLimitBytes: number;
  memMappedFileBytes: number;
  memRssBytes: number;
  memTotalBytes: number;
  diskLimitBytes: number;
  diskUsedBytes: number;
  /** Seconds since the epoch, fractional. */
  timestamp: number;
}

/** Resources that a machine has and uses, and the use of the tasks of one slave. */
export interface MachineUsage extends MachineMetrics {
  slaveId: string;
  /** Running tasks only, in any order. */
  tasks: TaskStatistics[];
  /**
   * Metrics of the agent that presents it, with all slaves of that agent. Absent: an older agent, which does not report
   * them.
   */
  agent?: AgentMetrics;
}

/**
 * Reasons of an agent to remove something. SANDBOX_AGE: the files of an ended task were kept long enough. DISK_FULL:
 * the files of an ended task go early, because the disk is fuller than allowed. SANDBOX_WITHOUT_TASK: the task of the
 * files is unknown. APP_FOLDER and ROTATED_FILES: parts of the files of an ended task that go before the rest.
 */
export const removalReasons = [
  'SANDBOX_AGE',
  'DISK_FULL',
  'SANDBOX_WITHOUT_TASK',
  'APP_FOLDER',
  'ROTATED_FILES',
] as const;
export type RemovalReason = (typeof removalReasons)[number];

/** Uploads of logs, since the agent began, and what waits or is kept now. */
export interface UploadMetrics {
  /** Files that a record of an ended task names, or groups of them. */
  waiting: number;
  oldestSeconds: number;
  files: number;
  bytes: number;
  failures: number;
  /** In the directory of the agent, where there is no object store. */
  keptFiles: number;
  keptBytes: number;
  /** Removed from there, for their age or for want of room. */
  removedFiles: number;
}

/** The disk of the sandboxes of an agent, and what the agent has removed from it since it began. */
export interface AgentMetrics {
  agentId: string;
  sandboxDiskUsedBytes: number;
  sandboxDiskTotalBytes: number;
  /** Epoch millis; absent: there has been none. */
  lastCleanupAt?: number;
  /** Failed removals, counted at each attempt. */
  failures: number;
  /** `count`: sandboxes, directories or files. Reasons for which nothing was removed are there, too. */
  removed: { reason: RemovalReason; count: number; bytes: number }[];
  /** Absent: an older agent, which does not tell. */
  uploads?: UploadMetrics;
}

export interface SandboxEntry {
  name: string;
  /** Whole seconds since the epoch. */
  mtime: number;
  /** Bytes. */
  size: number;
  /** Ten characters as in a directory listing. */
  mode: string;
}

/**
 * Views of a sandbox: ALL its files, or only those OF_TASK, without the files that were written for the task's start,
 * which hold its environment. By whatever path or link such a file is reached, it is not there.
 */
export const sandboxViews = ['ALL', 'OF_TASK'] as const;
export type SandboxView = (typeof sandboxViews)[number];

/** Files of a task on its machine, live or ended. Paths are relative to the task's sandbox and cannot leave it. */
export interface TaskSandbox {
  /** Absolute path of the sandbox on the machine. */
  root: string;
  /** Entries of one directory, by name; undefined when there is no such directory. */
  list(path: string): Promise<SandboxEntry[] | undefined>;
  /** At most `length` bytes from `offset` (bytes), and the file's size now; undefined when there is no such file. */
  read(path: string, offset: number, length: number): Promise<{ data: Buffer; size: number } | undefined>;
  /** The bytes from `offset` to the end or for `length`, as a stream to be read or destroyed; mtime in epoch millis. */
  download(
    path: string,
    offset?: number,
    length?: number,
  ): Promise<{ stream: Readable; size: number; mtime: number } | undefined>;
}

/** Something asked for that a driver could not honour. `field` is a dotted path below what was asked about. */
export interface UnsupportedOption {
  field: string;
  message: string;
}

/**
 * The cluster that runs tasks. The scheduler decides which task goes to which machine; a driver carries it there and
 * reports back. Every method that changes something carries the epoch, and a machine refuses one that is older than it
 * has seen.
 */
export interface ClusterDriver {
  readonly name: 'local' | 'kubernetes' | 'simulated';
  /**
   * Begins to watch machines and to deliver events. What an earlier call began ends first. `appliedUpdate` tells, per agent and
   * incarnation, the number of the last update that was stored, so that the agent repeats exactly what was not.
   */
  start(
    epoch: Epoch,
    events: ClusterEvents,
    appliedUpdate: (agentId: string) => Promise<{ incarnation: string; number: number } | undefined>,
  ): Promise<void>;
  /** Stops watching. Tasks run on. Resolves when no event is being delivered any more. */
  stop(): Promise<void>;
  /**
   * Reason why no machine can be reached from this process now; undefined: one can. Called on every instance, leader or
   * not.
   */
  whyUnreachable(): Promise<string | undefined>;
  /** Machines as last seen. */
  machines(): MachineSnapshot[];
  /**
   * True: `machines` is the whole list of the cluster now, those whose agents are silent among them, so a machine that is not in it
   * is gone; false: it will be. Absent: it has the machines of agents that have answered, each agent with all of its own.
   */
  readonly listsEveryMachine?: boolean;
  /**
   * These machines, and no others, take no tasks by order of operators: a cluster that has other users shows it to them. Repeating it
   * is safe. Absent: there are no other users.
   */
  hold?(slaveIds: ReadonlySet<string>, epoch: Epoch): Promise<void>;
  /** Sending the same launch twice is safe: after a crash the scheduler repeats what it is not sure of. */
  launch(batch: readonly LaunchSpec[], epoch: Epoch): Promise<LaunchAnswer[]>;
  /**
   * SIGTERM, then SIGKILL after graceMillis (0: at once). Asking again for a task under way may only shorten the grace,
   * where the cluster can.
   */
  kill(taskId: string, slaveId: string, graceMillis: number, epoch: Epoch): Promise<KillAnswer>;
  /**
   * Launches that were given up: answers those of which nothing is or was there, and whose ids can never start there from now
   * on, however late a launch arrives. All others may run, or are not known, where the cluster could not be reached.
   */
  withdraw(taskIds: readonly string[], slaveId: string, epoch: Epoch): Promise<string[]>;
  /** Asking twice for the same command is safe. Its updates are numbered with those of the task, which has not ended before. */
  runCommand(order: ShellCommandOrder, slaveId: string, epoch: Epoch): Promise<ShellCommandAnswer>;
  /** Absent: there is nobody who could run it, and deploys that ask for it are refused by name. */
  runCheck?(check: TaskCheck, slaveId: string, epoch: Epoch): Promise<TaskCheckAnswer>;
  /** Present tasks of each reachable agent, or of each named one. Agents that do not answer are missing from the list. */
  reconcile(epoch: Epoch, agentIds?: ReadonlySet<string>): Promise<AgentTaskList[]>;
  /** undefined: the machine does not know the task (any more). Throws MachineUnreachableError. */
  sandbox(taskId: string, slaveId: string, view?: SandboxView): Promise<TaskSandbox | undefined>;
  /** undefined: the machine has no figures for the task. Throws MachineUnreachableError. */
  statistics(taskId: string, slaveId: string): Promise<TaskStatistics | undefined>;
  /** Figures of the machine and of all its tasks. undefined: no such machine. Throws MachineUnreachableError. */
  machineUsage(slaveId: string): Promise<MachineUsage | undefined>;
  /**
   * Fields of a deploy that it could not honour: the API refuses that by name, so that nothing is ignored in silence. `group`: of its
   * request, by which settings allow what it names.
   */
  unsupportedInDeploy?(deploy: Deploy, group?: string): UnsupportedOption[];
  /** Fields that a single run adds to its deploy and that it could not honour; `deploy` absent: it is not known yet. */
  unsupportedInRun?(run: RunNowRequest, deploy?: Deploy): UnsupportedOption[];
  /**
   * Reason why no machine could run the container of a deploy, as far as is known now; undefined: one could, or tasks
   * are to wait for one.
   */
  refusedContainers?(deploy?: Deploy): Promise<string | undefined>;
  /** Reason why no task may run as this account; undefined: one may, as far as is known now. The launch decides again. */
  refusedUser?(user: string): Promise<string | undefined>;
}

export class MachineUnreachableError extends Error {
  constructor(
    readonly slaveId: string,
    options?: ErrorOptions,
  ) {
    super(`Slave '${slaveId}' cannot be reached; it is probably offline`, options);
  }
}

/** What a machine answers. One that does not answer in time counts as one that cannot be reached. */
export async function answerInTime<T>(slaveId: string, millis: number, ask: () => Promise<T>): Promise<T> {
  const waiting = new AbortController();
  const late = async (): Promise<never> => {
    await delay(millis, undefined, { signal: waiting.signal, ref: false });
    throw new MachineUnreachableError(slaveId);
  };
  try {
    return await Promise.race([ask(), late()]);
  } finally {
    waiting.abort();
  }
}

/**
 * Thrown by start, launch, kill, withdraw, runCommand and reconcile when a machine has seen a higher epoch: this
 * process no longer leads.
 */
export class StaleEpochError extends Error {
  constructor(
    readonly epoch: Epoch,
    /** The one it has seen. */
    readonly highest: Epoch,
  ) {
    super(`Epoch ${epoch} is over: a machine has seen ${highest}`);
  }
}

export const CLUSTER_DRIVER = Symbol('ClusterDriver');
