import { type Int32, type Int64, record, type WordOf, words } from '../schema.js';

/** Why tasks are to be started. */
export type PendingType =
  | 'IMMEDIATE'
  | 'ONEOFF'
  | 'BOUNCE'
  | 'NEW_DEPLOY'
  | 'NEXT_DEPLOY_STEP'
  | 'UNPAUSED'
  | 'RETRY'
  | 'UPDATED_REQUEST'
  | 'DECOMISSIONED_SLAVE_OR_RACK'
  | 'TASK_DONE'
  | 'STARTUP'
  | 'CANCEL_BOUNCE'
  | 'TASK_BOUNCE'
  | 'DEPLOY_CANCELLED'
  | 'DEPLOY_FAILED'
  | 'DEPLOY_FINISHED'
  | 'TASK_RECOVERED';

/** How far a task has come; from TASK_FINISHED on it has ended. */
export const TaskState = words(
  'TASK_LAUNCHED',
  'TASK_STAGING',
  'TASK_STARTING',
  'TASK_RUNNING',
  'TASK_CLEANING',
  'TASK_KILLING',
  'TASK_FINISHED',
  'TASK_FAILED',
  'TASK_KILLED',
  'TASK_LOST',
  'TASK_LOST_WHILE_DOWN',
  'TASK_ERROR',
  'TASK_DROPPED',
  'TASK_GONE',
  'TASK_UNREACHABLE',
  'TASK_GONE_BY_OPERATOR',
  'TASK_UNKNOWN',
);
export type TaskState = WordOf<typeof TaskState>;

/** Names one task, and never another one: id is made of the other fields. */
export interface TaskId {
  /** When the launch was decided, in epoch milliseconds. */
  startedAt: Int64;
  /** Which of the request's instances it is, from 1. */
  instanceNo: Int32;
  /** @deprecated Older name of startedAt. Answers never have it. */
  nextRunAt?: Int64;
  /** Request that the task belongs to. */
  requestId: string;
  /** Deploy that the task runs. */
  deployId: string;
  /** Host part of the id: the host name with '_' for '-'. */
  host: string;
  /** The same as host. */
  sanitizedHost: string;
  /** Rack part of the id: the rack with '_' for '-'. */
  sanitizedRackId: string;
  /** The same as sanitizedRackId. */
  rackId: string;
  /** requestId-deployId-startedAt-instanceNo-host-rackId. */
  id: string;
}
export const TaskId = record<TaskId>('TaskId');

/** Names a task that waits for its time or for a machine. */
export interface PendingTaskId {
  /** When it is due, in epoch milliseconds. */
  nextRunAt: Int64;
  /** Which of the request's instances it is, from 1. */
  instanceNo: Int32;
  /** Why it is to run. */
  pendingType: PendingType;
  /** When that became known, in epoch milliseconds. */
  createdAt: Int64;
  /** Request that the task will belong to. */
  requestId: string;
  /** Deploy that the task will run. */
  deployId: string;
  /** requestId-deployId-nextRunAt-instanceNo-pendingType-createdAt. */
  id: string;
}
export const PendingTaskId = record<PendingTaskId>('PendingTaskId');

/** The tasks of one request, by what can be expected of them. */
export interface TaskIdsByStatus {
  /** Running, and their health checks (if any) pass. */
  healthy: TaskId[];
  /** Launched, but not known to be healthy yet. */
  notYetHealthy: TaskId[];
  /** Waiting for their time or for a machine. */
  pending: PendingTaskId[];
  /** Have to go; a kill has not been sent yet. */
  cleaning: TaskId[];
  /** Known to the load balancer. */
  loadBalanced: TaskId[];
  /** A kill was sent; their end has not been reported yet. */
  killed: TaskId[];
}
export const TaskIdsByStatus = record<TaskIdsByStatus>('TaskIdsByStatus');

/** How many tasks a request has. */
export interface TaskCounts {
  /** Launched and not ended, those that have to go included. */
  active: Int32;
  /** Waiting for their time or for a machine. */
  pending: Int32;
  /** Have to go. */
  cleaning: Int32;
  /** The request. */
  requestId: string;
}
export const TaskCounts = record<TaskCounts>('TaskCounts');

/** One state that a task came to. */
export interface TaskHistoryUpdate {
  /** When, in epoch milliseconds. */
  timestamp: Int64;
  /** The state it came to. */
  taskState: TaskState;
  /** Earlier updates of the same state that this one replaced. */
  previous: TaskHistoryUpdate[];
  /** The task. */
  taskId: TaskId;
  /** What was said about it, for people. That of TASK_CLEANING begins with the cleanup type. */
  statusMessage?: string;
  /** The cluster's reason, in one word. */
  statusReason?: string;
}
export const TaskHistoryUpdate = record<TaskHistoryUpdate>('TaskHistoryUpdate');

/** A task in a list: its id and its newest state. */
export interface TaskIdHistory {
  /** Time of the newest update, or of the start when there is none; epoch milliseconds. */
  updatedAt: Int64;
  /** State of the newest update. */
  lastTaskState?: TaskState;
  /** @deprecated Older name of lastTaskState. Answers never have it. */
  lastStatus?: TaskState;
  /** The task. */
  taskId: TaskId;
  /** The run that the task carries out, when it was started by a run. */
  runId?: string;
}
export const TaskIdHistory = record<TaskIdHistory>('TaskIdHistory');

/** How far a task or a run has come. */
export interface SchedulerTaskState {
  /** State of its newest update; absent until it was launched. */
  currentState?: TaskState;
  /** The task; absent until it was launched. */
  taskId?: TaskId;
  /** What it was, or is, while it waited; absent until the scheduler looked at it. */
  pendingTaskId?: PendingTaskId;
  /** Id of the run, when it was started by one. */
  runId?: string;
  /** What it went through, oldest first. */
  taskHistory: TaskHistoryUpdate[];
  /** It waits for its time or for a machine. */
  pending: boolean;
}
export const SchedulerTaskState = record<SchedulerTaskState>('SchedulerTaskState');
