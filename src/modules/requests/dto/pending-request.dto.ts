import { ApiProperty } from '@nestjs/swagger';
import {
  pendingTypes,
  requestCleanupTypes,
  type PendingType,
  type RequestCleanupType,
} from '../../../core/model/enums.js';
import { ClusterArtifactDto, ObjstoreUploaderFileDto } from '../../deploys/dto/artifacts.dto.js';
import { ResourcesDto } from '../../deploys/dto/resources.dto.js';
import { ShellCommandDto } from './actions.dto.js';

/** A wish that the tasks of a request be looked at, waiting for the scheduler. */
export class PendingRequestDto {
  /** Id of the request. */
  requestId: string;
  /** Deploy that is to run. */
  deployId: string;
  /** When the wish arose, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  timestamp: number;
  /** Who asked for it. */
  user?: string;
  /** Why. */
  @ApiProperty({ enum: pendingTypes, enumName: 'PendingType' })
  pendingType: PendingType;
  /** Arguments appended to the command. */
  cmdLineArgsList?: string[];
  /** Id to track the run by. */
  runId?: string;
  /** The tasks count as healthy without being checked. */
  skipHealthchecks?: boolean;
  /** What the user said about it. */
  message?: string;
  /** Id of the action that caused it. */
  actionId?: string;
  /** Resources in place of the deploy's. */
  resources?: ResourcesDto;
  /** Further files to upload to the object store. */
  objstoreUploaderAdditionalFiles?: ObjstoreUploaderFileDto[];
  /** User to run as, in place of the deploy's. */
  runAsUserOverride?: string;
  /** Environment variables in place of, or in addition to, the deploy's. */
  envOverrides?: Record<string, string>;
  /** Attributes that the machine must have, in place of the request's. */
  requiredSlaveAttributeOverrides?: Record<string, string>;
  /** Attributes that open reserved machines, in place of the request's. */
  allowedSlaveAttributeOverrides?: Record<string, string>;
  /** Further files to fetch into the sandbox. */
  extraArtifacts?: ClusterArtifactDto[];
  /** When to run, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  runAt?: number;
}

/** An order for a whole request that the cleaner has not carried out yet. */
export class RequestCleanupDto {
  /** Who gave it. */
  user?: string;
  /** What is to be done. */
  @ApiProperty({ enum: requestCleanupTypes, enumName: 'RequestCleanupType' })
  cleanupType: RequestCleanupType;
  /** When it was given, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  timestamp: number;
  /** Of a pause or deletion: kill the tasks at once. */
  killTasks?: boolean;
  /** Of a deletion: remove the service from the load balancer as well. */
  removeFromLoadBalancer?: boolean;
  /** Id of the request. */
  requestId: string;
  /** Of a bounce: the deploy whose tasks are replaced. */
  deployId?: string;
  /** Of a bounce: the new tasks count as healthy without being checked. */
  skipHealthchecks?: boolean;
  /** What the user said about it. */
  message?: string;
  /** Id of the action that caused it. */
  actionId?: string;
  /** Command to run in each task before it is killed. */
  runShellCommandBeforeKill?: ShellCommandDto;
}
