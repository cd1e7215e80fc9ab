import { IsOptional } from 'class-validator';
import type { RestartPolicy } from '../../../core/model/request.js';
import { Between, Int32 } from '../../../platform/http/fields.js';
import { Since } from '../../../platform/http/since.js';

const day = 86_400_000;

/** Delays of the starts of an instance that failed. Each failure in a row makes the next one longer. */
export class RestartPolicyDto implements RestartPolicy {
  /** Milliseconds after the first failure. Default: 1000, or maxDelayMillis where that is less. */
  @Since('muster')
  @IsOptional()
  @Int32({ max: day })
  initialDelayMillis?: number;
  /** Factor by which each further failure in a row lengthens the delay. Default: 2. */
  @Since('muster')
  @IsOptional()
  @Between(1, 100)
  backoffFactor?: number;
  /** The longest delay in milliseconds. Default: 300000, or initialDelayMillis where that is more. */
  @Since('muster')
  @IsOptional()
  @Int32({ max: day })
  maxDelayMillis?: number;
  /** Milliseconds that an instance has to be up until its next failure begins a new row. Default: 600000. */
  @Since('muster')
  @IsOptional()
  @Int32({ max: day })
  resetAfterMillis?: number;
  /** Restarts in a row; then the instance stays down until a deploy, a bounce or an unpause. Default: any number. */
  @Since('muster')
  @IsOptional()
  @Int32({ max: 1_000_000 })
  maxRestarts?: number;
}
