import { ApiProperty } from '@nestjs/swagger';
import {
  deployStates,
  pendingTypes,
  requestStates,
  type DeployState,
  type PendingType,
  type RequestState,
  sickTaskWaits,
  type SickTaskWait,
  taskStates,
  type TaskState,
} from '../../../core/model/enums.js';
import {
  rejectionReasons,
  waitingReasons,
  type Rejection,
  type RejectionReason,
  type WaitingReason,
} from '../../../core/placement/index.js';
import { gateStates, gateTypes, type GateState, type GateType } from '../../../core/model/gate.js';
import { GateMeasurementDto } from '../../../modules/deploys/dto/gate.dto.js';
import { AutoscaleStatusDto } from '../../../modules/requests/dto/autoscale-status.dto.js';
import { TimeInZoneDto } from '../../../modules/requests/dto/request-parent.dto.js';
import { PendingTaskIdDto, TaskIdDto } from '../../../modules/tasks/dto/task-id.dto.js';
import { TaskProgramDto } from '../../../modules/tasks/programs/task-program.dto.js';

/** Slaves that cannot take a task, all for the same reason. */
export class RejectionDto implements Rejection {
  /** The first reason that holds against each of them. */
  @ApiProperty({ enum: rejectionReasons, enumName: 'RejectionReason' })
  reason: RejectionReason;
  /** Number of slaves. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  slaves: number;
  /** Amount that the task asks for, where they have too little: in cores, MB or ports. */
  asked?: number;
  /** Amount that the largest of them has in all. */
  largest?: number;
  /** The most that one of them has free. */
  free?: number;
  /** Reasons of their cluster with the ids of the slaves, the first few of them, where it has closed them. */
  because?: string;
}

/** Reason why a pending task is not running. */
export class TaskExplanationDto {
  /** The task. */
  pendingTaskId: PendingTaskIdDto;
  /** Kind of reason; PLACEABLE: it waits for nothing, the next round places it. */
  @ApiProperty({ enum: waitingReasons, enumName: 'WaitingReason' })
  reason: WaitingReason;
  /** Reason as a sentence. */
  message: string;
  /** Slaves that were looked at; 0 when it waits for something else. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  slaves: number;
  /** Number of slaves that could take it now. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  fitting: number;
  /** The other ones by reason, most frequent first. */
  rejections: RejectionDto[];
  /** It asks for more than any of the slaves has in all, so it waits until there is a greater one. */
  neverFits: boolean;
  /**
   * Tasks that hold its concurrency group, the oldest first, at most 100, of requests that the caller may read. Only where it waits
   * for these.
   */
  heldBy?: string[];
}

