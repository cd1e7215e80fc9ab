import { ApiProperty } from '@nestjs/swagger';
import { type ConnectionState, connectionStates } from '../../../core/leadership/connection-state.js';
import type { HostState, ScheduledTasksInfo, State, TaskReconciliationStatistics } from '../../../core/model/state.js';
import { QueryBoolean } from '../../../platform/http/query.js';
import { Since } from '../../../platform/http/since.js';
import { DeployMarkerDto } from '../../deploys/dto/pending-deploy.dto.js';
import { PendingTaskIdDto } from '../../tasks/dto/task-id.dto.js';

const int32 = { type: 'integer', format: 'int32' } as const;
const int64 = { type: 'integer', format: 'int64' } as const;

/** Limits the age of the state. */
export class ProvisioningQuery {
  /** Compute it now, rather than answer one that was computed within the last half minute. */
  @QueryBoolean()
  skipCache?: boolean;
}

/** Limits the age of the state, and its detail. */
export class StateQuery extends ProvisioningQuery {
  /** Add the ids of requests with too many or too few tasks when the state is computed now. */
  @QueryBoolean()
  includeRequestIds?: boolean;
}

/** One instance of the service. */
export class HostStateDto implements HostState {
  /** It leads. */
  master: boolean;
  /** Time for which it has been running, in milliseconds. */
  @ApiProperty(int64)
  uptime: number;
  /**
   * NOT_STARTED: never led. SUBSCRIBED: leads and hears of its machines. PAUSED_FOR_RECONNECT: leads, but no machine
   * answers. PAUSED_SUBSCRIBED: stopped to lead within the last five seconds. STOPPED: longer ago, or told to stop.
   */
  @ApiProperty({ enum: connectionStates })
  driverStatus: ConnectionState;
  /** Time since a machine answered last, in milliseconds. */
  @ApiProperty(int64)
  millisSinceLastOffer?: number;
  /** Host and port by which it is told to be reached. */
  hostAddress: string;
  /** Name of its host. */
  hostname: string;
  /** It leads and hears of at least one machine. */
  clusterConnected: boolean;
  /** Host and port of the instance whose orders the machines take: the one that leads. Absent while none does. */
  clusterMaster?: string;
  /** Machines it knows; 0 unless it leads. */
  @ApiProperty(int32)
  offerCacheSize: number;
  /** Cores of these machines that no task has asked for. */
  availableCachedCpus: number;
  /** Memory of these machines that no task has asked for, in MB. */
  availableCachedMemory: number;
}

