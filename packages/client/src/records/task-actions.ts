import type { FieldError } from './errors.js';
import type { ShellCommand } from './request-actions.js';
import type { RequestCleanupType } from './request-state.js';
import type { TaskId } from './task-ids.js';
import { type Int32, type Int64, record } from '../schema.js';

/** Why a task has to go. */
export type TaskCleanupType =
  | 'BOUNCING'
  | 'DECOMMISSION_TIMEOUT'
  | 'DECOMISSIONING'
  | 'DEPLOY_CANCELED'
  | 'DEPLOY_FAILED'
  | 'DEPLOY_STEP_FINISHED'
  | 'INCREMENTAL_BOUNCE'
  | 'INCREMENTAL_DEPLOY_CANCELLED'
  | 'INCREMENTAL_DEPLOY_FAILED'
  | 'NEW_DEPLOY_SUCCEEDED'
  | 'OVERDUE_NEW_TASK'
  | 'PAUSE'
  | 'PAUSING'
  | 'PRIORITY_KILL'
  | 'REBALANCE_CPU_USAGE'
  | 'REBALANCE_MEMORY_USAGE'
  | 'REBALANCE_RACKS'
  | 'REBALANCE_SLAVE_ATTRIBUTES'
  | 'REQUEST_DELETING'
  | 'SCALING_DOWN'
  | 'TASK_EXCEEDED_TIME_LIMIT'
  | 'UNHEALTHY_NEW_TASK'
  | 'USER_REQUESTED'
  | 'USER_REQUESTED_DESTROY'
  | 'USER_REQUESTED_TASK_BOUNCE';

/** How bad it is. */
export type TaskMetadataLevel = 'INFO' | 'WARN' | 'ERROR';

/** How far a shell command came; INVALID, FINISHED and FAILED end it. */
export type ShellCommandUpdateType = 'ACKED' | 'STARTED' | 'INVALID' | 'FINISHED' | 'FAILED';

/** Names a shell command that was queued for a task. */
export interface TaskShellCommandRequestId {
  /** When it was queued, in epoch milliseconds. */
  timestamp: Int64;
  /** The task. */
  taskId: TaskId;
  /** Name of the command. */
  name: string;
}

/** A task has to go, and why. */
export interface TaskCleanup {
  /** Why it has to go; decides whether a replacement is awaited first. */
  cleanupType: TaskCleanupType;
  /** When it was ordered, in epoch milliseconds. */
  timestamp: Int64;
  /** Who asked for it. */
  user?: string;
  /** The task. */
  taskId: TaskId;
  /** What the user said about it. */
  message?: string;
  /** Id of the action that ordered it. */
  actionId?: string;
  /** Shell command that runs before the kill. */
  runBeforeKillId?: TaskShellCommandRequestId;
  /** Whether the task is taken off the load balancer first. */
  removeFromLoadBalancer?: boolean;
}
export const TaskCleanup = record<TaskCleanup>('TaskCleanup');

/** Why a task may not be killed. */
export interface KillConflict {
  /** The HTTP status. */
  status: number;
  /** What went wrong, in one word for programs: INVALID_REQUEST, REQUEST_NOT_FOUND, DEPLOY_IN_PROGRESS, ... */
  code: string;
  /** What went wrong, in a sentence for people that names the id or the field. */
  message: string;
  /** Every broken rule of the input; empty when the input was not the problem. */
  errors: FieldError[];
  /** Id of the call, also in the header X-Request-Id and in the log. */
  requestId: string;
  /** The cleanup that stands in the way; absent when the action is disabled. */
  cleanup?: TaskCleanup;
}

/** A kill that was sent, and whose effect has not been reported yet. */
export interface KilledTaskIdRecord {
  /** When the kill was sent last, in epoch milliseconds. */
  timestamp: Int64;
  /** When it was sent first, in epoch milliseconds. */
  originalTimestamp: Int64;
  /** Cleanup of the request that caused it. */
  requestCleanupType?: RequestCleanupType;
  /** Cleanup of the task that caused it. */
  taskCleanupType?: TaskCleanupType;
  /** How many times it was sent again. */
  retries: Int32;
  /** The task. */
  taskId: TaskId;
}
export const KilledTaskIdRecord = record<KilledTaskIdRecord>('KilledTaskIdRecord');

/** How a task is to be killed. */
export interface KillTaskRequest {
  /** Why; kept with the cleanup and in the task's history. */
  message?: string;
  /** An id of your own for this action. */
  actionId?: string;
  /** Kill at once, whatever else was ordered for the task before. */
  override?: boolean;
  /** Start a replacement first, and kill when it is healthy. */
  waitForReplacementTask?: boolean;
  /** Command to run in the task before it is killed; one that is not configured is refused. */
  runShellCommandBeforeKill?: ShellCommand;
}
export const KillTaskRequest = record<KillTaskRequest>('KillTaskRequest');

/** A note for a task. */
export interface TaskMetadataRequest {
  /** What kind of note it is, in a word of your own (unless the service is configured with a list) without '/'. */
  type: string;
  /** The note in a line. */
  title: string;
  /** More about it. */
  message?: string;
  /** How bad it is; INFO unless given. */
  level?: TaskMetadataLevel;
}
export const TaskMetadataRequest = record<TaskMetadataRequest>('TaskMetadataRequest');

/** A note that was attached to a task. */
export interface TaskMetadata {
  /** When it was attached, in epoch milliseconds. */
  timestamp: Int64;
  /** How bad it is. */
  level: TaskMetadataLevel;
  /** The task. */
  taskId: TaskId;
  /** What kind of note it is. */
  type: string;
  /** The note in a line. */
  title: string;
  /** More about it. */
  message?: string;
  /** Who attached it. */
  user?: string;
}

/** A command that a user wants to be run in a task. */
export interface TaskShellCommandRequest {
  /** When it was queued, in epoch milliseconds; with task and name the id of the command. */
  timestamp: Int64;
  /** The task. */
  taskId: TaskId;
  /** Who asked for it. */
  user?: string;
  /** What is run. */
  shellCommand: ShellCommand;
}
export const TaskShellCommandRequest = record<TaskShellCommandRequest>('TaskShellCommandRequest');

/** What became of a command. */
export interface TaskShellCommandUpdate {
  /** When, in epoch milliseconds. */
  timestamp: Int64;
  /** How far it came; INVALID, FINISHED and FAILED end it. */
  updateType: ShellCommandUpdateType;
  /** The command. */
  shellRequestId: TaskShellCommandRequestId;
  /** The command line, the process, the exit code, or why it could not run. */
  message?: string;
  /** File of its output, relative to the sandbox of the task. */
  outputFilename?: string;
}
export const TaskShellCommandUpdate = record<TaskShellCommandUpdate>('TaskShellCommandUpdate');

/** A command with everything that became of it. */
export interface TaskShellCommandHistory {
  /** The command. */
  shellRequest: TaskShellCommandRequest;
  /** What became of it, oldest first. */
  shellUpdates: TaskShellCommandUpdate[];
}
export const TaskShellCommandHistory = record<TaskShellCommandHistory>('TaskShellCommandHistory');
