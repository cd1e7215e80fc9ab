import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { OlderNames } from '../../../platform/http/older-names.js';

const int64 = { type: 'integer', format: 'int64' } as const;
const double = { type: 'number', format: 'double' } as const;

const snakeNames = {
  cpus_limit: { of: 'cpusLimit', type: 'integer', format: 'int32' },
  cpus_nr_periods: { of: 'cpusNrPeriods', ...int64 },
  cpus_nr_throttled: { of: 'cpusNrThrottled', ...int64 },
  cpus_system_time_secs: { of: 'cpusSystemTimeSecs', ...double },
  cpus_throttled_time_secs: { of: 'cpusThrottledTimeSecs', ...double },
  cpus_user_time_secs: { of: 'cpusUserTimeSecs', ...double },
  mem_anon_bytes: { of: 'memAnonBytes', ...int64 },
  mem_file_bytes: { of: 'memFileBytes', ...int64 },
  mem_limit_bytes: { of: 'memLimitBytes', ...int64 },
  mem_mapped_file_bytes: { of: 'memMappedFileBytes', ...int64 },
  mem_rss_bytes: { of: 'memRssBytes', ...int64 },
  mem_total_bytes: { of: 'memTotalBytes', ...int64 },
  disk_limit_bytes: { of: 'diskLimitBytes', ...int64 },
  disk_used_bytes: { of: 'diskUsedBytes', ...int64 },
} as const;

/** What a task uses right now, as its machine measures it. What the machine cannot measure is left out. */
@OlderNames(snakeNames)
@ApiSchema({ name: 'ClusterTaskStatisticsObjectDto' })
export class TaskStatisticsDto {
  /** When this was measured, in seconds since 1970. */
  timestamp?: number;
  /** Cores it may use, a part of one counted as one. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  cpusLimit?: number;
  /** Periods in which its use of the processor was limited. */
  @ApiProperty(int64)
  cpusNrPeriods?: number;
  /** Those of them in which it wanted more. */
  @ApiProperty(int64)
  cpusNrThrottled?: number;
  /** Processor time spent in the kernel, in seconds. */
  cpusSystemTimeSecs?: number;
  /** Time for which it was held back, in seconds. */
  cpusThrottledTimeSecs?: number;
  /** Processor time spent in its own code, in seconds. */
  cpusUserTimeSecs?: number;
  /** Anonymous memory, in bytes. */
  @ApiProperty(int64)
  memAnonBytes?: number;
  /** Memory that caches files, in bytes. */
  @ApiProperty(int64)
  memFileBytes?: number;
  /** Memory it may use, in bytes. */
  @ApiProperty(int64)
  memLimitBytes?: number;
  /** Memory that maps files, in bytes. */
  @ApiProperty(int64)
  memMappedFileBytes?: number;
  /** Resident memory, in bytes. */
  @ApiProperty(int64)
  memRssBytes?: number;
  /** All memory, in bytes. */
  @ApiProperty(int64)
  memTotalBytes?: number;
  /** Disk it may use, in bytes. */
  @ApiProperty(int64)
  diskLimitBytes?: number;
  /** Disk it uses, in bytes. */
  @ApiProperty(int64)
  diskUsedBytes?: number;
}
