import type {
  EmailDestination,
  RequestCleanupType,
  RequestEventType,
  RequestState,
  RequestType,
  ScheduleType,
  SlavePlacement,
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
}

export interface ShellCommand {
  name: string;
  options?: string[];
  user?: string;
  logfileName?: string;
}

export interface BounceRequest {
  incremental?: boolean;
  skipHealthchecks?: boolean;
  durationMillis?: number;
  actionId?: string;
  message?: string;
  runShellCommandBeforeKill?: ShellCommand;
}

export interface PauseRequest {
  killTasks?: boolean;
  durationMillis?: number;
  actionId?: string;
  message?: string;
  runShellCommandBeforeKill?: ShellCommand;
}

export interface UnpauseRequest {
  message?: string;
  actionId?: string;
  skipHealthchecks?: boolean;
}

export interface ExitCooldownRequest {
  message?: string;
  actionId?: string;
  skipHealthchecks?: boolean;
}

export interface ScaleRequest {
  instances?: number;
  durationMillis?: number;
  skipHealthchecks?: boolean;
  actionId?: string;
  message?: string;
  bounce?: boolean;
  incremental?: boolean;
  skipEmailNotification?: boolean;
}

export interface PriorityRequest {
  priority?: number;
  durationMillis?: number;
  actionId?: string;
  message?: string;
}

export interface SkipHealthchecksRequest {
  skipHealthchecks?: boolean;
  durationMillis?: number;
  actionId?: string;
  message?: string;
}

export interface DeleteRequestRequest {
  message?: string;
  actionId?: string;
  deleteFromLoadBalancer?: boolean;
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

export interface ExpiringBounce {
  requestId: string;
  deployId: string;
  user?: string;
  startMillis: number;
  expiringAPIRequestObject: BounceRequest;
  actionId: string;
}

export interface ExpiringPause {
  requestId: string;
  user?: string;
  startMillis: number;
  expiringAPIRequestObject: PauseRequest;
  actionId: string;
}

export interface ExpiringScale {
  requestId: string;
  user?: string;
  startMillis: number;
  expiringAPIRequestObject: ScaleRequest;
  revertToInstances?: number;
  actionId: string;
  bounce?: boolean;
}

export interface ExpiringPriority {
  requestId: string;
  user?: string;
  startMillis: number;
  expiringAPIRequestObject: PriorityRequest;
  revertToPriority?: number;
  actionId: string;
}

export interface ExpiringSkipHealthchecks {
  requestId: string;
  user?: string;
  startMillis: number;
  expiringAPIRequestObject: SkipHealthchecksRequest;
  revertToSkipHealthchecks?: boolean;
  actionId: string;
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
}

export interface PendingRequestParent {
  request: Request;
  state: RequestState;
  requestDeployState?: RequestDeployState;
  activeDeploy?: Deploy;
  pendingDeploy?: Deploy;
  pendingDeployState?: PendingDeploy;
  pendingRequest: PendingRequest;
  expiringBounce?: ExpiringBounce;
  expiringPause?: ExpiringPause;
  expiringScale?: ExpiringScale;
  expiringPriority?: ExpiringPriority;
  expiringSkipHealthchecks?: ExpiringSkipHealthchecks;
  taskIds?: TaskIdsByStatus;
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

export interface UpdateGroupsRequest {
  group?: string;
  readWriteGroups?: string[];
  readOnlyGroups?: string[];
  message?: string;
}
