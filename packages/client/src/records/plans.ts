import type { Rejection, WaitingReason } from './explanations.js';
import type { TaskCleanupType } from './task-actions.js';
import type { TaskId } from './task-ids.js';
import { type Int32, type Int64, record } from '../schema.js';

/** One field that would change. */
export interface FieldChange {
  /** What it is now; absent: it is not set. */
  from?: unknown;
  /** What it would be; absent: it would not be set. */
  to?: unknown;
  /** Its name from the outside in, such as deploy.env.COLOUR, deploy.uris[0].cmd or request.instances. */
  path: string;
}

/** A task that would start. */
export interface PlannedStart {
  /** Which of the request's instances it would be, from 1. */
  instanceNo: Int32;
  /** When it would be due, in epoch milliseconds; absent: at once. */
  notBefore?: Int64;
}

/** A task that would have to go. */
export interface PlannedStop {
  /** The cleanup it would get, or has already. Tasks of jobs are left to end by themselves for a while. */
  cleanupType: TaskCleanupType;
  /** The task. */
  taskId: TaskId;
}

/** Whether the tasks of a step find room on the machines as they are now. */
export interface PlannedFit {
  /** Tasks that would start. */
  tasks: Int32;
  /** How many of them find a machine. */
  fitting: Int32;
  /** What the others would wait for; PLACEABLE: there are no others. */
  reason: WaitingReason;
  /** Slaves that were looked at. */
  slaves: Int32;
  /** The same as a sentence. */
  message: string;
  /** Slaves that cannot take the first task left over, by the first reason against each; most frequent first. */
  rejections: Rejection[];
}

/** Tasks that would start together, and those that would go when all of them are healthy. */
export interface PlannedStep {
  /** Milliseconds between the end of the step and the next one; absent: it begins at once. */
  waitMillis?: Int64;
  /** Tasks that would start, in the order of instance numbers. */
  start: PlannedStart[];
  /** Tasks that would have to go. */
  stop: PlannedStop[];
  /** Whether those that would start fit now. Tasks of earlier steps have started then, and old ones have gone. */
  fits: PlannedFit;
  /** The next step would begin only when it is asked for, by updating the deploy. */
  waitsForUpdate?: boolean;
}

/** What a deploy would do. */
export interface DeployPlan {
  /** Tasks that would start in all. */
  starting: Int32;
  /** Tasks that would have to go in all. */
  stopping: Int32;
  /** Id of the deploy. Where the service makes ids up, the real one gets another. */
  deployId: string;
  /** The deploy that it would replace, and that the changes are told against. */
  activeDeployId?: string;
  /** The request. */
  requestId: string;
  /**
   * Names the state planned with. The real call may carry it, and is refused with 409 if that is not the state any
   * more.
   */
  checkIndex: string;
  /** Fields that would change, in the order of their names. */
  changes: FieldChange[];
  /** What would happen one after the other, if all tasks become healthy. */
  steps: PlannedStep[];
  /** All tasks of all steps fit now. */
  fits: boolean;
}
export const DeployPlan = record<DeployPlan>('DeployPlan');

/** What a scale would do. */
export interface ScalePlan {
  /** Tasks that would start in all. */
  starting: Int32;
  /** Tasks that would have to go in all. */
  stopping: Int32;
  /** Instances now. */
  from: Int32;
  /** Instances then. */
  to: Int32;
  /** The request. */
  requestId: string;
  /**
   * Names the state planned with. The real call may carry it, and is refused with 409 if that is not the state any
   * more.
   */
  checkIndex: string;
  /** Fields that would change, in the order of their names. */
  changes: FieldChange[];
  /** What would happen one after the other, if all tasks become healthy. */
  steps: PlannedStep[];
  /** All tasks of all steps fit now. */
  fits: boolean;
}
export const ScalePlan = record<ScalePlan>('ScalePlan');
