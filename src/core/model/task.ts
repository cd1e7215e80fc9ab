import {
  isTerminal,
  taskStates,
  type PendingType,
  type RequestCleanupType,
  type ShellCommandUpdateType,
  type TaskCleanupType,
  type TaskState,
} from './enums.js';
import type { ClusterArtifact, Deploy, ObjstoreUploaderFile, Resources, TaskProgram } from './deploy-spec.js';
import type { LoadBalancerUpdate } from './load-balancer.js';
import type { Request, ShellCommand } from './request-spec.js';
import type { PendingTaskId, TaskId } from './task-ids.js';

export * from './task-ids.js';

export interface PendingRequest extends RunOrigin {
  requestId: string;
  deployId: string;
  timestamp: number;
  user?: string;
  pendingType: PendingType;
  cmdLineArgsList?: string[];
  runId?: string;
  skipHealthchecks?: boolean;
  message?: string;
  actionId?: string;
  resources?: Resources;
  objstoreUploaderAdditionalFiles?: ObjstoreUploaderFile[];
  runAsUserOverride?: string;
  envOverrides?: Record<string, string>;
  requiredSlaveAttributeOverrides?: Record<string, string>;
  allowedSlaveAttributeOverrides?: Record<string, string>;
  extraArtifacts?: ClusterArtifact[];
  runAt?: number;
  /** Number of retries of the run after failures. */
  retries?: number;
  /**
   * Time at which a caller asked for the run, in epoch milliseconds: with its id the run itself, whatever other runs
   * have the id.
   */
  askedAt?: number;
}

/** Cause of a run. */
export const runTriggers = ['SCHEDULE', 'RUN_NOW', 'AFTER', 'BACKFILL', 'RETRY'] as const;
export type RunTrigger = (typeof runTriggers)[number];

/** Origin of a run: the same on its pending request, its pending task and the tasks that its tries start. */
export interface RunOrigin {
  trigger?: RunTrigger;
  /** Planned time of the run in epoch milliseconds, however late it starts. */
  scheduledAt?: number;
  /** Number of this try of the run: 1 is the first. */
  attempt?: number;
  /** Id that all runs of one flow have. */
  flowId?: string;
  /** Task ids of the runs whose ends made this run. */
  parentRuns?: string[];
  /** False: its end makes no runs of followers. */
  triggersFollowers?: boolean;
}

/** A run of a request: the one of this id that was asked for at this time, or else the newest of this id. */
export interface RunKey {
  requestId: string;
  runId: string;
  askedAt?: number;
}

export interface PendingTask extends RunOrigin {
  pendingTaskId: PendingTaskId;
  /** Its time came while it had to wait for another run, and it keeps its place behind that. */
  buffered?: boolean;
  cmdLineArgsList?: string[];
  user?: string;
  runId?: string;
  skipHealthchecks?: boolean;
  message?: string;
  resources?: Resources;
  objstoreUploaderAdditionalFiles?: ObjstoreUploaderFile[];
  runAsUserOverride?: string;
  envOverrides?: Record<string, string>;
  requiredSlaveAttributeOverrides?: Record<string, string>;
  allowedSlaveAttributeOverrides?: Record<string, string>;
  extraArtifacts?: ClusterArtifact[];
  actionId?: string;
  /** Number of retries of the run after failures. */
  retries?: number;
  /** Time at which a caller asked for the run; tries after the first have the same. */
  askedAt?: number;
}

export interface TaskRequest {
  request: Request;
  deploy: Deploy;
  pendingTask: PendingTask;
}

export interface Task {
  taskRequest: TaskRequest;
  taskId: TaskId;
  offer?: ClusterOfferObject;
  offers?: ClusterOfferObject[];
  clusterTask?: ClusterTaskObject;
  rackId: string;
}

export interface ClusterOfferObject {
  agentId?: ClusterStringValue;
  slaveId?: ClusterStringValue;
  frameworkId?: ClusterStringValue;
  hostname?: string;
  id?: ClusterStringValue;
  url?: Record<string, unknown>;
}

export interface ClusterStringValue {
  value?: string;
}

export interface ClusterTaskObject {
  taskId?: ClusterStringValue;
  executor?: ClusterExecutorInfo;
  labels?: ClusterLabels;
  agentId?: ClusterStringValue;
  slaveId?: ClusterStringValue;
  resources?: ClusterResourceObject[];
  name?: string;
  command?: Record<string, unknown>;
  container?: Record<string, unknown>;
}

