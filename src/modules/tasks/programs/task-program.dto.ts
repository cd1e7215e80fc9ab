import { ApiProperty } from '@nestjs/swagger';
import type { TaskProgram } from '../../../core/model/deploy.js';
import { programRoles, type ProgramRole, programStates, type ProgramState } from '../../../core/model/enums.js';

/** State of a program around the main one of a task. */
export class TaskProgramDto implements TaskProgram {
  /** Its name in the deploy. */
  name: string;
  /** INIT and POST: a step before or after the main program. SIDECAR: it runs beside it. */
  @ApiProperty({ enum: programRoles, enumName: 'ProgramRole' })
  role: ProgramRole;
  /** RUNNING, SUCCEEDED, or FAILED: a step did not succeed, or a sidecar ended and is to be started again. */
  @ApiProperty({ enum: programStates, enumName: 'ProgramState' })
  state: ProgramState;
  /** Number of its starts. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  starts: number;
  /** Time of this state, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  timestamp: number;
  /** Exit code of its last end; 128 and the number of a signal after that signal. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  exitCode?: number;
  /** How it ended, for people. */
  message?: string;
}
