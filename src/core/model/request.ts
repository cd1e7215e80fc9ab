import type { RequestCleanupType, RequestEventType, RequestState } from './enums.js';
import type { Deploy, DeployMarker, PendingDeploy } from './deploy.js';
import type { Request, ShellCommand } from './request-spec.js';
import type { PendingRequest } from './task.js';
import type { PendingTaskId, TaskId } from './task-ids.js';

export type { RunNowRequest } from './deploy-spec.js';
export * from './request-spec.js';

export interface RequestHistory {
  createdAt: number;
  user?: string;
  eventType: RequestEventType;
  request: Request;
  message?: string;
}

export interface RequestCleanup {
  user?: string;
  cleanupType: RequestCleanupType;
  timestamp: number;
  killTasks?: boolean;
  removeFromLoadBalancer?: boolean;
  requestId: string;
  deployId?: string;
  skipHealthchecks?: boolean;
  message?: string;
  actionId?: string;
  runShellCommandBeforeKill?: ShellCommand;
  /** Sent with a deletion. */
  force?: boolean;
  waitForTasks?: boolean;
}

/** Options of an action that expires. */
export interface LapsingAction {
  /** Milliseconds after which it is undone; absent: it stays. */
  durationMillis?: number;
  actionId?: string;
  message?: string;
}

export interface BounceRequest extends LapsingAction {
  incremental?: boolean;
  skipHealthchecks?: boolean;
  runShellCommandBeforeKill?: ShellCommand;
}

export interface PauseRequest extends LapsingAction {
  killTasks?: boolean;
  runShellCommandBeforeKill?: ShellCommand;
}

export interface UnpauseRequest {
  message?: string;
  actionId?: string;
  skipHealthchecks?: boolean;
}

export type ExitCooldownRequest = UnpauseRequest;

export interface ScaleRequest extends LapsingAction {
  instances?: number;
  skipHealthchecks?: boolean;
  bounce?: boolean;
  incremental?: boolean;
  skipEmailNotification?: boolean;
}

export interface PriorityRequest extends LapsingAction {
  priority?: number;
}

export interface SkipHealthchecksRequest extends LapsingAction {
  skipHealthchecks?: boolean;
}

export interface DeleteRequestRequest {
  message?: string;
  actionId?: string;
  deleteFromLoadBalancer?: boolean;
  /** SIGKILL at once, without the grace of a kill. */
  force?: boolean;
  /** Runs end by themselves; nothing new starts meanwhile. */
  waitForTasks?: boolean;
}

/** A change that will be undone by itself. */
export interface ExpiringAction<Asked extends LapsingAction> {
  requestId: string;
  user?: string;
  startMillis: number;
  expiringAPIRequestObject: Asked;
  actionId: string;
}

export interface ExpiringBounce extends ExpiringAction<BounceRequest> {
  deployId: string;
}

export type ExpiringPause = ExpiringAction<PauseRequest>;

export interface ExpiringScale extends ExpiringAction<ScaleRequest> {
  revertToInstances?: number;
  bounce?: boolean;
}

export interface ExpiringPriority extends ExpiringAction<PriorityRequest> {
  revertToPriority?: number;
}

export interface ExpiringSkipHealthchecks extends ExpiringAction<SkipHealthchecksRequest> {
  revertToSkipHealthchecks?: boolean;
}

export interface RequestDeployState {
  requestId: string;
  activeDeploy?: DeployMarker;
  pendingDeploy?: DeployMarker;
}

export interface RequestParent {
  request: Request;
  state: RequestState;
  requestDeployState?: RequestDeployState;
  activeDeploy?: Deploy;
  pendingDeploy?: Deploy;
  pendingDeployState?: PendingDeploy;
  expiringBounce?: ExpiringBounce;
  expiringPause?: ExpiringPause;
  expiringScale?: ExpiringScale;
  expiringPriority?: ExpiringPriority;
  expiringSkipHealthchecks?: ExpiringSkipHealthchecks;
  taskIds?: TaskIdsByStatus;
  /** The next times of its schedule; where one request is answered, and it may run. */
  nextRuns?: TimeInZone[];
}

export interface PendingRequestParent extends RequestParent {
  pendingRequest: PendingRequest;
}

export interface RequestWithState {
  request: Request;
  state: RequestState;
  timestamp: number;
}

export interface RequestBatch {
  requests: RequestParent[];
  notFound: string[];
}

export interface TaskIdsByStatus {
  healthy: TaskId[];
  notYetHealthy: TaskId[];
  pending: PendingTaskId[];
  cleaning: TaskId[];
  loadBalanced: TaskId[];
  killed: TaskId[];
}

export interface TaskCounts {
  requestId: string;
  active: number;
  pending: number;
  cleaning: number;
}

export interface UpdateGroupsRequest {
  group?: string;
  readWriteGroups?: string[];
  readOnlyGroups?: string[];
  message?: string;
}

/** A moment as programs and people read it. */
export interface TimeInZone {
  /** Epoch milliseconds. */
  at: number;
  /** ISO 8601 in UTC. */
  utc: string;
  /** Local time of the zone, with its offset. */
  local: string;
  timeZone: string;
}
