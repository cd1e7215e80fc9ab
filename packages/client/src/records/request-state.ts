import type { ClusterArtifact, ObjstoreUploaderFile } from './artifacts.js';
import type { Deploy, Resources } from './deploy.js';
import type { DeployMarker, PendingDeploy } from './deploy-progress.js';
import type { Request } from './request.js';
import type {
  BounceRequest,
  PauseRequest,
  PriorityRequest,
  ScaleRequest,
  ShellCommand,
  SkipHealthchecksRequest,
} from './request-actions.js';
import type { PendingType, TaskIdsByStatus } from './task-ids.js';
import { type Int32, type Int64, record, type WordOf, words } from '../schema.js';

/** What may happen to a request: ACTIVE ones get tasks, PAUSED ones do not. */
export const RequestState = words(
  'ACTIVE',
  'DELETING',
  'DELETED',
  'PAUSED',
  'SYSTEM_COOLDOWN',
  'FINISHED',
  'DEPLOYING_TO_UNPAUSE',
);
export type RequestState = WordOf<typeof RequestState>;

/** What is to be done with a whole request. */
export type RequestCleanupType = 'DELETING' | 'PAUSING' | 'BOUNCE' | 'INCREMENTAL_BOUNCE';

/** A bounce that is given up when it takes too long. */
export interface ExpiringBounce {
  /** When it was made, in epoch milliseconds. */
  startMillis: Int64;
  /** The deploy whose tasks are replaced. */
  deployId: string;
  /** What was asked for. */
  expiringAPIRequestObject: BounceRequest;
  /** Id of the request. */
  requestId: string;
  /** Who made the change. */
  user?: string;
  /** Id of the action. */
  actionId: string;
}

/** A pause that ends by itself. */
export interface ExpiringPause {
  /** When it was made, in epoch milliseconds. */
  startMillis: Int64;
  /** What was asked for. */
  expiringAPIRequestObject: PauseRequest;
  /** Id of the request. */
  requestId: string;
  /** Who made the change. */
  user?: string;
  /** Id of the action. */
  actionId: string;
}

/** A number of instances that holds for a while. */
export interface ExpiringScale {
  /** When it was made, in epoch milliseconds. */
  startMillis: Int64;
  /** The number that is restored; absent: none, which means one. */
  revertToInstances?: Int32;
  /** What was asked for. */
  expiringAPIRequestObject: ScaleRequest;
  /** Bounce again when the number is restored. */
  bounce?: boolean;
  /** Id of the request. */
  requestId: string;
  /** Who made the change. */
  user?: string;
  /** Id of the action. */
  actionId: string;
}

/** A priority that holds for a while. */
export interface ExpiringPriority {
  /** When it was made, in epoch milliseconds. */
  startMillis: Int64;
  /** The taskPriorityLevel that is restored; absent: none, which means that of the request's type. */
  revertToPriority?: number;
  /** What was asked for. */
  expiringAPIRequestObject: PriorityRequest;
  /** Id of the request. */
  requestId: string;
  /** Who made the change. */
  user?: string;
  /** Id of the action. */
  actionId: string;
}

/** Health checks that are skipped, or not, for a while. */
export interface ExpiringSkipHealthchecks {
  /** When it was made, in epoch milliseconds. */
  startMillis: Int64;
  /** What was asked for. */
  expiringAPIRequestObject: SkipHealthchecksRequest;
  /** The value that is restored; absent: none. */
  revertToSkipHealthchecks?: boolean;
  /** Id of the request. */
  requestId: string;
  /** Who made the change. */
  user?: string;
  /** Id of the action. */
  actionId: string;
}

/** A wish that the tasks of a request be looked at, waiting for the scheduler. */
export interface PendingRequest {
  /** When the wish arose, in epoch milliseconds. */
  timestamp: Int64;
  /** Why. */
  pendingType: PendingType;
  /** When to run, in epoch milliseconds. */
  runAt?: Int64;
  /** Id of the request. */
  requestId: string;
  /** Deploy that is to run. */
  deployId: string;
  /** Who asked for it. */
  user?: string;
  /** Arguments appended to the command. */
  cmdLineArgsList?: string[];
  /** Id to track the run by. */
  runId?: string;
  /** The tasks count as healthy without being checked. */
  skipHealthchecks?: boolean;
  /** What the user said about it. */
  message?: string;
  /** Id of the action that caused it. */
  actionId?: string;
  /** Resources in place of the deploy's. */
  resources?: Resources;
  /** Further files to upload to the object store. */
  objstoreUploaderAdditionalFiles?: ObjstoreUploaderFile[];
  /** User to run as, in place of the deploy's. */
  runAsUserOverride?: string;
  /** Environment variables in place of, or in addition to, the deploy's. */
  envOverrides?: Record<string, string>;
  /** Attributes that the machine must have, in place of the request's. */
  requiredSlaveAttributeOverrides?: Record<string, string>;
  /** Attributes that open reserved machines, in place of the request's. */
  allowedSlaveAttributeOverrides?: Record<string, string>;
  /** Further files to fetch into the sandbox. */
  extraArtifacts?: ClusterArtifact[];
  /** How often the run was tried again because it had failed. */
  retries?: Int32;
}
export const PendingRequest = record<PendingRequest>('PendingRequest');

