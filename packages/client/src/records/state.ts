import type { DeployMarker, PendingDeploy } from './deploy-progress.js';
import type { SlavePlacement, Request } from './request.js';
import type { PendingTaskId, TaskIdsByStatus } from './task-ids.js';
import { type Int32, type Int64, record } from '../schema.js';
import type { Deploy } from './deploy.js';
import type {
  ExpiringBounce,
  ExpiringPause,
  ExpiringPriority,
  ExpiringScale,
  ExpiringSkipHealthchecks,
  RequestDeployState,
  RequestState,
  TimeInZone,
} from './request-state.js';

/** Limits that clients look at before they ask for something. */
export interface Limits {
  /** Slaves that may be decommissioned at once. */
  maxDecommissioningAgents: Int32;
}

export const Limits = record<Limits>('Limits');

/** What holds for the placement of all requests, whatever they say themselves. */
export interface PlacementOverride {
  /** The placement strategy in place of theirs; absent: each has its own. */
  slavePlacement?: SlavePlacement;
  /** Whether rackSensitive of requests has no effect. */
  ignoresRackSensitivity: boolean;
}

export const PlacementOverride = record<PlacementOverride>('PlacementOverride');

/** One instance of the service. */
export interface HostState {
  /** How long it has been running, in milliseconds. */
  uptime: Int64;
  /**
   * NOT_STARTED: never led. SUBSCRIBED: leads and hears of its machines. PAUSED_FOR_RECONNECT: leads, but no machine
   * answers. PAUSED_SUBSCRIBED: stopped to lead within the last five seconds. STOPPED: longer ago, or told to stop.
   */
  driverStatus: 'NOT_STARTED' | 'SUBSCRIBED' | 'PAUSED_SUBSCRIBED' | 'PAUSED_FOR_RECONNECT' | 'STOPPED';
  /** Time since a machine answered last, in milliseconds. */
  millisSinceLastOffer?: Int64;
  /** Machines it knows; 0 unless it leads. */
  offerCacheSize: Int32;
  /** It leads. */
  master: boolean;
  /** Host and port by which it is told to be reached. */
  hostAddress: string;
  /** Name of its host. */
  hostname: string;
  /** It leads and hears of at least one machine. */
  clusterConnected: boolean;
  /** Host and port of the instance whose orders the machines take: the one that leads. Absent while none does. */
  clusterMaster?: string;
  /** Cores of these machines that no task has asked for. */
  availableCachedCpus: number;
  /** Memory of these machines that no task has asked for, in MB. */
  availableCachedMemory: number;
}

