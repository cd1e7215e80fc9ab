import { IsBoolean, IsOptional, IsString } from 'class-validator';
import { Nested, TextMap, Texts, Timestamp } from '../../../platform/http/fields.js';
import { Artifacts, ClusterArtifactDto, ObjstoreUploaderFileDto, UploaderFiles } from './artifacts.dto.js';
import { ResourcesDto } from './resources.dto.js';

/** One run of a job, with what it changes about its deploy. */
export class RunNowRequestDto {
  /** Why it is run. */
  @IsOptional()
  @IsString()
  message?: string;
  /** Skip health checks for this run. */
  @IsOptional()
  @IsBoolean()
  skipHealthchecks?: boolean;
  /** Id to track the run by; a random one unless said otherwise. */
  @IsOptional()
  @IsString()
  runId?: string;
  /** Arguments appended to the command. */
  @IsOptional()
  @Texts()
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
  @IsString()
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
  /** When to run, in epoch milliseconds; a time gone by means now. */
  @IsOptional()
  @Timestamp()
  runAt?: number;
}
