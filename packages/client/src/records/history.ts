import type { Deploy } from './deploy.js';
import type { DeployMarker, DeployState, LoadBalancerUpdate } from './deploy-progress.js';
import type { Request } from './request.js';
import type { TaskMetadata, TaskShellCommandHistory } from './task-actions.js';
import type { TaskHistoryUpdate, TaskId, TaskIdHistory, TaskState } from './task-ids.js';
import type { Task } from './tasks.js';
import { type Int32, type Int64, record } from '../schema.js';

/** Why a deploy failed. */
export type DeployFailureReason =
  | 'TASK_FAILED_ON_STARTUP'
  | 'TASK_FAILED_HEALTH_CHECKS'
  | 'TASK_COULD_NOT_BE_SCHEDULED'
  | 'TASK_NEVER_ENTERED_RUNNING'
  | 'TASK_EXPECTED_RUNNING_FINISHED'
  | 'DEPLOY_CANCELLED'
  | 'DEPLOY_OVERDUE'
  | 'FAILED_TO_SAVE_DEPLOY_STATE'
  | 'LOAD_BALANCER_UPDATE_FAILED'
  | 'PENDING_DEPLOY_REMOVED';

/** How a task failed. */
export type TaskFailureType =
  'OOM' | 'OUT_OF_DISK_SPACE' | 'BAD_EXIT_CODE' | 'UNEXPECTED_EXIT' | 'LOST_SLAVE' | 'MESOS_ERROR' | 'STARTUP_FAILURE';

/** What was changed in a request. */
export type RequestEventType =
  | 'CREATED'
  | 'UPDATED'
  | 'DELETING'
  | 'DELETED'
  | 'PAUSED'
  | 'UNPAUSED'
  | 'ENTERED_COOLDOWN'
  | 'EXITED_COOLDOWN'
  | 'FINISHED'
  | 'DEPLOYED_TO_UNPAUSE'
  | 'BOUNCED'
  | 'SCALED'
  | 'SCALE_REVERTED';

/** One thing that made a deploy fail. */
export interface DeployFailure {
  /** What it was. */
  reason: DeployFailureReason;
  /** The task that failed. */
  taskId?: TaskId;
  /** What happened, for people. */
  message?: string;
}

/** How a deploy ended. */
export interface DeployResult {
  /** SUCCEEDED, or why not. */
  deployState: DeployState;
  /** When it ended, in epoch milliseconds. */
  timestamp: Int64;
  /** What happened, for people. */
  message?: string;
  /** What the load balancer was asked for last, and what it said. */
  lbUpdate?: LoadBalancerUpdate;
  /** Everything that went wrong. */
  deployFailures: DeployFailure[];
}

/** A task that failed, and how. */
export interface TaskFailureEvent {
  /** Number of the instance. */
  instance: Int32;
  /** When, in epoch milliseconds. */
  timestamp: Int64;
  /** How. */
  type: TaskFailureType;
}

/** Counts over the ended tasks of a deploy. */
export interface DeployStatistics {
  /** Successes since the last failure. */
  numSuccess: Int32;
  /** Failures since the last success. */
  numFailures: Int32;
  /** Retries since the last success. */
  numSequentialRetries: Int32;
  /** When the last task ended, in epoch milliseconds. */
  lastFinishAt?: Int64;
  /** How it ended. */
  lastTaskState?: TaskState;
  /** Always empty; kept for older clients. */
  instanceSequentialFailureTimestamps: Record<string, Int64[]>;
  /** Ended tasks. */
  numTasks: Int32;
  /** How long they ran on average. */
  averageRuntimeMillis?: Int64;
  /** How long after their time they were launched on average. */
  averageSchedulingDelayMillis?: Int64;
  /** Times of its schedule that passed without a run: the run before took longer, or its end was told late. */
  skippedRuns?: Int32;
  /** The request. */
  requestId: string;
  /** The deploy. */
  deployId: string;
  /** The newest failures, newest first. */
  taskFailureEvents: TaskFailureEvent[];
}