/** Why a task that is due is not running, as the scheduler saw it last. */
export class NotedReasonDto {
  /** The task. */
  pendingTaskId: PendingTaskIdDto;
  /** What it waits for. */
  @ApiProperty({ enum: waitingReasons, enumName: 'WaitingReason' })
  reason: WaitingReason;
  /** The same as a sentence. */
  message: string;
  /** Slaves that were looked at; 0 when it waits for something else. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  slaves: number;
  /** Those that cannot take it by reason, most frequent first. */
  rejections: RejectionDto[];
  /** When this became so, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  at: number;
}

/** An entry of the pending queue: it leads to pending tasks. */
export class QueuedEntryDto {
  /** Deploy that it is about. */
  deployId: string;
  /** Kind of event that made the entry. */
  @ApiProperty({ enum: pendingTypes, enumName: 'PendingType' })
  pendingType: PendingType;
  /** Since when it waits, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  timestamp: number;
  /** Reason for which it waits. */
  message: string;
}

/** Failure of the newest deploy. */
export class FailedDeployDto {
  /** The deploy. */
  deployId: string;
  /** State in which it ended. */
  @ApiProperty({ enum: deployStates, enumName: 'DeployState' })
  deployState: DeployState;
  /** Text that was given with it. */
  message?: string;
  /** The first of its tasks that failed. */
  taskId?: TaskIdDto;
  /** Log or field to look at first to find out why. */
  lookAtFirst: string;
}

/** A task whose launch its machine has not answered. */
export class UnansweredLaunchDto {
  /** The task. */
  taskId: TaskIdDto;
  /** When it was placed, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  launchedAt: number;
  /** Why there is no answer, as a sentence. */
  message: string;
}

/** A task that its machine has taken on, and that does not run yet. */
export class StartingTaskDto {
  /** The task. */
  taskId: TaskIdDto;
  /** TASK_STAGING or TASK_STARTING. */
  @ApiProperty({ enum: taskStates, enumName: 'TaskState' })
  state: TaskState;
  /** Since when it is in that state, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  since: number;
  /** What it waits for, as its machine said it last. */
  message: string;
}

/** A task that fails its liveness checks and is not replaced yet. */
export class UnhealthyTaskDto {
  /** The task. */
  taskId: TaskIdDto;
  /** Since when it counts as unhealthy, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  since: number;
  /** Reason why it is not replaced; absent: that is about to be decided. */
  @ApiProperty({ enum: sickTaskWaits, enumName: 'SickTaskWait' })
  waitsFor?: SickTaskWait;
  /** Time at which that is over, in epoch milliseconds, where it is known. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  waitsUntil?: number;
  /** The same as a sentence, with what the checks came to. */
  message: string;
}

/** A program around the main one of a task: a step that runs, or one that failed. */
export class NotableProgramDto extends TaskProgramDto {
  /** The task. */
  taskId: TaskIdDto;
}

/** An instance that failed, and when it may start again by the restart policy of its request. */
export class FailedInstanceDto {
  /** Number of the instance. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  instanceNo: number;
  /** Failures in a row. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  failures: number;
  /** Time of the last one, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  lastFailureAt: number;
  /** Time of the next start where its task is down or ends before, in epoch milliseconds. Absent: at once, or never. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  nextStartAt?: number;
  /** It failed more often in a row than maxRestarts: only a deploy, a bounce or an unpause starts it again. */
  givenUp: boolean;
}

/** The gate for which a deploy waits. */
export class WaitingGateDto {
  /** The deploy. */
  deployId: string;
  /** Number of the step after which the gate is, from 1. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  step: number;
  /** Number of the gate among those of the deploy, from 1. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  gate: number;
  /** Its type. */
  @ApiProperty({ enum: gateTypes, enumName: 'GateType' })
  type: GateType;
  /** WAITING, or PAUSED: a user has to approve or reject it. */
  @ApiProperty({ enum: gateStates, enumName: 'GateState' })
  state: GateState;
  /** Since when it waits, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  since: number;
  /** Time at which it is decided at the latest, in epoch milliseconds, where that is known. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  until?: number;
  /** Newest measurement. */
  lastMeasurement?: GateMeasurementDto;
  /** The same as a sentence, with those who may approve it. */
  message: string;
}

/** Deploy windows that are closed now. */
export class ClosedDeployWindowsDto {
  /** Group whose windows these are. Absent: those of the request. */
  groupId?: string;
  /** When the next one opens, in epoch milliseconds. Absent: none does. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  opensAt?: number;
  /** The same as a sentence. */
  message: string;
}

/** Reasons why tasks of a request are not running. */
export class RequestExplanationDto {
  /** The request. */
  requestId: string;
  /** State of the request. */
  @ApiProperty({ enum: requestStates, enumName: 'RequestState' })
  state: RequestState;
  /** Reason why all of it cannot run: no deploy, its state, or that no run of its parents leads to one. Absent where nothing does. */
  message?: string;
  /** Next runs by its schedule: up to five, of a SCHEDULED request that may run. */
  nextRuns?: TimeInZoneDto[];
  /** Tasks that are active now. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  activeTasks: number;
  /** Its pending tasks, the next one first. */
  pendingTasks: TaskExplanationDto[];
  /**
   * Tasks that hold its concurrency group, the oldest first, at most 100, of requests that the caller may read. Only where some of its
   * tasks wait for these.
   */
  heldBy?: string[];
  /** Its entries in the pending queue, the oldest first. */
  queued: QueuedEntryDto[];
  /**
   * Runs of flows that wait before its queue: until it is unpaused, has a deploy, or room in the queue. They become pending tasks then.
   * Absent: none.
   */
  @ApiProperty({ type: 'integer', format: 'int32' })
  waitingFlowRuns?: number;
  /** The newest deploy, if it has failed. */
  failedDeploy?: FailedDeployDto;
  /** Gate for which the deploy in progress waits; absent: it waits for none. */
  waitingGate?: WaitingGateDto;
  /** Why no deploy may start now; absent: one may. */
  closedDeployWindows?: ClosedDeployWindowsDto;
  /** Tasks whose launches are sent again because there was no answer, the oldest first, at most 100. Absent: none. */
  unansweredLaunches?: UnansweredLaunchDto[];
  /** Tasks that are starting, with what they wait for where that is known, the oldest first, at most 100. Absent: none. */
  startingTasks?: StartingTaskDto[];
  /** Tasks that fail their liveness checks; absent: none does. */
  unhealthyTasks?: UnhealthyTaskDto[];
  /** Init and post steps of its tasks that run, and programs around the main ones that failed; absent: none. */
  programs?: NotableProgramDto[];
  /** Instances that failed, of a request with a restart policy. Absent: it has none, or no instance has failed. */
  failedInstances?: FailedInstanceDto[];
  /** Why there are as many instances as there are, of a request with autoscaling. */
  autoscale?: AutoscaleStatusDto;
}
