import { ApiProperty } from '@nestjs/swagger';
import {
  deployStrategies,
  type DeployStrategy,
  taskCleanupTypes,
  type TaskCleanupType,
} from '../../../core/model/enums.js';
import { waitingReasons, type WaitingReason } from '../../../core/placement/index.js';
import { gateTypes, type GateType } from '../../../core/model/gate.js';
import type { FieldChange, PlannedGate } from '../../../core/plan/index.js';
import { Since } from '../../../platform/http/since.js';
import { TaskIdDto } from '../../../modules/tasks/dto/task-id.dto.js';
import { RejectionDto } from '../../explain/dto/explanation.dto.js';

const anyValue = [...['string', 'number', 'boolean', 'object'].map((type) => ({ type })), { type: 'array', items: {} }];

/** One field that would change. */
export class FieldChangeDto implements FieldChange {
  /** Its name from the outside in, such as deploy.env.COLOUR, deploy.uris[0].cmd or request.instances. */
  path: string;
  /** Present value; absent: it is not set. */
  @ApiProperty({ required: false, oneOf: anyValue })
  from?: unknown;
  /** Value that it would have; absent: it would not be set. */
  @ApiProperty({ required: false, oneOf: anyValue })
  to?: unknown;
}

/** A task that would start. */
export class PlannedStartDto {
  /** Number that it would have among the request's instances, from 1. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  instanceNo: number;
  /** Time at which it would be due, in epoch milliseconds; absent: at once. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  notBefore?: number;
}

/** A task that would have to go. */
export class PlannedStopDto {
  /** The task. */
  taskId: TaskIdDto;
  /** The cleanup it would get, or has already. Tasks of jobs are left to end by themselves for a while. */
  @ApiProperty({ enum: taskCleanupTypes, enumName: 'TaskCleanupType' })
  cleanupType: TaskCleanupType;
}

/** Room on the machines, as they are now, for the tasks of a step. */
export class PlannedFitDto {
  /** Tasks that would start. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  tasks: number;
  /** Number of them that find a machine. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  fitting: number;
  /** Reason for which the others would wait; PLACEABLE: there are no others. */
  @ApiProperty({ enum: waitingReasons, enumName: 'WaitingReason' })
  reason: WaitingReason;
  /** Reason as a sentence. */
  message: string;
  /** Slaves that were looked at. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  slaves: number;
  /** Slaves that cannot take the first task left over, by the first reason against each; most frequent first. */
  rejections: RejectionDto[];
}

/** A gate that would have to pass. */
export class PlannedGateDto implements PlannedGate {
  /** Number of the gate among those of the deploy, from 1. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  gate: number;
  /** Its type. */
  @ApiProperty({ enum: gateTypes, enumName: 'GateType' })
  type: GateType;
  /** Least time that it takes, in milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  leastMillis: number;
  /** Text of the gate. */
  message?: string;
}

/** Tasks that would start together, and those that would go when all of them are healthy; the next step begins when they have ended. */
export class PlannedStepDto {
  /** Tasks that would start, in the order of instance numbers. */
  start: PlannedStartDto[];
  /** Tasks that would have to go. */
  stop: PlannedStopDto[];
  /** Room for the tasks that would start. Tasks of earlier steps have started then, and old ones have gone. */
  fits: PlannedFitDto;
  /** Milliseconds between the end of the step and the next one; absent: it begins at once. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  waitMillis?: number;
  /** The next step would begin only when it is asked for, by updating the deploy. */
  waitsForUpdate?: boolean;
  /** Gates after this step, in their order; absent: none. */
  gates?: PlannedGateDto[];
}

/** Result of a change, were it made now. */
export class PlanDto {
  /** The request. */
  requestId: string;
  /** Names the state planned with. The real call may carry it, and is refused with 409 if that is not the state any more. */
  checkIndex: string;
  /** Fields that would change, in the order of their names. */
  changes: FieldChangeDto[];
  /** Steps one after the other, if all tasks become healthy. */
  steps: PlannedStepDto[];
  /** All tasks of all steps fit now. */
  fits: boolean;
  /** Tasks that would start in all. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  starting: number;
  /** Tasks that would have to go in all. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  stopping: number;
}

/** Result of a deploy. */
export class DeployPlanDto extends PlanDto {
  /** Id of the deploy. Where the service makes ids up, the real one gets another. */
  deployId: string;
  /** The deploy that it would replace, and that the changes are told against. */
  activeDeployId?: string;
  /** Order in which it would replace tasks. Absent for jobs. */
  @Since('muster')
  @ApiProperty({ required: false, enum: deployStrategies, enumName: 'DeployStrategy' })
  deployStrategy?: DeployStrategy;
  /** Only of OLD_FIRST: the most instances that would be missing at a time. */
  @Since('muster')
  @ApiProperty({ type: 'integer', format: 'int32' })
  maxUnavailable?: number;
  /** Least time that waits between steps and gates take together, in milliseconds, besides the start of tasks. Only with gates. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  leastMillis?: number;
}

/** Result of a scale. */
export class ScalePlanDto extends PlanDto {
  /** Instances now. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  from: number;
  /** Instances then. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  to: number;
  /** What autoscaling does then, of a request with autoscaling. */
  autoscale?: string;
}
