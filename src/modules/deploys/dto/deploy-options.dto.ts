import { ApiProperty } from '@nestjs/swagger';
import { IsBoolean, IsOptional } from 'class-validator';
import type { CanaryDeploySettings, HealthcheckOptions, Resources } from '../../../core/model/deploy.js';
import {
  type CanaryAcceptanceMode,
  canaryAcceptanceModes,
  type HealthcheckMethod,
  healthcheckMethods,
  type HealthcheckProtocol,
  healthcheckProtocols,
} from '../../../core/model/enums.js';
import type { RunNowRequest } from '../../../core/model/request.js';
import {
  Decimal,
  Int32,
  Integers,
  MayBeLeftOut,
  Nested,
  OneOf,
  TextMap,
  Texts,
  Timestamp,
  Text,
  Millis,
  Seconds32,
} from '../../../platform/http/fields.js';
import { Artifacts, ClusterArtifactDto, ObjstoreUploaderFileDto, UploaderFiles } from './artifacts.dto.js';
import { Since } from '../../../platform/http/since.js';

/** Resources of its machine that one task may use. */
export class ResourcesDto implements Resources {
  /** Cores; fractions are allowed. */
  @IsOptional()
  @Decimal()
  cpus?: number;
  /** Memory in MB. */
  @IsOptional()
  @Decimal()
  memoryMb?: number;
  /** Number of ports; the task finds them in PORT0, PORT1, ... Default: 0. */
  @IsOptional()
  @Int32()
  numPorts?: number;
  /** Disk in MB. Default: 0, which is no limit. */
  @IsOptional()
  @Decimal()
  diskMb?: number;
}

/** Health check of a task by an HTTP request of the scheduler. A status from 200 to 299 means healthy. */
export class HealthcheckOptionsDto implements HealthcheckOptions {
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
}

/** Rolls the deploy out in groups, or all at once, and asks for acceptance before old tasks go. */
export class CanaryDeploySettingsDto implements CanaryDeploySettings {
  /** Roll out in groups; false: all at once, with one swap in the load balancer. Default: false. */
  @MayBeLeftOut()
  @IsBoolean()
  enableCanaryDeploy: boolean;
  /** Tasks added per group. Default: 1. */
  @MayBeLeftOut()
  @Int32({ min: 1 })
  instanceGroupSize: number;
  /** Condition that must hold after a group is healthy: NONE; TIMED: a wait; CHECKS: the service's checks. Default: NONE. */
  @MayBeLeftOut()
  @OneOf(canaryAcceptanceModes, 'CanaryAcceptanceMode')
  acceptanceMode: CanaryAcceptanceMode;
  /** Milliseconds to wait after each group, when the mode is TIMED. Default: 0. */
  @MayBeLeftOut()
  @Millis()
  waitMillisBetweenGroups: number;
  /** Failed tasks that are forgiven and replaced within each group. Default: 0. */
  @MayBeLeftOut()
  @Int32()
  allowedTasksFailuresPerGroup: number;
  /** Groups before everything that is left is launched together. Default: 3. */
  @MayBeLeftOut()
  @Int32({ min: 1 })
  canaryCycleCount: number;
}

/** One run of a job, with what it changes about its deploy. */
export class RunNowRequestDto implements RunNowRequest {
  /** Reason for the run. */
  @IsOptional()
  @Text('message')
  message?: string;
  /** Skip health checks for this run. */
  @IsOptional()
  @IsBoolean()
  skipHealthchecks?: boolean;
  /** Id to track the run by. Default: a random one. */
  @IsOptional()
  @Text('name')
  runId?: string;
  /** Arguments appended to the command. */
  @IsOptional()
  @Texts('command')
  commandLineArgs?: string[];
  /** Resources in place of the deploy's. */
  @IsOptional()
  @Nested(() => ResourcesDto)
  resources?: ResourcesDto;
  /** Further files to upload to the object store. */
  @IsOptional()
  @UploaderFiles()
  objstoreUploaderAdditionalFiles?: ObjstoreUploaderFileDto[];
  /** User to run as, in place of the deploy's. */
  @IsOptional()
  @Text('name')
  runAsUserOverride?: string;
  /** Environment variables in place of, or in addition to, the deploy's. */
  @IsOptional()
  @TextMap()
  envOverrides?: Record<string, string>;
  /** Attributes that the machine must have, in place of the request's. */
  @IsOptional()
  @TextMap()
  requiredSlaveAttributeOverrides?: Record<string, string>;
  /** Attributes that the machine may have although it is reserved by them, in place of the request's. */
  @IsOptional()
  @TextMap()
  allowedSlaveAttributeOverrides?: Record<string, string>;
  /** Further files to fetch into the sandbox. */
  @IsOptional()
  @Artifacts()
  extraArtifacts?: ClusterArtifactDto[];
  /** Time at which it runs, in epoch milliseconds; a time gone by means now. Default: now. */
  @IsOptional()
  @Timestamp()
  runAt?: number;
  /** False: when it ends, no run of a request that follows this one is made. Default: true. */
  @Since('muster')
  @IsOptional()
  @IsBoolean()
  triggersFollowers?: boolean;
}
