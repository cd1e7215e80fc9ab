import type { TimeInZone } from './request-state.js';
import type { DeployState } from './deploy-progress.js';
import type { RequestState } from './request-state.js';
import type { PendingTaskId, PendingType } from './task-ids.js';
import { type Int32, type Int64, record } from '../schema.js';

/** What a task waits for; PLACEABLE: nothing, the next round places it. */
export type WaitingReason =
  | 'NOT_DUE'
  | 'COOLDOWN'
  | 'REQUEST_GONE'
  | 'REQUEST_NOT_RUNNABLE'
  | 'DEPLOY_GONE'
  | 'DEPLOY_NOT_IN_USE'
  | 'PLACEMENT_DISABLED'
  | 'PRIORITY_FREEZE'
  | 'INSTANCE_LIMIT'
  | 'CANNOT_BE_STORED'
  | 'NO_MATCHING_SLAVE'
  | 'PLACEABLE';

/** Why a machine does not get a task. */
export type RejectionReason =
  | 'SLAVE_UNKNOWN'
  | 'SLAVE_INACTIVE'
  | 'SLAVE_FROZEN'
  | 'SLAVE_DECOMMISSIONING'
  | 'HOST_INACTIVE'
  | 'RACK_INACTIVE'
  | 'RACK_FROZEN'
  | 'RACK_DECOMMISSIONING'
  | 'RACK_AFFINITY_NOT_MATCHING'
  | 'SLAVE_ATTRIBUTES_DO_NOT_MATCH'
  | 'SLAVE_ATTRIBUTE_MINIMUMS'
  | 'SLAVE_RETURNING'
  | 'SLAVE_CLOSED'
  | 'SLAVE_DISK_FULL'
  | 'SLAVE_WITHOUT_CONTAINERS'
  | 'NOT_ENOUGH_CPUS'
  | 'NOT_ENOUGH_MEMORY'
  | 'NOT_ENOUGH_DISK'
  | 'NOT_ENOUGH_PORTS'
  | 'TOO_MANY_TASKS_THIS_ROUND'
  | 'RACK_SATURATED'
  | 'SLAVE_SATURATED'
  | 'SLAVE_USAGE_UNKNOWN'
  | 'SLAVE_OVERLOADED';

/** Slaves that cannot take a task, all for the same reason. */
export interface Rejection {
  /** The first reason that holds against each of them. */
  reason: RejectionReason;
  /** How many slaves. */
  slaves: Int32;
  /** Where they have too little: how much the task asks for, in cores, MB or ports. */
  asked?: number;
  /** How much the largest of them has in all. */
  largest?: number;
  /** The most that one of them has free. */
  free?: number;
}

/** Why a pending task is not running. */
export interface TaskExplanation {
  /** What it waits for; PLACEABLE: nothing, the next round places it. */
  reason: WaitingReason;
  /** Slaves that were looked at; 0 when it waits for something else. */
  slaves: Int32;
  /** How many of them could take it now. */
  fitting: Int32;
  /** The task. */
  pendingTaskId: PendingTaskId;
  /** The same as a sentence. */
  message: string;
  /** The other ones by reason, most frequent first. */
  rejections: Rejection[];
}
export const TaskExplanation = record<TaskExplanation>('TaskExplanation');

/** An entry of the pending queue: it leads to pending tasks. */
export interface QueuedEntry {
  /** What made the entry. */
  pendingType: PendingType;
  /** Since when it waits, in epoch milliseconds. */
  timestamp: Int64;
  /** Deploy that it is about. */
  deployId: string;
  /** What it waits for. */
  message: string;
}

/** How the newest deploy failed. */
export interface FailedDeploy {
  /** How it ended. */
  deployState: DeployState;
  /** The deploy. */
  deployId: string;
  /** What was said about it. */
  message?: string;
  /** What to look at first to find out why. */
  lookAtFirst: string;
}

/** Why tasks of a request are not running. */
export interface RequestExplanation {
  /** State of the request. */
  state: RequestState;
  /** What keeps all of it from running: no deploy, or its state. Absent where nothing does. */
  message?: string;
  /** When it runs next by its schedule: up to five times, of a SCHEDULED request that may run. */
  nextRuns?: TimeInZone[];
  /** Tasks that are active now. */
  activeTasks: Int32;
  /** The request. */
  requestId: string;
  /** Its pending tasks, the next one first. */
  pendingTasks: TaskExplanation[];
  /** Its entries in the pending queue, the oldest first. */
  queued: QueuedEntry[];
  /** The newest deploy, if it has failed. */
  failedDeploy?: FailedDeploy;
}
export const RequestExplanation = record<RequestExplanation>('RequestExplanation');
