import { ApiProperty } from '@nestjs/swagger';

const int64 = { type: 'integer', format: 'int64' } as const;

/** What a task uses right now, as its machine measures it. What the machine cannot measure is left out. */
export class TaskStatisticsDto {
  /** When this was measured, in seconds since 1970. */
  timestamp?: number;
  /** Cores it may use. */
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
