import { type Int32, type Int64, record } from '../schema.js';

/** A command that is run in a task. */
export interface ShellCommand {
  /** Name of the command, one of those the service is configured with. */
  name: string;
  /** Options of the command. */
  options?: string[];
  /** Who asks for it, in words of the caller's own; it runs as the user of its task. */
  user?: string;
  /** Stands in the name of the file that its output goes to, in place of the name of the command. */
  logfileName?: string;
}
export const ShellCommand = record<ShellCommand>('ShellCommand');

/** How a request is bounced: all of its tasks replaced by new ones of the same deploy. */
export interface BounceRequest {
  /** Milliseconds after which a bounce that is not done is given up; an hour unless configured otherwise. */
  durationMillis?: Int64;
  /** An id of your own for this action; a random one unless given. */
  actionId?: string;
  /** Why. */
  message?: string;
  /** Replace one task after the other; false: start all new ones, then end all old ones. */
  incremental?: boolean;
  /** The new tasks count as healthy without being checked. */
  skipHealthchecks?: boolean;
  /** Command to run in each task before it is killed. */
  runShellCommandBeforeKill?: ShellCommand;
}
export const BounceRequest = record<BounceRequest>('BounceRequest');

/** How a request is paused: no new tasks until it is unpaused. */
export interface PauseRequest {
  /** Milliseconds after which the request is unpaused by itself. */
  durationMillis?: Int64;
  /** An id of your own for this action. */
  actionId?: string;
  /** Why. */
  message?: string;
  /**
   * Kill the running tasks at once; true unless configured otherwise. false: runs of jobs may end by themselves, and
   * tasks of a SERVICE or WORKER leave the load balancer before they are killed.
   */
  killTasks?: boolean;
  /** Command to run in each task before it is killed. */
  runShellCommandBeforeKill?: ShellCommand;
}
export const PauseRequest = record<PauseRequest>('PauseRequest');

/** How a request is unpaused. */
export interface UnpauseRequest {
  /** Why. */
  message?: string;
  /** An id of your own for this action. */
  actionId?: string;
  /** The tasks that start now count as healthy without being checked. */
  skipHealthchecks?: boolean;
}
export const UnpauseRequest = record<UnpauseRequest>('UnpauseRequest');

/** How a cooldown is ended before its time. */
export interface ExitCooldownRequest {
  /** Why. */
  message?: string;
  /** An id of your own for this action. */
  actionId?: string;
  /** The tasks that start now count as healthy without being checked. */
  skipHealthchecks?: boolean;
}
export const ExitCooldownRequest = record<ExitCooldownRequest>('ExitCooldownRequest');

/** How many instances a request shall have. */
export interface ScaleRequest {
  /** The new number of instances. To be given, except under compatibility, where it means one when it is absent. */
  instances?: Int32;
  /** Milliseconds after which the number found now is restored. */
  durationMillis?: Int64;
  /** An id of your own for this action; a random one unless given. */
  actionId?: string;
  /** Why. */
  message?: string;
  /** The tasks that start now count as healthy without being checked. */
  skipHealthchecks?: boolean;
  /** Bounce the request as well; as the request's bounceAfterScale says unless given. */
  bounce?: boolean;
  /** Whether that bounce is incremental; true unless said otherwise. */
  incremental?: boolean;
  /** Send no mail about it. */
  skipEmailNotification?: boolean;
}
export const ScaleRequest = record<ScaleRequest>('ScaleRequest');

/** How important the tasks of a request are when not all can run. */
export interface PriorityRequest {
  /** The new taskPriorityLevel; absent: none, which means that of the request's type. */
  priority?: number;
  /** Milliseconds after which the level found now is restored. */
  durationMillis?: Int64;
  /** An id of your own for this action; a random one unless given. */
  actionId?: string;
  /** Why. */
  message?: string;
}
export const PriorityRequest = record<PriorityRequest>('PriorityRequest');

/** Whether the tasks of a request count as healthy without being checked. */
export interface SkipHealthchecksRequest {
  /** Milliseconds after which the value found now is restored. */
  durationMillis?: Int64;
  /** An id of your own for this action; a random one unless given. */
  actionId?: string;
  /** Why. */
  message?: string;
  /** The new value; absent: back to none. */
  skipHealthchecks?: boolean;
}
export const SkipHealthchecksRequest = record<SkipHealthchecksRequest>('SkipHealthchecksRequest');

/** How a request is deleted. */
export interface DeleteRequestRequest {
  /** Why. */
  message?: string;
  /** An id of your own for this action. */
  actionId?: string;
  /** Remove its service from the load balancer as well. */
  deleteFromLoadBalancer?: boolean;
  /** End its tasks at once by SIGKILL, without the time that a kill leaves them. */
  force?: boolean;
  /** Let its runs end by themselves first; nothing new starts meanwhile. Not for SERVICE and WORKER. */
  waitForTasks?: boolean;
}
export const DeleteRequestRequest = record<DeleteRequestRequest>('DeleteRequestRequest');

/** Groups of a request; all three settings are replaced. */
export interface UpdateGroupsRequest {
  /** Group whose members may see and change it. */
  group?: string;
  /** Further groups whose members may see and change it. */
  readWriteGroups?: string[];
  /** Groups whose members may see it. */
  readOnlyGroups?: string[];
  /** Why. */
  message?: string;
}
export const UpdateGroupsRequest = record<UpdateGroupsRequest>('UpdateGroupsRequest');