/** The service in figures. */
export interface State {
  /** Tasks that run. */
  activeTasks: Int32;
  /** Tasks that were launched and do not run yet. */
  launchingTasks: Int32;
  /** Requests that are ACTIVE or DEPLOYING_TO_UNPAUSE. */
  activeRequests: Int32;
  /** Requests in SYSTEM_COOLDOWN. */
  cooldownRequests: Int32;
  /** Requests that are PAUSED. */
  pausedRequests: Int32;
  /** Tasks that wait for their time or for a machine. */
  scheduledTasks: Int32;
  /** Entries in the queue of the scheduler. */
  pendingRequests: Int32;
  /** Tasks that wait to be taken off the load balancer. */
  lbCleanupTasks: Int32;
  /** Requests that wait to be taken off the load balancer. */
  lbCleanupRequests: Int32;
  /** Cleanups of requests that are under way. */
  cleaningRequests: Int32;
  /** Slaves that are ACTIVE. */
  activeSlaves: Int32;
  /** Slaves that are DEAD. */
  deadSlaves: Int32;
  /** Slaves whose decommission has begun or is done. */
  decommissioningSlaves: Int32;
  /** Racks that are ACTIVE. */
  activeRacks: Int32;
  /** Racks that are DEAD. */
  deadRacks: Int32;
  /** Racks whose decommission has begun or is done. */
  decommissioningRacks: Int32;
  /** Tasks that have to go. */
  cleaningTasks: Int32;
  /** Age of the oldest deploy in progress, in milliseconds. */
  oldestDeploy: Int64;
  /** Deploys in progress. */
  numDeploys: Int32;
  /** Age of the oldest step of a deploy in progress, in milliseconds. */
  oldestDeployStep: Int64;
  /** Tasks that should run by now and do not. */
  lateTasks: Int32;
  /** The same of ON_DEMAND requests that have room for more tasks. */
  onDemandLateTasks: Int32;
  /** Tasks that wait and are not late. */
  futureTasks: Int32;
  /** Delay of the latest task, in milliseconds. */
  maxTaskLag: Int64;
  /** When this was computed, in epoch milliseconds. */
  generatedAt: Int64;
  /** How many requests have more tasks than instances. */
  overProvisionedRequests: Int32;
  /** How many have fewer. */
  underProvisionedRequests: Int32;
  /** Requests that are FINISHED. */
  finishedRequests: Int32;
  /** Racks that are FROZEN, or were not seen since the start. */
  unknownRacks: Int32;
  /** Slaves that are FROZEN, or were not seen since the start. */
  unknownSlaves: Int32;
  /** Tasks of requests with a lower priority are not started: there is a priority freeze. */
  minimumPriorityLevel?: number;
  /**
   * How long the newest status updates took from the event on the machine until they were stored, in milliseconds; 0
   * when there were none.
   */
  avgStatusUpdateDelayMs: Int64;
  /** When any machine answered last, in epoch milliseconds. */
  lastHeartbeatAt?: Int64;
  /** The same as decommissioningSlaves. */
  decomissioningSlaves: Int32;
  /** The same as decommissioningRacks. */
  decomissioningRacks: Int32;
  /** Requests that are active, paused or in cooldown. */
  allRequests: Int32;
  /** The instances of the service. */
  hostStates: HostState[];
  /** The deploys in progress, oldest first. */
  activeDeploys: DeployMarker[];
  /** Their ids. */
  listLateTasks: PendingTaskId[];
  /** Their ids. */
  onDemandListLateTasks: PendingTaskId[];
  /** Requests with more tasks than instances. */
  overProvisionedRequestIds?: string[];
  /** Requests with fewer tasks than instances, although nothing is under way to change that. */
  underProvisionedRequestIds?: string[];
  /** Whether the directory of users answers. Absent where there is none. */
  authDatastoreHealthy?: boolean;
}

export const State = record<State>('State');

/** The tasks that wait for their time or for a machine. */
export interface ScheduledTasksInfo {
  /** How many wait and are not late. */
  numFutureTasks: Int32;
  /** Delay of the latest task, in milliseconds. */
  maxTaskLag: Int64;
  /** When this was computed, in epoch milliseconds. */
  timestamp: Int64;
  /** Those that should run by now and do not. */
  lateTasks: PendingTaskId[];
  /** The same of ON_DEMAND requests that have room for more tasks. */
  onDemandLateTasks: PendingTaskId[];
}

export const ScheduledTasksInfo = record<ScheduledTasksInfo>('ScheduledTasksInfo');

/** How the last comparison of our tasks with those of the machines went. Times in milliseconds. */
export interface TaskReconciliationStatistics {
  /** When it began, in epoch milliseconds. */
  taskReconciliationStartedAt: Int64;
  /** How long it took. */
  taskReconciliationDurationMillis: Int64;
  /** How many times the machines were asked. */
  taskReconciliationIterations: Int32;
  /** Tasks that were answered for. */
  taskReconciliationResponseCount: Int64;
  /** Longest time to an answer. */
  taskReconciliationResponseMax: Int64;
  /** Shortest time to an answer. */
  taskReconciliationResponseMin: Int64;
  /** Average time to an answer. */
  taskReconciliationResponseMean: number;
  /** Half of the answers came within this time. */
  taskReconciliationResponseP50: number;
  /** 75 % came within this time. */
  taskReconciliationResponseP75: number;
  /** 95 % came within this time. */
  taskReconciliationResponseP95: number;
  /** 98 % came within this time. */
  taskReconciliationResponseP98: number;
  /** 99 % came within this time. */
  taskReconciliationResponseP99: number;
  /** 99.9 % came within this time. */
  taskReconciliationResponseP999: number;
  /** Standard deviation of the times. */
  taskReconciliationResponseStddev: number;
}

export const TaskReconciliationStatistics = record<TaskReconciliationStatistics>('TaskReconciliationStatistics');

/** The request while an earlier deploy of it is deployed again, and under which id. */
export interface Rollback {
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
  /** The new deploy. */
  deployId: string;
  /** The earlier deploy that it repeats. */
  rolledBackTo: string;
}

export const Rollback = record<Rollback>('Rollback');
