import type { TimeInZone } from '../schedules/next-times.js';
import type {
  EmailDestination,
  RequestCleanupType,
  RequestEventType,
  RequestState,
  RequestType,
  ScheduleType,
  SlavePlacement,
  UserAction,
} from './enums.js';
import type {
  ClusterArtifact,
  Deploy,
  DeployMarker,
  ObjstoreUploaderFile,
  PendingDeploy,
  Resources,
} from './deploy.js';
import type { PendingRequest, PendingTaskId, TaskId } from './task.js';

export interface Request {
  id: string;
  requestType: RequestType;
  owners?: string[];
  numRetriesOnFailure?: number;
  schedule?: string;
  instances?: number;
  /** The most instances that it may be given. Only SERVICE and WORKER. */
  maxScale?: number;
  rackSensitive?: boolean;
  loadBalanced?: boolean;
  killOldNonLongRunningTasksAfterMillis?: number;
  taskExecutionTimeLimitMillis?: number;
  scheduleType?: ScheduleType;
  quartzSchedule?: string;
  scheduleTimeZone?: string;
  rackAffinity?: string[];
  slavePlacement?: SlavePlacement;
  requiredSlaveAttributes?: Record<string, string>;
  allowedSlaveAttributes?: Record<string, string>;
  slaveAttributeMinimums?: Record<string, Record<string, number>>;
  scheduledExpectedRuntimeMillis?: number;
  waitAtLeastMillisAfterTaskFinishesForReschedule?: number;
  group?: string;
  readWriteGroups?: string[];
  readOnlyGroups?: string[];
  /** By group: the actions it may take, which no other group may. Absent: all who may change the request may take all. */
  actionPermissions?: Record<string, UserAction[]>;
  bounceAfterScale?: boolean;
  skipHealthchecks?: boolean;
  emailConfigurationOverrides?: Record<string, EmailDestination[]>;
  taskLogErrorRegex?: string;
  taskLogErrorRegexCaseSensitive?: boolean;
  taskPriorityLevel?: number;
  maxTasksPerOffer?: number;
  allowBounceToSameHost?: boolean;
  requiredRole?: string;
  dataCenter?: string;
  hideEvenNumberAcrossRacksHint?: boolean;
}

/** How many tasks a request wants: one unless it says otherwise. */
export const instancesOf = (request: Pick<Request, 'instances'> | undefined): number => request?.instances ?? 1;

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
  /** Of a deletion. */
  force?: boolean;
  waitForTasks?: boolean;
}

export interface ShellCommand {
  name: string;
  options?: string[];
  user?: string;
  logfileName?: string;
}

/** What an action may say that is undone by itself after a while. */
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

export interface RunNowRequest {
  message?: string;
  skipHealthchecks?: boolean;
  runId?: string;
  commandLineArgs?: string[];
  resources?: Resources;
  objstoreUploaderAdditionalFiles?: ObjstoreUploaderFile[];
  runAsUserOverride?: string;
  envOverrides?: Record<string, string>;
  requiredSlaveAttributeOverrides?: Record<string, string>;
  allowedSlaveAttributeOverrides?: Record<string, string>;
  extraArtifacts?: ClusterArtifact[];
  runAt?: number;
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
