import { IsOptional } from 'class-validator';
import { type Autoscale, type AutoscaleMetric, autoscaleMetrics } from '../../../core/model/autoscale.js';
import { Between, Int32, OneOf, Text } from '../../../platform/http/fields.js';
import { Since } from '../../../platform/http/since.js';

/** Autoscaling: a metric decides how many instances there are. */
export class AutoscaleDto implements Autoscale {
  /** The fewest instances. */
  @Since('muster')
  @Int32({ min: 1 })
  min: number;
  /** The most instances. */
  @Since('muster')
  @Int32({ min: 1 })
  max: number;
  /**
   * CPU, MEMORY: share of what its tasks ask for that the healthy ones use; HTTP: number that a service answers; PROMETHEUS: number that a
   * query gives.
   */
  @Since('muster')
  @OneOf(autoscaleMetrics, 'AutoscaleMetric')
  metric: AutoscaleMetric;
  /** For CPU and MEMORY: percent. For HTTP and PROMETHEUS: the part of the number that one instance can take. */
  @Since('muster')
  @Between(0, 1e15)
  target: number;
  /**
   * For HTTP: address that is asked. For PROMETHEUS: its address; default: the setting prometheus.uri. $REQUEST_ID and $DEPLOY_ID stand for
   * the ids of the request and of its active deploy.
   */
  @Since('muster')
  @IsOptional()
  @Text('uri', 2_000)
  uri?: string;
  /** For HTTP: path to the number in the JSON that is answered, such as data.waiting. Default: the answer is the number. */
  @Since('muster')
  @IsOptional()
  @Text('name')
  valuePath?: string;
  /** For PROMETHEUS: query with exactly one number as its result, the load in all. The variables are those of uri. */
  @Since('muster')
  @IsOptional()
  @Text('message')
  query?: string;
  /** Milliseconds for which fewer instances have to be enough before some are removed. Default: 300000. */
  @Since('muster')
  @IsOptional()
  @Int32({ max: 86_400_000 })
  scaleDownDelayMillis?: number;
  /** The most instances that one decision adds or removes. Default: any number. */
  @Since('muster')
  @IsOptional()
  @Int32({ min: 1 })
  stepLimit?: number;
}