/** The service in figures. */
export class StateDto implements State {
  /** Tasks that run. */
  @ApiProperty(int32)
  activeTasks: number;
  /** Tasks that were launched and do not run yet. */
  @ApiProperty(int32)
  launchingTasks: number;
  /** Requests that are ACTIVE or DEPLOYING_TO_UNPAUSE. */
  @ApiProperty(int32)
  activeRequests: number;
  /** Requests in SYSTEM_COOLDOWN. */
  @ApiProperty(int32)
  cooldownRequests: number;
  /** Requests that are PAUSED. */
  @ApiProperty(int32)
  pausedRequests: number;
  /** Tasks that wait for their time or for a machine. */
  @ApiProperty(int32)
  scheduledTasks: number;
  /** Entries in the queue of the scheduler. */
  @ApiProperty(int32)
  pendingRequests: number;
  /** Tasks that wait to be taken off the load balancer. */
  @ApiProperty(int32)
  lbCleanupTasks: number;
  /** Requests that wait to be taken off the load balancer. */
  @ApiProperty(int32)
  lbCleanupRequests: number;
  /** Cleanups of requests that are under way. */
  @ApiProperty(int32)
  cleaningRequests: number;
  /** Slaves that are ACTIVE. */
  @ApiProperty(int32)
  activeSlaves: number;
  /** Slaves that are DEAD. */
  @ApiProperty(int32)
  deadSlaves: number;
  /** Slaves whose decommission has begun or is done. */
  @ApiProperty(int32)
  decommissioningSlaves: number;
  /** Racks that are ACTIVE. */
  @ApiProperty(int32)
  activeRacks: number;
  /** Racks that are DEAD. */
  @ApiProperty(int32)
  deadRacks: number;
  /** Racks whose decommission has begun or is done. */
  @ApiProperty(int32)
  decommissioningRacks: number;
  /** Tasks that have to go. */
  @ApiProperty(int32)
  cleaningTasks: number;
  /** The instances of the service. */
  hostStates: HostStateDto[];
  /** Age of the oldest deploy in progress, in milliseconds. */
  @ApiProperty(int64)
  oldestDeploy: number;
  /** Deploys in progress. */
  @ApiProperty(int32)
  numDeploys: number;
  /** Age of the oldest step of a deploy in progress, in milliseconds. */
  @ApiProperty(int64)
  oldestDeployStep: number;
  /** The deploys in progress, oldest first. */
  activeDeploys: DeployMarkerDto[];
  /** Tasks that should run by now and do not. */
  @ApiProperty(int32)
  lateTasks: number;
  /** Their ids. */
  listLateTasks: PendingTaskIdDto[];
  /** Late tasks of ON_DEMAND requests that have room for more tasks. */
  @ApiProperty(int32)
  onDemandLateTasks: number;
  /** Their ids. */
  onDemandListLateTasks: PendingTaskIdDto[];
  /** Tasks that wait and are not late. */
  @ApiProperty(int32)
  futureTasks: number;
  /** Delay of the latest task, in milliseconds. */
  @ApiProperty(int64)
  maxTaskLag: number;
  /** Time of the computation, in epoch milliseconds. */
  @ApiProperty(int64)
  generatedAt: number;
  /** Requests with more tasks than instances. */
  overProvisionedRequestIds?: string[];
  /** Requests with fewer tasks than instances, although nothing is under way to change that. */
  underProvisionedRequestIds?: string[];
  /** Number of requests with more tasks than instances. */
  @ApiProperty(int32)
  overProvisionedRequests: number;
  /** Number of requests with fewer. */
  @ApiProperty(int32)
  underProvisionedRequests: number;
  /** Requests that are FINISHED. */
  @ApiProperty(int32)
  finishedRequests: number;
  /** Racks that are FROZEN, or were not seen since the start. */
  @ApiProperty(int32)
  unknownRacks: number;
  /** Slaves that are FROZEN, or were not seen since the start. */
  @ApiProperty(int32)
  unknownSlaves: number;
  /** Tasks of requests with a lower priority are not started: there is a priority freeze. */
  @ApiProperty({ type: 'number', format: 'double' })
  minimumPriorityLevel?: number;
  /**
   * Average time that the newest status updates took from the event on the machine until they were stored, in
   * milliseconds; 0 when there were none.
   */
  @ApiProperty(int64)
  avgStatusUpdateDelayMs: number;
  /** Time of the newest answer of any machine, in epoch milliseconds. */
  @ApiProperty(int64)
  lastHeartbeatAt?: number;
  /** Equal to decommissioningSlaves. */
  @ApiProperty(int32)
  decomissioningSlaves: number;
  /** Equal to decommissioningRacks. */
  @ApiProperty(int32)
  decomissioningRacks: number;
  /** Requests that are active, paused or in cooldown. */
  @ApiProperty(int32)
  allRequests: number;
  /** True if the directory of users answers. Absent where there is none. */
  authDatastoreHealthy?: boolean;
  /** Tasks that fail their liveness checks. Absent: none does. */
  @Since('muster')
  @ApiProperty(int32)
  unhealthyTasks?: number;
  /** Those of them that are not replaced because the leader reaches none of the tasks that it checks. Absent: none. */
  @Since('muster')
  @ApiProperty(int32)
  unjudgedTasks?: number;
}

/** The tasks that wait for their time or for a machine. */
export class ScheduledTasksInfoDto implements ScheduledTasksInfo {
  /** Tasks that should run by now and do not. */
  lateTasks: PendingTaskIdDto[];
  /** Late tasks of ON_DEMAND requests that have room for more tasks. */
  onDemandLateTasks: PendingTaskIdDto[];
  /** Number of tasks that wait and are not late. */
  @ApiProperty(int32)
  numFutureTasks: number;
  /** Delay of the latest task, in milliseconds. */
  @ApiProperty(int64)
  maxTaskLag: number;
  /** Time of the computation, in epoch milliseconds. */
  @ApiProperty(int64)
  timestamp: number;
}

/** Result of the last comparison of stored tasks with those of the machines. Times in milliseconds. */
export class TaskReconciliationStatisticsDto implements TaskReconciliationStatistics {
  /** Time at which it began, in epoch milliseconds. */
  @ApiProperty(int64)
  taskReconciliationStartedAt: number;
  /** Time that it took. */
  @ApiProperty(int64)
  taskReconciliationDurationMillis: number;
  /** Number of times the machines were asked. */
  @ApiProperty(int32)
  taskReconciliationIterations: number;
  /** Tasks that were answered for. */
  @ApiProperty(int64)
  taskReconciliationResponseCount: number;
  /** Longest time to an answer. */
  @ApiProperty(int64)
  taskReconciliationResponseMax: number;
  /** Average time to an answer. */
  taskReconciliationResponseMean: number;
  /** Shortest time to an answer. */
  @ApiProperty(int64)
  taskReconciliationResponseMin: number;
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
