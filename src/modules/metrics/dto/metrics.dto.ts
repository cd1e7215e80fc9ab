import { ApiExtraModels, ApiProperty, getSchemaPath } from '@nestjs/swagger';
import type { Metric } from '../metrics.service.js';
import { Since } from '../../../platform/http/since.js';

const double = { type: 'number', format: 'double' } as const;

/** One figure. Which members it has depends on its kind: a gauge, a counter, or times in seconds. */
export class MetricDto implements Metric {
  /** Present value of a gauge. */
  @Since('muster')
  @ApiProperty(double)
  value?: number;
  /** Value of a counter, or the number of times. */
  @Since('muster')
  @ApiProperty(double)
  count?: number;
  /** Sum of times. */
  @Since('muster')
  @ApiProperty(double)
  sum?: number;
  /** Average of times. */
  @Since('muster')
  @ApiProperty(double)
  mean?: number;
  /** Median of times. */
  @Since('muster')
  @ApiProperty(double)
  p50?: number;
  /** Percentile of times: 95 of 100 were no longer. */
  @Since('muster')
  @ApiProperty(double)
  p95?: number;
  /** Percentile of times: 99 of 100 were no longer. */
  @Since('muster')
  @ApiProperty(double)
  p99?: number;
}

/** The figures of this instance and of the service. */
@ApiExtraModels(MetricDto)
export class MetricsContainerDto {
  /** By name, and by labels where there are several of a name: muster_tasks{state=TASK_RUNNING}. Names tell the unit. */
  @ApiProperty({ type: 'object', additionalProperties: { $ref: getSchemaPath(MetricDto) } })
  metrics: Record<string, MetricDto>;
}
