import { ApiProperty } from '@nestjs/swagger';
import { autoscaleOutcomes, type AutoscaleOutcome } from '../../../core/model/autoscale.js';

const time = { type: 'integer', format: 'int64' } as const;
const whole = { type: 'integer', format: 'int32' } as const;

/** A scale by autoscaling. */
export class AutoscaledDto {
  /** Its time, in epoch milliseconds. */
  @ApiProperty(time)
  at: number;
  /** Instances before. */
  @ApiProperty(whole)
  from: number;
  /** Instances after. */
  @ApiProperty(whole)
  to: number;
}

/** The newest decision of autoscaling about a request. */
export class AutoscaleStatusDto {
  /** Instances of the request. */
  @ApiProperty(whole)
  instances: number;
  /**
   * STEADY: there are as many as the metric needs; SCALED: it has just changed the number; AT_MIN, AT_MAX: the bounds keep the number;
   * DELAYED: fewer are enough, and that has to stay so for scaleDownDelayMillis; HELD: something else comes first; INCONCLUSIVE: the metric
   * gives no value; REFUSED: the scale was refused. Absent: it has not decided yet.
   */
  @ApiProperty({ enum: autoscaleOutcomes, enumName: 'AutoscaleOutcome' })
  outcome?: AutoscaleOutcome;
  /** Time of the decision, in epoch milliseconds. */
  @ApiProperty(time)
  at?: number;
  /** The measured value: percent for CPU and MEMORY. Absent: there was none. */
  value?: number;
  /** Instances that the value needs, whatever the bounds. */
  @ApiProperty(whole)
  needed?: number;
  /** DELAYED: time at which some are removed if fewer are enough until then, in epoch milliseconds. */
  @ApiProperty(time)
  until?: number;
  /** The last scale by autoscaling. */
  lastScale?: AutoscaledDto;
  /** Why there are as many instances as there are, as a sentence. */
  message: string;
}
