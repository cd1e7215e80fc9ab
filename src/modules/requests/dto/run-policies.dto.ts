import { ApiProperty } from '@nestjs/swagger';
import { IsBoolean, IsOptional } from 'class-validator';
import { longestRetryDelayMillis } from '../../../core/completion/index.js';
import type { ConcurrencyGroup, KeptRuns, Request, RetryPolicy } from '../../../core/model/request.js';
import { Between, Fraction, Int32, Integers, is, Millis, Nested, Text } from '../../../platform/http/fields.js';
import { Since } from '../../../platform/http/since.js';
import { RequestTimingDto } from './request-timing.dto.js';

/** A run that ends with 0 has succeeded: it is not tried again. */
const exitCodes = { min: 1, max: 255, what: 'whole numbers from 1 to 255' };

/** Tries of a run after the first. */
export class RetryPolicyDto implements RetryPolicy {
  /** The most times that a run which ended without success is tried again; each run has its own count. */
  @Int32({ min: 1, max: 1_000 })
  attempts: number;
  /** Milliseconds from the end of a try to the start of the next one. Default: 0. */
  @IsOptional()
  @Millis(longestRetryDelayMillis)
  delayMillis?: number;
  /** Each delay is so many times the one before it. Default: 1. */
  @IsOptional()
  @Between(1, 100)
  backoffFactor?: number;
  /** The longest delay. Default: 30 days. */
  @IsOptional()
  @Millis(longestRetryDelayMillis)
  maxDelayMillis?: number;
  /** Share of a delay, from 0 to 1, by which it may be shorter, so that runs that failed together are not tried together. Default: 0. */
  @IsOptional()
  @Fraction()
  jitter?: number;
  /** Exit codes: of tries that failed by themselves, only those with one of these are followed by another. */
  @IsOptional()
  @Integers(exitCodes)
  onExitCodes?: number[];
  /** Tries that failed with one of these exit codes are not followed by another. */
  @IsOptional()
  @Integers(exitCodes)
  notOnExitCodes?: number[];
  /** A try that took longer than its time limit is followed by another. Default: true. */
  @IsOptional()
  @IsBoolean()
  onTimeLimit?: boolean;
  /**
   * A try of which nobody saw the end, such as one that was lost with its machine, is followed by another. Default: true.
   */
  @IsOptional()
  @IsBoolean()
  onLost?: boolean;
}

/** Ended tasks of a request that are kept. */
export class KeptRunsDto implements KeptRuns {
  /** The newest so many, each try of a run being one. */
  @IsOptional()
  @Int32({ min: 1, max: 1_000_000 })
  count?: number;
  /** Those of the last so many days. */
  @IsOptional()
  @Int32({ min: 1, max: 3_650 })
  days?: number;
}

/** Requests that name one group share its limit of active runs. */
export class ConcurrencyGroupDto implements ConcurrencyGroup {
  /** Name of the group: up to 100 letters, digits, '_', '.' and '-'. */
  @is('pattern', "must be 1 to 100 letters, digits, '_', '.' and '-'", (value) => /^[\w.-]{1,100}$/.test(String(value)))
  @Text('name', 100)
  @ApiProperty({ pattern: '^[a-zA-Z0-9_.-]+$', minLength: 1 })
  name: string;
  /** The most runs of the group that are active at a time. Where its requests give different limits, the least one holds. */
  @Int32({ min: 1, max: 10_000 })
  limit: number;
}

/** Members of a request that say what becomes of its runs. */
export class RunPoliciesDto
  extends RequestTimingDto
  implements Pick<Request, 'retry' | 'pauseAfterFailures' | 'keepRuns' | 'concurrencyGroup'>
{
  /**
   * When a run that ended without success is tried again, with delays, and after which ends; numRetriesOnFailure is its short form. Not for
   * SERVICE and WORKER.
   */
  @Since('muster')
  @IsOptional()
  @Nested(() => RetryPolicyDto)
  retry?: RetryPolicyDto;
  /**
   * The request is paused when so many of its runs have failed in a row, each with its last try. A run that was told to end does not
   * count. Only SCHEDULED and ON_DEMAND.
   */
  @Since('muster')
  @IsOptional()
  @Int32({ min: 1, max: 1_000 })
  pauseAfterFailures?: number;
  /**
   * Ended tasks whose history is kept, and as many sandboxes on each machine: what one of its two members lets go goes. Never longer than the
   * installation keeps them. Default: as the installation says.
   */
  @Since('muster')
  @IsOptional()
  @Nested(() => KeptRunsDto)
  keepRuns?: KeptRunsDto;
  /**
   * Runs of all requests that name the group share its limit; those that wait go by priority, then by time. Not for SERVICE and WORKER.
   */
  @Since('muster')
  @IsOptional()
  @Nested(() => ConcurrencyGroupDto)
  concurrencyGroup?: ConcurrencyGroupDto;
}
