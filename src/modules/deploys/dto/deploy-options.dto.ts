import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { IsBoolean, IsOptional } from 'class-validator';
import type { CanaryDeploySettings, Resources } from '../../../core/model/deploy.js';
import { type CanaryAcceptanceMode, canaryAcceptanceModes } from '../../../core/model/enums.js';
import type { RunNowRequest } from '../../../core/model/request.js';
import {
  Decimal,
  Int32,
  is,
  isMap,
  MayBeLeftOut,
  Nested,
  NestedList,
  OneOf,
  raw,
  TextMap,
  Texts,
  Timestamp,
  Text,
  Millis,
  everyValue,
} from '../../../platform/http/fields.js';
import {
  mostExtendedCount,
  mostExtendedNames,
  extendedRule,
  isExtendedCount,
  isExtendedName,
} from '../../../core/extended-name.js';
import { Artifacts, ClusterArtifactDto, ObjstoreUploaderFileDto, UploaderFiles } from './artifacts.dto.js';
import { DeployGateDto, mostGates } from './gate.dto.js';
import { Since } from '../../../platform/http/since.js';

const ExtendedResourceCounts = () =>
  applyDecorators(
    raw((value) => value),
    is('type', 'must be a map of names to whole numbers', (value) => everyValue(value, Number.isInteger)),
    is(
      'extended',
      extendedRule,
      (value) =>
        isMap(value) &&
        Object.keys(value).length <= mostExtendedNames &&
        Object.entries(value).every(([name, count]) => isExtendedName(name) && isExtendedCount(count)),
    ),
    ApiProperty({
      type: 'object',
      maxProperties: mostExtendedNames,
      additionalProperties: { type: 'integer', format: 'int32', minimum: 1, maximum: mostExtendedCount },
    }),
  );

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
  /**
   * Further resources of machines, such as GPUs, as whole numbers by name: {"nvidia.com/gpu": 1}. On Kubernetes the extended resources of
   * nodes; elsewhere those that the settings give a machine. Default: none.
   */
  @Since('muster')
  @IsOptional()
  @ExtendedResourceCounts()
  extended?: Record<string, number>;
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
  /**
   * Conditions that must hold, one after the other, after each step is healthy and accepted: before the next step, and after the last one
   * before the old tasks go. A gate that fails rolls the deploy back. Default: none.
   */
  @Since('muster')
  @IsOptional()
  @NestedList(() => DeployGateDto, mostGates)
  gates?: DeployGateDto[];
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
