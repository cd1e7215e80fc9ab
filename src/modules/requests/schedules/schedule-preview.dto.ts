import { ApiProperty } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { scheduleTypes, type ScheduleType } from '../../../core/model/enums.js';
import { previewEnds, type PreviewedTime, type PreviewEnd } from '../../../core/schedules/index.js';
import { Int32, OneOf, Text, Timestamp } from '../../../platform/http/fields.js';
import { TimeInZoneDto } from '../dto/request-parent.dto.js';
import { RequestTimingDto } from '../dto/request-timing.dto.js';

export const mostPreviewed = 1_000;
export const usualPreviewed = 10;

/** Members of a SCHEDULED request that say when it runs. */
export class SchedulePreviewRequestDto extends RequestTimingDto {
  /** Id of the request: needed where `H` or scheduleJitterMillis stand for a value that it gives. */
  @IsOptional()
  @Text('name')
  id?: string;
  /** The schedule, as scheduleType says. */
  @ApiProperty({ example: '30 2 * * *' })
  @IsOptional()
  @Text('expression')
  schedule?: string;
  /** Language of the schedule. Default: CRON. */
  @IsOptional()
  @OneOf(scheduleTypes, 'ScheduleType')
  scheduleType?: ScheduleType;
  /** The schedule as a Quartz expression. When both are sent, this one counts. */
  @IsOptional()
  @Text('expression')
  quartzSchedule?: string;
  /** Time zone of the schedule. Default: UTC. */
  @IsOptional()
  @Text('name')
  scheduleTimeZone?: string;
  /** Number of runs at once with overlapPolicy ALLOW. */
  @IsOptional()
  @Int32({ min: 1 })
  instances?: number;
  /** Only times after this one, in epoch milliseconds. Default: now. */
  @IsOptional()
  @Timestamp()
  after?: number;
  /** Number of times that are told, those without a run among them. Default: 10. */
  @IsOptional()
  @Int32({ min: 1, max: mostPreviewed })
  count?: number;
}

/** A time that a schedule names. */
export class PreviewedTimeDto extends TimeInZoneDto implements PreviewedTime {
  /** Reason why no run starts at it; absent: one does. */
  @ApiProperty({ enum: ['EXCLUDED'] })
  skipped?: 'EXCLUDED';
  /** The reason in words. */
  message?: string;
}

/** The next times of a schedule. */
export class SchedulePreviewDto {
  /** In their order. */
  times: PreviewedTimeDto[];
  /** Reason why no further ones are told: as many as were asked for (COUNT), or the schedule ends. */
  @ApiProperty({ enum: previewEnds })
  end: PreviewEnd;
  /** The Quartz expression of a crontab, with the values that stand for `H`. */
  quartzSchedule?: string;
}
