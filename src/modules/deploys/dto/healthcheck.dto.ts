import { ApiProperty } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import type { HealthcheckOptions, LivenessOptions } from '../../../core/model/deploy.js';
import {
  type HealthcheckMethod,
  healthcheckMethods,
  type HealthcheckProtocol,
  healthcheckProtocols,
  type HealthcheckType,
  healthcheckTypes,
  type LivenessAction,
  livenessActions,
} from '../../../core/model/enums.js';
import { Int32, Integers, Nested, OneOf, Seconds32, Text } from '../../../platform/http/fields.js';
import { Since } from '../../../platform/http/since.js';

const secondsPerDay = 86_400;

/** Checks of a task that go on after it has become healthy, in the way of its health check. */
export class LivenessOptionsDto implements LivenessOptions {
  /** Path to ask for. Default: the one of the health check. */
  @Since('muster')
  @IsOptional()
  @Text('uri')
  uri?: string;
  /** Seconds between the end of a check and the next one. Default: 10. */
  @Since('muster')
  @IsOptional()
  @Int32({ min: 1, max: secondsPerDay })
  intervalSeconds?: number;
  /** Seconds one check may take. Default: responseTimeoutSeconds of the health check. */
  @Since('muster')
  @IsOptional()
  @Int32({ min: 1, max: secondsPerDay })
  timeoutSeconds?: number;
  /** Failed checks in a row that make a task unhealthy. Default: 3. */
  @Since('muster')
  @IsOptional()
  @Int32({ min: 1, max: 1000 })
  failureThreshold?: number;
  /** RESTART: an unhealthy task is replaced, a new one first where it fits; NONE: events and explanations tell of it. Default: RESTART. */
  @Since('muster')
  @IsOptional()
  @OneOf(livenessActions, 'LivenessAction')
  action?: LivenessAction;
  /** The most unhealthy tasks of the request that are replaced at once. Default: a tenth of its instances, at least 1. */
  @Since('muster')
  @IsOptional()
  @Int32({ min: 1, max: 10_000 })
  maxUnhealthyReplacements?: number;
}

/** Health check of a task: by HTTP a status from 200 to 299 means healthy; what does otherwise is said at `type`. */
export class HealthcheckOptionsDto implements HealthcheckOptions {
  /**
   * Way to ask. HTTP: a call of uri. TCP: the port accepts a connection. GRPC: the health service of the port says SERVING. COMMAND: the
   * command ends with exit code 0. A passed check of the last three is shown with the status 200. Default: HTTP.
   */
  @Since('muster')
  @IsOptional()
  @OneOf(healthcheckTypes, 'HealthcheckType')
  type?: HealthcheckType;
  /**
   * For COMMAND: a line for a shell, run by the agent in the sandbox, as the user and with the variables of the task, for at most
   * responseTimeoutSeconds.
   */
  @Since('muster')
  @IsOptional()
  @Text('command')
  command?: string;
  /** Path to ask for. */
  @IsOptional()
  @Text('uri')
  uri?: string;
  /** Index of the port that is asked among the ports of the task, from 0. Default: 0. */
  @IsOptional()
  @Int32()
  portIndex?: number;
  /** A port to ask by its number: one of the task's, or one that the settings allow (healthcheckPortNumbers). */
  @ApiProperty({ format: 'int64' })
  @IsOptional()
  @Int32({ min: 1, max: 65_535 })
  portNumber?: number;
  /** HTTP or HTTPS, with HTTP/1 or (HTTP2, HTTPS2) HTTP/2. Default: HTTP. */
  @IsOptional()
  @OneOf(healthcheckProtocols)
  protocol?: HealthcheckProtocol;
  /** Method of the call. Default: GET. */
  @IsOptional()
  @OneOf(healthcheckMethods)
  method?: HealthcheckMethod;
  /**
   * Seconds from the start of the task in which it may refuse connections. Default: the setting startupTimeoutSeconds
   * (45).
   */
  @IsOptional()
  @Seconds32()
  startupTimeoutSeconds?: number;
  /** Seconds before the first check. Default: the setting startupDelaySeconds (one startup interval). */
  @IsOptional()
  @Seconds32()
  startupDelaySeconds?: number;
  /** Seconds between checks while connections are refused. Default: the setting startupIntervalSeconds (2). */
  @IsOptional()
  @Seconds32()
  startupIntervalSeconds?: number;
  /** Seconds between checks after any other failure. Default: the setting healthcheckIntervalSeconds (5). */
  @IsOptional()
  @Seconds32()
  intervalSeconds?: number;
  /** Seconds one check may take. Default: the setting healthcheckTimeoutSeconds (5). */
  @IsOptional()
  @Seconds32()
  responseTimeoutSeconds?: number;
  /** Failed checks that are forgiven. Default: the setting healthcheckMaxRetries (any number). */
  @IsOptional()
  @Int32()
  maxRetries?: number;
  /** Statuses that make the task unhealthy at once. Default: the setting healthcheckFailureStatusCodes (none). */
  @IsOptional()
  @Integers({ min: 100, max: 599, what: 'HTTP status codes' })
  failureStatusCodes?: number[];
  /** A file in the sandbox that appears when the task is healthy; its executor then reports the task as running. */
  @IsOptional()
  @Text('path')
  healthcheckResultFilePath?: string;
  /** Checks that go on after the task has become healthy. Default: none. */
  @Since('muster')
  @IsOptional()
  @Nested(() => LivenessOptionsDto)
  liveness?: LivenessOptionsDto;
}
