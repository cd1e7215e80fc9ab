import type { TimeInZone } from '../../../core/schedules/index.js';
import { ApiProperty } from '@nestjs/swagger';
import {
  pendingTypes,
  requestCleanupTypes,
  requestStates,
  type PendingType,
  type RequestCleanupType,
  type RequestState,
} from '../../../core/model/enums.js';
import type {
  ExpiringBounce,
  ExpiringPause,
  ExpiringPriority,
  ExpiringScale,
  ExpiringSkipHealthchecks,
  PendingRequestParent,
  RequestBatch,
  RequestCleanup,
  RequestDeployState,
  RequestParent,
  RequestWithState,
} from '../../../core/model/request.js';
import type { PendingRequest } from '../../../core/model/task.js';
import { ClusterArtifactDto, ObjstoreUploaderFileDto } from '../../deploys/dto/artifacts.dto.js';
import { DeployDto } from '../../deploys/dto/deploy.dto.js';
import { DeployMarkerDto, PendingDeployDto } from '../../deploys/dto/pending-deploy.dto.js';
import { ResourcesDto } from '../../deploys/dto/deploy-options.dto.js';
import { RunOriginDto } from '../../tasks/dto/run-origin.dto.js';
import { TaskIdsByStatusDto } from '../../tasks/dto/task-id.dto.js';
import {
  BounceRequestDto,
  PauseRequestDto,
  PriorityRequestDto,
  ScaleRequestDto,
  ShellCommandDto,
  SkipHealthchecksRequestDto,
} from './actions.dto.js';
import { RequestDto } from './request.dto.js';
import { Since } from '../../../platform/http/since.js';

/** A change that will be undone by itself. */
export class ExpiringActionDto {
  /** Id of the request. */
  requestId: string;
  /** User who made the change. */
  user?: string;
  /** Time of the change, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  startMillis: number;
  /** Id of the action. */
  actionId: string;
}

/** A bounce that is given up when it takes too long. */
export class ExpiringBounceDto extends ExpiringActionDto implements ExpiringBounce {
  /** The deploy whose tasks are replaced. */
  deployId: string;
  /** The bounce as it was asked for. */
  expiringAPIRequestObject: BounceRequestDto;
}

/** A pause that ends by itself. */
export class ExpiringPauseDto extends ExpiringActionDto implements ExpiringPause {
  /** The pause as it was asked for. */
  expiringAPIRequestObject: PauseRequestDto;
}

/** A number of instances that holds for a while. */
export class ExpiringScaleDto extends ExpiringActionDto implements ExpiringScale {
  /** The scaling as it was asked for. */
  expiringAPIRequestObject: ScaleRequestDto;
  /** The number that is restored; absent: none, which means one. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  revertToInstances?: number;
  /** Bounce again when the number is restored. */
  bounce?: boolean;
}

/** A priority that holds for a while. */
export class ExpiringPriorityDto extends ExpiringActionDto implements ExpiringPriority {
  /** The change of priority as it was asked for. */
  expiringAPIRequestObject: PriorityRequestDto;
  /** The taskPriorityLevel that is restored; absent: none, which means that of the request's type. */
  @ApiProperty({ type: 'number', format: 'double' })
  revertToPriority?: number;
}

/** Health checks that are skipped, or not, for a while. */
export class ExpiringSkipHealthchecksDto extends ExpiringActionDto implements ExpiringSkipHealthchecks {
  /** The change as it was asked for. */
  expiringAPIRequestObject: SkipHealthchecksRequestDto;
  /** The value that is restored; absent: none. */
  revertToSkipHealthchecks?: boolean;
}