/** An order for a whole request that the cleaner has not carried out yet. */
export interface RequestCleanup {
  /** What is to be done. */
  cleanupType: RequestCleanupType;
  /** When it was given, in epoch milliseconds. */
  timestamp: Int64;
  /** Who gave it. */
  user?: string;
  /** Of a pause or deletion: kill the tasks at once. */
  killTasks?: boolean;
  /** Of a deletion: remove the service from the load balancer as well. */
  removeFromLoadBalancer?: boolean;
  /** Id of the request. */
  requestId: string;
  /** Of a bounce: the deploy whose tasks are replaced. */
  deployId?: string;
  /** Of a bounce: the new tasks count as healthy without being checked. */
  skipHealthchecks?: boolean;
  /** What the user said about it. */
  message?: string;
  /** Id of the action that caused it. */
  actionId?: string;
  /** Command to run in each task before it is killed. */
  runShellCommandBeforeKill?: ShellCommand;
  /** Of a deletion: its tasks end at once, by SIGKILL. */
  force?: boolean;
  /** Of a deletion: it waits for runs to end by themselves. */
  waitForTasks?: boolean;
}
export const RequestCleanup = record<RequestCleanup>('RequestCleanup');

/** Which deploys of a request count. Absent while none does. */
export interface RequestDeployState {
  /** Id of the request. */
  requestId: string;
  /** The deploy that runs. */
  activeDeploy?: DeployMarker;
  /** The deploy in progress. */
  pendingDeploy?: DeployMarker;
}

/** A moment as programs and people read it. */
export interface TimeInZone {
  /** Epoch milliseconds. */
  at: Int64;
  /** ISO 8601 in UTC. */
  utc: string;
  /** The same as the clocks of the zone show it, with their offset. */
  local: string;
  /** The zone: that of the schedule. */
  timeZone: string;
}

/** A request and what goes on around it. Lists leave out deploys, and tasks too unless they are asked for. */
export interface RequestParent {
  /** What may happen to it now: ACTIVE requests get tasks, PAUSED ones do not. */
  state: RequestState;
  /** The priority that holds for a while. An addition of version 1.5 of this API. */
  expiringPriority?: ExpiringPriority;
  /** The request itself. */
  request: Request;
  /** Which of its deploys count. Absent while none does. */
  requestDeployState?: RequestDeployState;
  /** The deploy that runs. */
  activeDeploy?: Deploy;
  /** The deploy in progress. */
  pendingDeploy?: Deploy;
  /** How far the deploy in progress has come. */
  pendingDeployState?: PendingDeploy;
  /** The bounce under way and its time limit. */
  expiringBounce?: ExpiringBounce;
  /** The pause that ends by itself. */
  expiringPause?: ExpiringPause;
  /** The number of instances that holds for a while. */
  expiringScale?: ExpiringScale;
  /** The skip of health checks that holds for a while. */
  expiringSkipHealthchecks?: ExpiringSkipHealthchecks;
  /** Its tasks, by what can be expected of them. */
  taskIds?: TaskIdsByStatus;
  /** When it runs next by its schedule: up to five times. Only of a SCHEDULED request that may run; in lists where `nextRuns` is asked for. */
  nextRuns?: TimeInZone[];
}
export const RequestParent = record<RequestParent>('RequestParent');

/** The same with the run that was queued. */
export interface PendingRequestParent {
  /** What may happen to it now: ACTIVE requests get tasks, PAUSED ones do not. */
  state: RequestState;
  /** The priority that holds for a while. An addition of version 1.5 of this API. */
  expiringPriority?: ExpiringPriority;
  /** The request itself. */
  request: Request;
  /** Which of its deploys count. Absent while none does. */
  requestDeployState?: RequestDeployState;
  /** The deploy that runs. */
  activeDeploy?: Deploy;
  /** The deploy in progress. */
  pendingDeploy?: Deploy;
  /** How far the deploy in progress has come. */
  pendingDeployState?: PendingDeploy;
  /** The bounce under way and its time limit. */
  expiringBounce?: ExpiringBounce;
  /** The pause that ends by itself. */
  expiringPause?: ExpiringPause;
  /** The number of instances that holds for a while. */
  expiringScale?: ExpiringScale;
  /** The skip of health checks that holds for a while. */
  expiringSkipHealthchecks?: ExpiringSkipHealthchecks;
  /** Its tasks, by what can be expected of them. */
  taskIds?: TaskIdsByStatus;
  /** When it runs next by its schedule: up to five times. Only of a SCHEDULED request that may run; in lists where `nextRuns` is asked for. */
  nextRuns?: TimeInZone[];
  /** The run that was queued. */
  pendingRequest: PendingRequest;
}
export const PendingRequestParent = record<PendingRequestParent>('PendingRequestParent');

/** A request without what goes on around it. */
export interface RequestWithState {
  /** What may happen to it now. */
  state: RequestState;
  /** When it was changed last, in epoch milliseconds. */
  timestamp: Int64;
  /** The request itself. */
  request: Request;
}
export const RequestWithState = record<RequestWithState>('RequestWithState');

/** Requests that were asked for together. */
export interface RequestBatch {
  /** Those there are, in the order of ids. */
  requests: RequestParent[];
  /** Ids of those there are not. */
  notFound: string[];
}
export const RequestBatch = record<RequestBatch>('RequestBatch');
