import type { ClusterArtifact, ObjstoreUploaderFile } from './artifacts.js';
import type { Deploy, Resources } from './deploy.js';
import type { Request } from './request.js';
import type { PendingTaskId, TaskId } from './task-ids.js';
import { type Int32, type Int64, record } from '../schema.js';

/** A text in the cluster's own notation. */
export interface ClusterStringValue {
  /** The text. */
  value?: string;
}

/** The machine a task was given to. */
export interface ClusterOfferObject {
  /** Where the machine's agent answers. */
  url?: Record<string, unknown>;
  /** Id of the slave, under its newer name. */
  agentId?: ClusterStringValue;
  /** Id of the slave. */
  slaveId?: ClusterStringValue;
  /** Id of the scheduler at the cluster. */
  frameworkId?: ClusterStringValue;
  /** Name of the machine. */
  hostname?: string;
  /** Id of the offer. */
  id?: ClusterStringValue;
}

/** A range of numbers, both ends included. */
export interface ClusterRangeObject {
  /** First number. */
  begin?: Int64;
  /** Last number. */
  end?: Int64;
}

/** Ranges of numbers. */
export interface ClusterRangesObject {
  /** The ranges. */
  range?: ClusterRangeObject[];
}

/** One resource that a task holds: cpus, mem, disk or ports. */
export interface ClusterResourceObject {
  /** RANGES for ports, SCALAR for the others. */
  type?: 'SCALAR' | 'RANGES' | 'SET';
  /** The amount held, of the others. */
  scalar?: Record<string, unknown>;
  /** Which one. */
  name?: string;
  /** The numbers held, of ports. */
  ranges?: ClusterRangesObject;
}

/** A label of a task. */
export interface ClusterParameter {
  /** Name of the label. */
  key: string;
  /** Value of the label. */
  value: string;
}

/** Labels of a task. */
export interface ClusterLabels {
  /** The labels. */
  labels?: ClusterParameter[];
}

/** What runs a task's command in its place. */
export interface ClusterExecutorInfo {
  /** Id of the executor. */
  executorId?: ClusterStringValue;
}

/** What was sent to the machine. */
export interface ClusterTaskObject {
  /** Command, arguments, files to fetch and environment. */
  command?: Record<string, unknown>;
  /** The container, when there is one. */
  container?: Record<string, unknown>;
  /** Id of the task. */
  taskId?: ClusterStringValue;
  /** The executor, when it has one of its own. */
  executor?: ClusterExecutorInfo;
  /** Labels from the deploy. */
  labels?: ClusterLabels;
  /** Id of the slave, under its newer name. */
  agentId?: ClusterStringValue;
  /** Id of the slave. */
  slaveId?: ClusterStringValue;
  /** What the task holds of the machine. */
  resources?: ClusterResourceObject[];
  /** Name of the task: the request's id. */
  name?: string;
}

/** A task that waits for its time or for a machine, with what this run of it overrides. */
export interface PendingTask {
  /** Environment variables in place of the deploy's. */
  envOverrides?: Record<string, string>;
  /** Attributes that a slave must have, in place of the request's. */
  requiredSlaveAttributeOverrides?: Record<string, string>;
  /** Attributes that a slave may have, in place of the request's. */
  allowedSlaveAttributeOverrides?: Record<string, string>;
  /** Its id. */
  pendingTaskId: PendingTaskId;
  /** Arguments of this run, after those of the deploy. */
  cmdLineArgsList?: string[];
  /** Who asked for the run. */
  user?: string;
  /** Id of the run. */
  runId?: string;
  /** Take the task for healthy as soon as it runs. */
  skipHealthchecks?: boolean;
  /** What the user said about the run. */
  message?: string;
  /** Resources in place of the deploy's. */
  resources?: Resources;
  /** Further files to upload to the object store. */
  objstoreUploaderAdditionalFiles?: ObjstoreUploaderFile[];
  /** User to run as in place of the deploy's. */
  runAsUserOverride?: string;
  /** Further files to fetch into the sandbox. */
  extraArtifacts?: ClusterArtifact[];
  /** Id of the action that asked for it. */
  actionId?: string;
  /** How often the run was tried again because it had failed. */
  retries?: Int32;
}
export const PendingTask = record<PendingTask>('PendingTask');

/** A pending task with all that is needed to launch it. */
export interface TaskRequest {
  /** The request as it will be when the task runs. */
  request: Request;
  /** What it will run. */
  deploy: Deploy;
  /** The task that waits. */
  pendingTask: PendingTask;
}
export const TaskRequest = record<TaskRequest>('TaskRequest');

/** What a task uses right now, as its machine measures it. What the machine cannot measure is left out. */
export interface ClusterTaskStatisticsObject {
  /** Cores it may use, a part of one counted as one. */
  cpusLimit?: Int32;
  /** Cores it may use, with the part of one. Clients read cpusLimit as a whole number. An addition of Muster. */
  cpusLimitExact?: number;
  /** Periods in which its use of the processor was limited. */
  cpusNrPeriods?: Int64;
  /** Those of them in which it wanted more. */
  cpusNrThrottled?: Int64;
  /** Anonymous memory, in bytes. */
  memAnonBytes?: Int64;
  /** Memory that caches files, in bytes. */
  memFileBytes?: Int64;
  /** Memory it may use, in bytes. */
  memLimitBytes?: Int64;
  /** Memory that maps files, in bytes. */
  memMappedFileBytes?: Int64;
  /** Resident memory, in bytes. */
  memRssBytes?: Int64;
  /** All memory, in bytes. */
  memTotalBytes?: Int64;
  /** Disk it may use, in bytes. */
  diskLimitBytes?: Int64;
  /** Disk it uses, in bytes. */
  diskUsedBytes?: Int64;
  /** When this was measured, in seconds since 1970. */
  timestamp?: number;
  /** Processor time spent in the kernel, in seconds. */
  cpusSystemTimeSecs?: number;
  /** Time for which it was held back, in seconds. */
  cpusThrottledTimeSecs?: number;
  /** Processor time spent in its own code, in seconds. */
  cpusUserTimeSecs?: number;
}
export const ClusterTaskStatisticsObject = record<ClusterTaskStatisticsObject>('ClusterTaskStatisticsObject');

/** A task as it was launched. */
export interface Task {
  /** What it was launched from. */
  taskRequest: TaskRequest;
  /** Its id. */
  taskId: TaskId;
  /** The same as the first of offers. */
  offer?: ClusterOfferObject;
  /** The machine it was given to. */
  offers?: ClusterOfferObject[];
  /** What was sent to the machine. */
  clusterTask?: ClusterTaskObject;
  /** Rack of the machine. */
  rackId: string;
}
export const Task = record<Task>('Task');
