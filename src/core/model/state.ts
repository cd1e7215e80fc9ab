import type { ConnectionState } from '../leadership/connection-state.js';
import type { DeployMarker } from './deploy.js';
import type { ActionType, DisasterType } from './enums.js';
import type { LapsingAction } from './request.js';
import type { PendingTaskId } from './task.js';

export interface HostState {
  master: boolean;
  uptime: number;
  driverStatus: ConnectionState;
  millisSinceLastOffer?: number;
  hostAddress: string;
  hostname: string;
  clusterConnected: boolean;
  clusterMaster?: string;
  offerCacheSize: number;
  availableCachedCpus: number;
  availableCachedMemory: number;
}

export interface State {
  activeTasks: number;
  launchingTasks: number;
  activeRequests: number;
  cooldownRequests: number;
  pausedRequests: number;
  scheduledTasks: number;
  pendingRequests: number;
  lbCleanupTasks: number;
  lbCleanupRequests: number;
  cleaningRequests: number;
  activeSlaves: number;
  deadSlaves: number;
  decommissioningSlaves: number;
  activeRacks: number;
  deadRacks: number;
  decommissioningRacks: number;
  cleaningTasks: number;
  hostStates: HostState[];
  oldestDeploy: number;
  numDeploys: number;
  oldestDeployStep: number;
  activeDeploys: DeployMarker[];
  lateTasks: number;
  listLateTasks: PendingTaskId[];
  onDemandLateTasks: number;
  onDemandListLateTasks: PendingTaskId[];
  futureTasks: number;
  maxTaskLag: number;
  generatedAt: number;
  overProvisionedRequestIds?: string[];
  underProvisionedRequestIds?: string[];
  overProvisionedRequests: number;
  underProvisionedRequests: number;
  finishedRequests: number;
  unknownRacks: number;
  unknownSlaves: number;
  minimumPriorityLevel?: number;
  avgStatusUpdateDelayMs: number;
  lastHeartbeatAt?: number;
  decomissioningSlaves: number;
  decomissioningRacks: number;
  allRequests: number;
  authDatastoreHealthy?: boolean;
  unhealthyTasks?: number;
  unjudgedTasks?: number;
}

export interface TaskReconciliationStatistics {
  taskReconciliationStartedAt: number;
  taskReconciliationDurationMillis: number;
  taskReconciliationIterations: number;
  taskReconciliationResponseCount: number;
  taskReconciliationResponseMax: number;
  taskReconciliationResponseMean: number;
  taskReconciliationResponseMin: number;
  taskReconciliationResponseP50: number;
  taskReconciliationResponseP75: number;
  taskReconciliationResponseP95: number;
  taskReconciliationResponseP98: number;
  taskReconciliationResponseP99: number;
  taskReconciliationResponseP999: number;
  taskReconciliationResponseStddev: number;
}

/** An action that is switched off. */
export interface DisabledAction {
  type: ActionType;
  /** Message for callers who try it. */
  message: string;
  user?: string;
  /** Switched on again by itself when no disaster is left. */
  automaticallyClearable: boolean;
  /** Epoch milliseconds from which on it does not count any more. */
  expiresAt?: number;
  /** Requests of these groups may take it. Absent: none may. */
  exceptGroups?: string[];
}

export interface Disaster {
  type: DisasterType;
  active: boolean;
}

/** Tasks that wait for their time or for a machine. */
export interface ScheduledTasksInfo {
  lateTasks: PendingTaskId[];
  onDemandLateTasks: PendingTaskId[];
  /** Tasks that are not late. */
  numFutureTasks: number;
  /** Lag of the latest task. */
  maxTaskLag: number;
  timestamp: number;
}

/** The cluster in figures at one moment. Losses are those since the point before. */
export interface DisasterDataPoint {
  /** Epoch milliseconds. */
  timestamp: number;
  numActiveTasks: number;
  numPendingTasks: number;
  /** Pending tasks that are overdue for longer than tolerated. */
  numLateTasks: number;
  /** Over all that are overdue. */
  avgTaskLagMillis: number;
  numLostTasks: number;
  numActiveSlaves: number;
  numLostSlaves: number;
}

/** As answers show it: with the later names of two figures. */
export interface ShownDataPoint extends DisasterDataPoint {
  numActiveAgents: number;
  numLostAgents: number;
}

export interface DisastersData {
  /** Newest first. */
  stats: ShownDataPoint[];
  disasters: Disaster[];
  automatedActionsDisabled: boolean;
}

/** Tasks of requests whose priority is below the minimum are not started. */
export interface PriorityFreeze extends LapsingAction {
  /** Above 0, at most 1. */
  minimumPriorityLevel: number;
  /** Kills running tasks below it, too. */
  killTasks: boolean;
}

/** A freeze in force. */
export interface PriorityFreezeParent {
  priorityFreeze: PriorityFreeze;
  /** Since when, in epoch milliseconds. */
  timestamp: number;
  user?: string;
}
