import { ApiProperty } from '@nestjs/swagger';
import { ClusterArtifactDto, ObjstoreUploaderFileDto } from '../../deploys/dto/artifacts.dto.js';
import { DeployDto } from '../../deploys/dto/deploy.dto.js';
import { ResourcesDto } from '../../deploys/dto/resources.dto.js';
import { RequestDto } from '../../requests/dto/request.dto.js';
import { PendingTaskIdDto } from './task-id.dto.js';

const textMap = { type: 'object', additionalProperties: { type: 'string' } } as const;

/** A task that waits for its time or for a machine, with what this run of it overrides. */
export class PendingTaskDto {
  /** Its id. */
  pendingTaskId: PendingTaskIdDto;
  /** Arguments of this run, after those of the deploy. */
  cmdLineArgsList?: string[];
  /** Who asked for the run. */
  user?: string;
  /** Id of the run. */
  runId?: string;
  /** Take the task for healthy as soon as it runs. */
  skipHealthchecks?: boolean;
  /** What the user said about the run. */
  message?: string;
  /** Resources in place of the deploy's. */
  resources?: ResourcesDto;
  /** Further files to upload to the object store. */
  objstoreUploaderAdditionalFiles?: ObjstoreUploaderFileDto[];
  /** User to run as in place of the deploy's. */
  runAsUserOverride?: string;
  /** Environment variables in place of the deploy's. */
  @ApiProperty(textMap)
  envOverrides?: Record<string, string>;
  /** Attributes that a slave must have, in place of the request's. */
  @ApiProperty(textMap)
  requiredSlaveAttributeOverrides?: Record<string, string>;
  /** Attributes that a slave may have, in place of the request's. */
  @ApiProperty(textMap)
  allowedSlaveAttributeOverrides?: Record<string, string>;
  /** Further files to fetch into the sandbox. */
  extraArtifacts?: ClusterArtifactDto[];
  /** Id of the action that asked for it. */
  actionId?: string;
}

/** A pending task with all that is needed to launch it. */
export class TaskRequestDto {
  /** The request as it will be when the task runs. */
  request: RequestDto;
  /** What it will run. */
  deploy: DeployDto;
  /** The task that waits. */
  pendingTask: PendingTaskDto;
}
