import type { Deploy } from './deploy.js';
import type { Request } from './request.js';
import type { TaskId } from './task-ids.js';
import { type Int32, type Int64, record } from '../schema.js';

/**
 * WAITING while it goes on, CANCELING while the load balancer is asked to undo what it was told; all others are ends.
 */
export type DeployState =
  'SUCCEEDED' | 'FAILED_INTERNAL_STATE' | 'CANCELING' | 'WAITING' | 'OVERDUE' | 'FAILED' | 'CANCELED';

/** What became of a change of the load balancer. */
export type LoadBalancerState =
  'UNKNOWN' | 'FAILED' | 'WAITING' | 'SUCCESS' | 'CANCELING' | 'CANCELED' | 'INVALID_REQUEST_NOOP';

/** How the load balancer was asked; PRE_ENQUEUE: it was not, yet. */
export type LoadBalancerMethod = 'PRE_ENQUEUE' | 'ENQUEUE' | 'CHECK_STATE' | 'CANCEL' | 'DELETE';

/** What a change of the load balancer is about. */
export type LoadBalancerRequestType = 'ADD' | 'REMOVE' | 'DEPLOY' | 'DELETE';

/** A deploy to start. */
export interface DeployRequest {
  /** Why it is deployed. */
  message?: string;
  /** What to deploy. */
  deploy: Deploy;
  /** Unpause a paused request when the deploy succeeds. */
  unpauseOnSuccessfulDeploy?: boolean;
  /** Takes the place of the request when the deploy succeeds. */
  updatedRequest?: Request;
}

export const DeployRequest = record<DeployRequest>('DeployRequest');

/** Another number of new tasks for the deploy in progress. */
export interface UpdatePendingDeployRequest {
  /** Request that is being deployed. */
  requestId: string;
  /** The deploy in progress. */
  deployId: string;
  /** How many tasks of the new deploy should run now: from 1 to the instances of the request. */
  targetActiveInstances: Int32;
}

export const UpdatePendingDeployRequest = record<UpdatePendingDeployRequest>('UpdatePendingDeployRequest');

/** Which earlier deploy of a request is deployed again. */
export interface RollbackRequest {
  /**
   * The earlier deploy, whether it succeeded or not; unless given, the last successful one before the active deploy.
   */
  deployId?: string;
  /** Why; unless given, it names the earlier deploy. */
  message?: string;
  /** The same as the parameter of this name, which goes first. */
  checkIndex?: string;
  /** Unpause a paused request when the deploy succeeds. */
  unpauseOnSuccessfulDeploy?: boolean;
}

export const RollbackRequest = record<RollbackRequest>('RollbackRequest');

/** A change of the load balancer that a deploy asked for. */
export interface DeployProgressLbUpdate {
  /** How it stands. */
  loadBalancerUpdate: LoadBalancerUpdate;
  /** Tasks that come in. */
  added: TaskId[];
  /** Tasks that go. */
  removed: TaskId[];
}

/** Which deploy of which request, and who started it. */
export interface DeployMarker {
  /** When it was started, in epoch milliseconds. */
  timestamp: Int64;
  /** Request that is deployed. */
  requestId: string;
  /** The deploy. */
  deployId: string;
  /** Who started it. */
  user?: string;
  /** What was said about it. */
  message?: string;
}

/** How far a deploy has come. Only of SERVICE and WORKER requests, and of deploys with canaryDeploySettings. */
export interface DeployProgress {
  /** New tasks that should run at the end of the current step. */
  targetActiveInstances: Int32;
  /** New tasks that were healthy at the end of the last step. */
  currentActiveInstances: Int32;
  /** Tasks replaced per step. */
  deployInstanceCountPerStep: Int32;
  /** Milliseconds between a finished step and the next one. */
  deployStepWaitTimeMs: Int64;
  /** When the current step began, in epoch milliseconds; its time limit counts from here. */
  timestamp: Int64;
  /**
   * Only with canaryDeploySettings, and of jobs: it is rolled out in groups. An addition of version 1.5 of this API.
   */
  canary?: boolean;
  /**
   * Only with canaryDeploySettings, and of jobs: the tasks of the step are healthy and wait to be accepted. An
   * addition of version 1.5 of this API.
   */
  stepLaunchComplete?: boolean;
  /**
   * Only with canaryDeploySettings, and of jobs: what each check says of the step. An addition of version 1.5 of this
   * API.
   */
  stepAcceptanceResults?: Record<string, 'PENDING' | 'SUCCEEDED' | 'FAILED'>;
  /**
   * Only with canaryDeploySettings, and of jobs: what checks said so far, as "(name - STATE) text". An addition of
   * version 1.5 of this API.
   */
  acceptanceResultMessageHistory?: string[];
  /**
   * Only with canaryDeploySettings, and of jobs: what the load balancer was asked for, by the text of the id it was
   * asked under. An addition of version 1.5 of this API.
   */
  lbUpdates?: Record<string, DeployProgressLbUpdate>;
  /**
   * Only with canaryDeploySettings: what the load balancer was asked for and has not done yet. An addition of version
   * 1.5 of this API.
   */
  pendingLbUpdate?: LoadBalancerUpdate;
  /** The current step is done. */
  stepComplete: boolean;
  /** The next step begins by itself. */
  autoAdvanceDeploySteps: boolean;
  /** Tasks that failed and were replaced. */
  failedDeployTasks: TaskId[];
}

/** A deploy in progress. */
export interface PendingDeploy {
  /** WAITING while it goes on; CANCELING while the load balancer is asked to undo what it was told. */
  currentDeployState: DeployState;
  /** Which deploy it is. */
  deployMarker: DeployMarker;
  /** What the load balancer was asked for last, and what it said. */
  lastLoadBalancerUpdate?: LoadBalancerUpdate;
  /** How far it has come. */
  deployProgress?: DeployProgress;
  /** Takes the place of the request when the deploy succeeds. */
  updatedRequest?: Request;
  /** Why its tasks are not placed, as far as the scheduler has looked; absent where none waits. */
  waitsBecause?: string;
}

export const PendingDeploy = record<PendingDeploy>('PendingDeploy');

/** Names one change of the load balancer. */
export interface LoadBalancerRequestId {
  /** What the change is about. */
  requestType: LoadBalancerRequestType;
  /** From 1; a change that failed is tried again under the next number. */
  attemptNumber: Int32;
  /** Of a task, or of a step of a deploy. */
  id: string;
}

/** How a change of the load balancer stands. */
export interface LoadBalancerUpdate {
  /** What became of it. */
  loadBalancerState: LoadBalancerState;
  /** When it was asked, in epoch milliseconds. */
  timestamp: Int64;
  /** How it was asked; PRE_ENQUEUE: it was not, yet. */
  method: LoadBalancerMethod;
  /** @deprecated Older name of loadBalancerState. Answers never have it. */
  state?: LoadBalancerState;
  /** The change. */
  loadBalancerRequestId: LoadBalancerRequestId;
  /** What the load balancer said, or why it could not be asked. */
  message?: string;
  /** Where it was asked. */
  uri?: string;
}