export interface ClusterExecutorInfo {
  executorId?: ClusterStringValue;
}

export interface ClusterLabels {
  labels?: ClusterParameter[];
}

export interface ClusterParameter {
  key: string;
  value: string;
}

export interface ClusterResourceObject {
  name?: string;
  ranges?: ClusterRangesObject;
  type?: 'SCALAR' | 'RANGES' | 'SET';
  scalar?: Record<string, unknown>;
}

export interface ClusterRangesObject {
  range?: ClusterRangeObject[];
}

export interface ClusterRangeObject {
  begin?: number;
  end?: number;
}

export interface TaskHistoryUpdate {
  taskId: TaskId;
  timestamp: number;
  taskState: TaskState;
  statusMessage?: string;
  statusReason?: string;
  previous: TaskHistoryUpdate[];
}

type OrderedUpdate = Pick<TaskHistoryUpdate, 'taskState' | 'timestamp'>;

/**
 * The order of the updates of one task: by time; the end always last, even where clocks of machines disagree, because
 * readers take the last update for the present state; states of the same millisecond in the order of a task's life.
 */
export const byUpdateOrder = (a: OrderedUpdate, b: OrderedUpdate): number =>
  Number(isTerminal(a.taskState)) - Number(isTerminal(b.taskState)) ||
  a.timestamp - b.timestamp ||
  taskStates.indexOf(a.taskState) - taskStates.indexOf(b.taskState);

export interface TaskHistory {
  taskUpdates: TaskHistoryUpdate[];
  directory?: string;
  containerId?: string;
  healthcheckResults: TaskHealthcheckResult[];
  task: Task;
  loadBalancerUpdates: LoadBalancerUpdate[];
  shellCommandHistory: TaskShellCommandHistory[];
  taskMetadata: TaskMetadata[];
  /** In the order in which they are listed in the deploy, as far as they have begun; absent: none has. */
  programs?: TaskProgram[];
}

/** The origin of its run is told of active tasks, and in pages with metadata. */
export interface TaskIdHistory extends Pick<RunOrigin, 'trigger' | 'attempt' | 'flowId'> {
  taskId: TaskId;
  updatedAt: number;
  runId?: string;
  lastTaskState?: TaskState;
}

export interface TaskHealthcheckResult {
  statusCode?: number;
  timestamp: number;
  responseBody?: string;
  errorMessage?: string;
  taskId: TaskId;
  startup: boolean;
  durationMillis?: number;
}

export interface TaskCleanup {
  user?: string;
  cleanupType: TaskCleanupType;
  timestamp: number;
  taskId: TaskId;
  message?: string;
  actionId?: string;
  runBeforeKillId?: TaskShellCommandRequestId;
  removeFromLoadBalancer?: boolean;
}

export interface KilledTaskIdRecord {
  taskId: TaskId;
  timestamp: number;
  originalTimestamp: number;
  requestCleanupType?: RequestCleanupType;
  taskCleanupType?: TaskCleanupType;
  retries: number;
}

export interface KillTaskRequest {
  override?: boolean;
  message?: string;
  actionId?: string;
  waitForReplacementTask?: boolean;
  runShellCommandBeforeKill?: ShellCommand;
}

export interface TaskTracking {
  taskId?: TaskId;
  pendingTaskId?: PendingTaskId;
  runId?: string;
  currentState?: TaskState;
  taskHistory: TaskHistoryUpdate[];
  pending: boolean;
}

export const metadataLevels = ['INFO', 'WARN', 'ERROR'] as const;

export interface TaskMetadata {
  taskId: TaskId;
  timestamp: number;
  type: string;
  title: string;
  message?: string;
  user?: string;
  level: (typeof metadataLevels)[number];
}

export interface TaskShellCommandRequestId {
  taskId: TaskId;
  name: string;
  timestamp: number;
}

export interface TaskShellCommandRequest {
  taskId: TaskId;
  user?: string;
  timestamp: number;
  shellCommand: ShellCommand;
}

export interface TaskShellCommandUpdate {
  shellRequestId: TaskShellCommandRequestId;
  timestamp: number;
  message?: string;
  outputFilename?: string;
  updateType: ShellCommandUpdateType;
}

export interface TaskShellCommandHistory {
  shellRequest: TaskShellCommandRequest;
  shellUpdates: TaskShellCommandUpdate[];
}
