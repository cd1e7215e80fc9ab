import type { DeployAcceptanceState, DeployFailureReason, DeployState, TaskFailureType, TaskState } from './enums.js';
import type { Deploy } from './deploy-spec.js';
import type { GateResult } from './gate.js';
import type { LoadBalancerUpdate } from './load-balancer.js';
import type { Request } from './request-spec.js';
import type { TaskId } from './task-ids.js';

export * from './deploy-spec.js';

export interface DeployMarker {
  requestId: string;
  deployId: string;
  timestamp: number;
  user?: string;
  message?: string;
}

export interface DeployProgress extends Partial<CanaryProgress> {
  targetActiveInstances: number;
  currentActiveInstances: number;
  deployInstanceCountPerStep: number;
  deployStepWaitTimeMs: number;
  stepComplete: boolean;
  autoAdvanceDeploySteps: boolean;
  failedDeployTasks: TaskId[];
  timestamp: number;
  /** Only of OLD_FIRST: the most instances that may be missing at a time. */
  maxUnavailable?: number;
}

/** Progress that only deploys with canaryDeploySettings have. */
export interface CanaryProgress {
  canary: boolean;
  stepLaunchComplete: boolean;
  /** By the name of the check. */
  stepAcceptanceResults: Record<string, DeployAcceptanceState>;
  acceptanceResultMessageHistory: string[];
  /** By the text of the load balancer request's id. */
  lbUpdates: Record<string, DeployProgressLbUpdate>;
  pendingLbUpdate?: LoadBalancerUpdate;
  /** Number of the step, from 1; only with gates. */
  step?: number;
}

export interface DeployProgressLbUpdate {
  loadBalancerUpdate: LoadBalancerUpdate;
  added: TaskId[];
  removed: TaskId[];
}

export interface DeployFailure {
  reason: DeployFailureReason;
  taskId?: TaskId;
  message?: string;
}

export interface DeployResult {
  deployState: DeployState;
  message?: string;
  lbUpdate?: LoadBalancerUpdate;
  deployFailures: DeployFailure[];
  timestamp: number;
}

export interface DeployStatistics {
  requestId: string;
  deployId: string;
  numSuccess: number;
  numFailures: number;
  numSequentialRetries: number;
  lastFinishAt?: number;
  lastTaskState?: TaskState;
  instanceSequentialFailureTimestamps: Record<string, number[]>;
  numTasks: number;
  averageRuntimeMillis?: number;
  averageSchedulingDelayMillis?: number;
  skippedRuns?: number;
  taskFailureEvents: TaskFailureEvent[];
}

export interface TaskFailureEvent {
  instance: number;
  timestamp: number;
  type: TaskFailureType;
}

export interface PendingDeploy {
  deployMarker: DeployMarker;
  lastLoadBalancerUpdate?: LoadBalancerUpdate;
  currentDeployState: DeployState;
  deployProgress?: DeployProgress;
  updatedRequest?: Request;
  /** Reason why its tasks are not placed, as far as the scheduler has checked. */
  waitsBecause?: string;
}

export interface DeployHistory {
  deployResult?: DeployResult;
  deployMarker: DeployMarker;
  deploy?: Deploy;
  deployStatistics?: DeployStatistics;
  /** Reason why a deploy in progress waits. */
  waitsBecause?: string;
  /** Gates that were opened, in their order; absent: none was. */
  gates?: GateResult[];
}

export interface DeployUpdate {
  deployMarker: DeployMarker;
  deploy?: Deploy;
  eventType: 'STARTING' | 'FINISHED';
  deployResult?: DeployResult;
}

/** Names a deploy: its id is only its request's own. */
export interface DeployKey {
  requestId: string;
  deployId: string;
}

/** Key of a deploy in maps. */
export const deployKeyText = ({ requestId, deployId }: DeployKey): string => `${requestId}-${deployId}`;