/** A deploy, in progress or past. Lists leave out the deploy itself and its statistics. */
export interface DeployHistory {
  /** How it ended; absent while it goes on. */
  deployResult?: DeployResult;
  /** Which deploy it is, and who started it. */
  deployMarker: DeployMarker;
  /** What was deployed. */
  deploy?: Deploy;
  /** Counts over its tasks; absent until one has ended. */
  deployStatistics?: DeployStatistics;
  /** Of one in progress: why its tasks are not placed, as far as the scheduler has looked. Not in lists. */
  waitsBecause?: string;
}
export const DeployHistory = record<DeployHistory>('DeployHistory');

/** One page of deploys. */
export interface PaginatedResponseOfDeployHistory {
  /** How many there are in all. */
  dataCount: Int32;
  /** How many pages that makes. */
  pageCount: Int32;
  /** Which page this is, from 1. */
  page: Int32;
  /** The deploys of this page. */
  objects: DeployHistory[];
}
export const PaginatedResponseOfDeployHistory = record<PaginatedResponseOfDeployHistory>(
  'PaginatedResponseOfDeployHistory',
);

/** One change of a request. */
export interface RequestHistory {
  /** When, in epoch milliseconds. */
  createdAt: Int64;
  /** What was changed. */
  eventType: RequestEventType;
  /** Who made it. */
  user?: string;
  /**
   * The request as it was after the change; absent only when an older installation left a record that cannot be read.
   */
  request?: Request;
  /** What was said about it. */
  message?: string;
}
export const RequestHistory = record<RequestHistory>('RequestHistory');

/** One page of changes of a request. */
export interface PaginatedResponseOfRequestHistory {
  /** How many there are in all. */
  dataCount: Int32;
  /** How many pages that makes. */
  pageCount: Int32;
  /** Which page this is, from 1. */
  page: Int32;
  /** The changes of this page. */
  objects: RequestHistory[];
}
export const PaginatedResponseOfRequestHistory = record<PaginatedResponseOfRequestHistory>(
  'PaginatedResponseOfRequestHistory',
);

/** One health check of a task. */
export interface TaskHealthcheckResult {
  /** What it answered, when it answered. */
  statusCode?: Int32;
  /** When it was checked, in epoch milliseconds. */
  timestamp: Int64;
  /** How long the answer took, in milliseconds. */
  durationMillis?: Int64;
  /** @deprecated Older name of durationMillis. Answers never have it. */
  duration?: Int64;
  /** Beginning of the body it answered. */
  responseBody?: string;
  /** Why it did not answer. */
  errorMessage?: string;
  /** The task that was checked. */
  taskId: TaskId;
  /** The task was still starting up: a failure did not count. */
  startup: boolean;
}

/** Everything known of one task. */
export interface TaskHistory {
  /** What it went through, oldest first. */
  taskUpdates: TaskHistoryUpdate[];
  /** Its directory on the machine; absent until the machine reported it. */
  directory?: string;
  /** Its container, when it runs in one. */
  containerId?: string;
  /** Its health checks, oldest first. */
  healthcheckResults: TaskHealthcheckResult[];
  /** What was launched. */
  task: Task;
  /** What was told to the load balancer. */
  loadBalancerUpdates: LoadBalancerUpdate[];
  /** Shell commands that ran in it. */
  shellCommandHistory: TaskShellCommandHistory[];
  /** Notes that were attached to it. */
  taskMetadata: TaskMetadata[];
}
export const TaskHistory = record<TaskHistory>('TaskHistory');

/** One page of tasks. */
export interface PaginatedResponseOfTaskIdHistory {
  /** How many match in all. */
  dataCount: Int32;
  /** How many pages that makes. */
  pageCount: Int32;
  /** Which page this is, from 1. */
  page: Int32;
  /** The tasks of this page. */
  objects: TaskIdHistory[];
}
export const PaginatedResponseOfTaskIdHistory = record<PaginatedResponseOfTaskIdHistory>(
  'PaginatedResponseOfTaskIdHistory',
);