/** A wish that the tasks of a request be looked at, waiting for the scheduler. */
export class PendingRequestDto extends RunOriginDto implements PendingRequest {
  /** Id of the request. */
  requestId: string;
  /** Deploy that is to run. */
  deployId: string;
  /** Time at which it was queued, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  timestamp: number;
  /** User who asked for it. */
  user?: string;
  /** Reason for which it was queued. */
  @ApiProperty({ enum: pendingTypes, enumName: 'PendingType' })
  pendingType: PendingType;
  /** Arguments appended to the command. */
  cmdLineArgsList?: string[];
  /** Id to track the run by. */
  runId?: string;
  /** The tasks count as healthy without being checked. */
  skipHealthchecks?: boolean;
  /** Text that the user gave with it. */
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
  /** Time at which it runs, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  runAt?: number;
}

/** An order for a whole request that the cleaner has not carried out yet. */
export class RequestCleanupDto implements RequestCleanup {
  /** User who gave it. */
  user?: string;
  /** The work that is to be done. */
  @ApiProperty({ enum: requestCleanupTypes, enumName: 'RequestCleanupType' })
  cleanupType: RequestCleanupType;
  /** Time at which it was given, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  timestamp: number;
  /** For a pause or deletion: kill the tasks at once. */
  killTasks?: boolean;
  /** For a deletion: remove the service from the load balancer as well. */
  removeFromLoadBalancer?: boolean;
  /** Id of the request. */
  requestId: string;
  /** For a bounce: the deploy whose tasks are replaced. */
  deployId?: string;
  /** For a bounce: the new tasks count as healthy without being checked. */
  skipHealthchecks?: boolean;
  /** Text that the user gave with it. */
  message?: string;
  /** Id of the action that caused it. */
  actionId?: string;
  /** Command to run in each task before it is killed. */
  runShellCommandBeforeKill?: ShellCommandDto;
  /** For a deletion: its tasks end at once, by SIGKILL. */
  @Since('muster')
  force?: boolean;
  /** For a deletion: it waits for runs to end by themselves. */
  @Since('muster')
  waitForTasks?: boolean;
}

/** The deploys of a request that count. Absent while none does. */
export class RequestDeployStateDto implements RequestDeployState {
  /** Id of the request. */
  requestId: string;
  /** The deploy that runs. */
  activeDeploy?: DeployMarkerDto;
  /** The deploy in progress. */
  pendingDeploy?: DeployMarkerDto;
}

/** A moment as programs and people read it. */
export class TimeInZoneDto implements TimeInZone {
  /** Epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  at: number;
  /** ISO 8601 in UTC. */
  utc: string;
  /** That time as the clocks of the zone show it, with their offset. */
  local: string;
  /** The zone: that of the schedule. */
  timeZone: string;
}

/** A request and what goes on around it. Lists leave out deploys, and tasks too unless they are asked for. */
export class RequestParentDto implements RequestParent {
  /** The request itself. */
  request: RequestDto;
  /** Says whether tasks may start: ACTIVE requests get tasks, PAUSED ones do not. */
  @ApiProperty({ enum: requestStates, enumName: 'RequestState' })
  state: RequestState;
  /** The deploys that count. Absent while none does. */
  requestDeployState?: RequestDeployStateDto;
  /** The deploy that runs. */
  activeDeploy?: DeployDto;
  /** The deploy in progress. */
  pendingDeploy?: DeployDto;
  /** Progress of the pending deploy. */
  pendingDeployState?: PendingDeployDto;
  /** The bounce under way and its time limit. */
  expiringBounce?: ExpiringBounceDto;
  /** The pause that ends by itself. */
  expiringPause?: ExpiringPauseDto;
  /** The number of instances that holds for a while. */
  expiringScale?: ExpiringScaleDto;
  /** The priority that holds for a while. */
  @Since('1.5')
  expiringPriority?: ExpiringPriorityDto;
  /** The skip of health checks that holds for a while. */
  expiringSkipHealthchecks?: ExpiringSkipHealthchecksDto;
  /** Its tasks, by what can be expected of them. */
  taskIds?: TaskIdsByStatusDto;
  /**
   * The next runs by its schedule, up to five. Only for a SCHEDULED request that may run; in lists where `nextRuns` is
   * asked for.
   */
  @Since('muster')
  nextRuns?: TimeInZoneDto[];
}

/** A request together with the run that was queued. */
export class PendingRequestParentDto extends RequestParentDto implements PendingRequestParent {
  /** The run that was queued. */
  pendingRequest: PendingRequestDto;
}

/** A request without what goes on around it. */
export class RequestWithStateDto implements RequestWithState {
  /** The request itself. */
  request: RequestDto;
  /** Says whether tasks may start. */
  @ApiProperty({ enum: requestStates, enumName: 'RequestState' })
  state: RequestState;
  /** Time of the last change, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  timestamp: number;
}

/** Requests that were asked for together. */
export class RequestBatchDto implements RequestBatch {
  /** Requests that exist, in the order of ids. */
  requests: RequestParentDto[];
  /** Ids of those there are not. */
  notFound: string[];
}
