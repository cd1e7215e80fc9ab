import { ApiProperty } from '@nestjs/swagger';
import { type PendingTask, type RunOrigin, type RunTrigger, runTriggers } from '../../../core/model/task.js';
import { Since } from '../../../platform/http/since.js';

/** Cause of a run, which of its tries this is, and its flow. */
export class RunCauseDto implements Pick<RunOrigin, 'trigger' | 'attempt' | 'flowId'> {
  /** Cause of the run: its schedule, a caller, the end of another run, a backfill; RETRY: a try of it that failed. */
  @Since('muster')
  @ApiProperty({ enum: runTriggers, enumName: 'RunTrigger' })
  trigger?: RunTrigger;
  /** Number of this try of the run, from 1; absent: the first. */
  @Since('muster')
  @ApiProperty({ type: 'integer', format: 'int32' })
  attempt?: number;
  /** Id that all runs of one flow have. */
  @Since('muster')
  flowId?: string;
}

/** Origin of a run, as its pending request and its pending task have it. */
export class RunOriginDto extends RunCauseDto implements RunOrigin, Pick<PendingTask, 'retries' | 'askedAt'> {
  /** Number of times the run was tried again because it had failed. */
  @Since('muster')
  @ApiProperty({ type: 'integer', format: 'int32' })
  retries?: number;
  /** Time at which a caller asked for the run, in epoch milliseconds; a run that is tried again keeps it. */
  @Since('muster')
  @ApiProperty({ type: 'integer', format: 'int64' })
  askedAt?: number;
  /** Planned time of the run, in epoch milliseconds, however late it starts; a run that is tried again keeps it. */
  @Since('muster')
  @ApiProperty({ type: 'integer', format: 'int64' })
  scheduledAt?: number;
  /** Ids of the tasks whose ends made this run. */
  @Since('muster')
  parentRuns?: string[];
}
