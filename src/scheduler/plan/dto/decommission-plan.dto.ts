import { ApiProperty } from '@nestjs/swagger';
import { moveOutcomes, type MoveOutcome } from '../../../core/plan/index.js';
import { TaskIdDto } from '../../../modules/tasks/dto/task-id.dto.js';
import { RejectionDto } from '../../explain/dto/explanation.dto.js';

/** A slave that would take a task. */
export class MoveTargetDto {
  /** Id of the slave. */
  slaveId: string;
  /** Its host name. */
  host: string;
  /** Id of its rack. */
  rackId: string;
}

/** What would become of a task of the machine. */
export class PlannedMoveDto {
  /** The task. */
  taskId: TaskIdDto;
  /**
   * MOVES: its replacement starts on another slave, then it ends. WAITS: no slave takes its replacement now, so it stays.
   * RUNS_TO_END: a run of a job. NOT_REPLACED: its request wants no task in its place, so it ends.
   */
  @ApiProperty({ enum: moveOutcomes, enumName: 'MoveOutcome' })
  outcome: MoveOutcome;
  /** Slave of its replacement, when it moves. */
  to?: MoveTargetDto;
  /** Outcome as a sentence. */
  message: string;
  /** Slaves that cannot take its replacement, when it waits: by the first reason against each, most frequent first. */
  rejections: RejectionDto[];
}

/** Result of a decommission, were it begun now. */
export class DecommissionPlanDto {
  /** Id of the slave or rack. */
  id: string;
  /** No task has to wait for room. */
  fits: boolean;
  /** Number of tasks that move. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  moving: number;
  /** Number of tasks that no slave takes now. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  waiting: number;
  /** Tasks that would have to leave, by request. Those that are leaving already are left out. */
  moves: PlannedMoveDto[];
}
