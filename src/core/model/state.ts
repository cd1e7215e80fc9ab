import type { ConnectionState } from '../leadership/index.js';
import type { DeployMarker } from './deploy.js';
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
