import type { KillSignal } from './enums.js';
import type {
  ClusterArtifact,
  ContainerInfo,
  ExecutorData,
  ExtendedResources,
  ObjstoreUploaderFile,
  SecretVariable,
} from './deploy.js';
import type { KeptRuns } from './request-spec.js';

/** Everything the machine needs to run one task. Written once; the same document may be sent many times. */
export interface LaunchSpec {
  taskId: string;
  /**
   * Made anew for each launch, and the same whenever it is sent: a machine that knows the task id from another launch says so,
   * rather than taking this one for it. Absent: written by an older version, which is never refused for it.
   */
  launchId?: string;
  slaveId: string;
  incarnation: string;
  requestId: string;
  /**
   * The complete command line. shell true: `value` is one text for `sh -c`, `arguments` its positional parameters;
   * false: a program and its arguments, no shell involved. With executorData `shell` is not looked at: `value` is its
   * cmd and `arguments` are its extraCmdLineArgs and then those of the launch, joined with spaces as shell text.
   */
  command: { shell: boolean; value: string; arguments: string[] };
  /** Complete environment of the task (the agent adds only PATH, HOME and its own sandbox variables). */
  environment: Record<string, string>;
  /** Further variables, whose values the cluster has. */
  secretEnvironment?: SecretVariable[];
  /** Service account of the cluster whose token it gets. */
  serviceAccount?: string;
  /** Group of the request, by which settings allow what containers and objects of the cluster may be; absent: none, or neither is used. */
  group?: string;
  /** User to run as; absent: the agent's user. */
  user?: string;
  cpus: number;
  memoryMb: number;
  diskMb: number;
  /** Absent: none. */
  extended?: ExtendedResources;
  /** Hard limit in whole cores, when the service sets one. */
  cpuHardLimit?: number;
  ports: number[];
  artifacts: ClusterArtifact[];
  /** Present for deploys with executorData: working directory `<task id>/app`, output in service.log, exit codes, ... */
  executorData?: ExecutorData;
  /**
   * The container to run the command in, with the numbers, names and paths of this one task: mappings are LITERAL, and those of
   * networks are ports of the machine.
   */
  container?: ContainerInfo;
  /** Exit codes that count as TASK_FINISHED; empty: only 0. */
  successfulExitCodes: number[];
  /** Milliseconds between the order to end and SIGKILL. */
  killGraceMillis: number;
  /** The signal that asks it to end; absent: SIGTERM, or what the image of its container says. */
  killSignal?: KillSignal;
  /** Done before that signal, within the grace; `port`: one of its own; `uri` begins with '/'. */
  preStop?: { command?: string; http?: { uri: string; port: number }; timeoutMillis: number };
  /** Programs around the main one; absent: there are none. */
  programs?: ProgramsOfLaunch;
  /** The task counts as running only when this file (relative to its working directory) is there; in time, or it failed. */
  healthcheckResultFile?: { path: string; intervalSeconds: number; timeoutSeconds: number };
  /** Sandboxes of ended tasks of its request that are kept on a machine; absent: as the installation says. */
  keepSandboxes?: KeptRuns;
  /** Uploads of its logs; absent: there is nothing to upload, or the task has no executorData. */
  uploads?: LogUploads;
}

/**
 * Programs around the main one, each list in its order. They share sandbox, user, ports and limits of the task; `cpus` and the like are
 * the sum for all.
 */
export interface ProgramsOfLaunch {
  init: (ProgramOfLaunch & StepLimit)[];
  sidecars: (ProgramOfLaunch & SidecarShare)[];
  post: (ProgramOfLaunch & StepLimit)[];
}

export interface ProgramOfLaunch {
  /** Unique in the task: a DNS label. */
  name: string;
  /** As the main one. */
  command: LaunchSpec['command'];
  /** Variables besides those of the task, over which they win. */
  environment: Record<string, string>;
}

export interface StepLimit {
  /** After it the program is killed, and has failed. */
  timeoutMillis: number;
}

/** The part of the resources of the task that is the sidecar's own. */
export interface SidecarShare {
  cpus: number;
  memoryMb: number;
}

/**
 * Files of a task that are uploaded to an object store. Patterns of keys know all of the task, but nothing of its
 * files.
 */
export interface LogUploads {
  files: ObjstoreUploaderFile[];
  /** Bucket of files that name none. */
  bucket?: string;
  keyPattern?: string;
  storageClass?: string;
  applyStorageClassAfterBytes?: number;
}
