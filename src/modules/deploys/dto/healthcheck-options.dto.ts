import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, IsString } from 'class-validator';
import {
  healthcheckMethods,
  healthcheckProtocols,
  type HealthcheckMethod,
  type HealthcheckProtocol,
} from '../../../core/model/enums.js';
import { Int32, is, OneOf } from '../../../platform/http/fields.js';

const isStatusCode = (code: unknown): boolean => Number.isInteger(code) && Number(code) >= 100 && Number(code) <= 599;

/** How the scheduler asks a task over HTTP whether it is healthy. A status from 200 to 299 means yes. */
export class HealthcheckOptionsDto {
  /** Path to ask for. */
  @IsOptional()
  @IsString()
  uri?: string;
  /** Which of the task's ports to ask, from 0; 0 unless said otherwise. */
  @IsOptional()
  @Int32()
  portIndex?: number;
  /** A fixed port to ask in place of one of the task's. */
  @ApiProperty({ format: 'int64' })
  @IsOptional()
  @Int32({ min: 1, max: 65_535 })
  portNumber?: number;
  /** HTTP or HTTPS, with HTTP/1 or (HTTP2, HTTPS2) HTTP/2; HTTP unless said otherwise. */
  @IsOptional()
  @OneOf(healthcheckProtocols)
  protocol?: HealthcheckProtocol;
  /** GET or POST; GET unless said otherwise. */
  @IsOptional()
  @OneOf(healthcheckMethods)
  method?: HealthcheckMethod;
  /** Seconds from the start of the task in which it may refuse connections. */
  @IsOptional()
  @Int32()
  startupTimeoutSeconds?: number;
  /** Seconds before the first check. */
  @IsOptional()
  @Int32()
  startupDelaySeconds?: number;
  /** Seconds between checks while connections are refused. */
  @IsOptional()
  @Int32()
  startupIntervalSeconds?: number;
  /** Seconds between checks after any other failure. */
  @IsOptional()
  @Int32()
  intervalSeconds?: number;
  /** Seconds one check may take. */
  @IsOptional()
  @Int32()
  responseTimeoutSeconds?: number;
  /** Failed checks that are forgiven; any number unless said otherwise. */
  @IsOptional()
  @Int32()
  maxRetries?: number;
  /** Statuses that make the task unhealthy at once. */
  @IsOptional()
  @is(
    'statusCodes',
    'must be a list of HTTP status codes',
    (value) => Array.isArray(value) && value.every(isStatusCode),
  )
  @ApiProperty({ type: 'array', items: { type: 'integer', format: 'int32', minimum: 100, maximum: 599 } })
  failureStatusCodes?: number[];
  /** A file in the sandbox that appears when the task is healthy; its executor then reports the task as running. */
  @IsOptional()
  @IsString()
  healthcheckResultFilePath?: string;
}
