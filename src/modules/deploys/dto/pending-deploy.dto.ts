import { ApiExtraModels, ApiProperty, getSchemaPath } from '@nestjs/swagger';
import type {
  DeployMarker,
  DeployProgress,
  DeployProgressLbUpdate,
  PendingDeploy,
} from '../../../core/model/deploy.js';
import {
  type DeployAcceptanceState,
  deployAcceptanceStates,
  type DeployState,
  deployStates,
} from '../../../core/model/enums.js';
import { LoadBalancerUpdateDto } from '../../load-balancer/load-balancer.dto.js';
import { RequestDto } from '../../requests/dto/request.dto.js';
import { TaskIdDto } from '../../tasks/dto/task-id.dto.js';
import { Since } from '../../../platform/http/since.js';

/** A change of the load balancer that a deploy asked for. */
export class DeployProgressLbUpdateDto implements DeployProgressLbUpdate {
  /** Its state at the load balancer. */
  loadBalancerUpdate: LoadBalancerUpdateDto;
  /** Tasks that come in. */
  added: TaskIdDto[];
  /** Tasks that go. */
  removed: TaskIdDto[];
}

/** Ids of a deploy and its request, and the user who started it. */
export class DeployMarkerDto implements DeployMarker {
  /** Request that is deployed. */
  requestId: string;
  /** The deploy. */
  deployId: string;
  /** Time of its start, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  timestamp: number;
  /** User who started it. */
  user?: string;
  /** Text that was given with it. */
  message?: string;
}

/** Progress of a deploy. Only of SERVICE and WORKER requests, and of deploys with canaryDeploySettings. */
@ApiExtraModels(DeployProgressLbUpdateDto)
export class DeployProgressDto implements DeployProgress {
  /** New tasks that should run at the end of the current step. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  targetActiveInstances: number;
  /** New tasks that were healthy at the end of the last step. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  currentActiveInstances: number;
  /** Tasks replaced per step. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  deployInstanceCountPerStep: number;
  /** Milliseconds between a finished step and the next one. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  deployStepWaitTimeMs: number;
  /** The current step is done. */
  stepComplete: boolean;
  /** The next step begins by itself. */
  autoAdvanceDeploySteps: boolean;
  /** Tasks that failed and were replaced. */
  failedDeployTasks: TaskIdDto[];
  /** Time at which the current step began, in epoch milliseconds; its time limit counts from here. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  timestamp: number;
  /** Only with deployStrategy OLD_FIRST: the most instances that may be missing at a time. */
  @Since('muster')
  @ApiProperty({ type: 'integer', format: 'int32' })
  maxUnavailable?: number;
  /** Only with canaryDeploySettings, and of jobs: it is rolled out in groups. */
  @Since('1.5')
  canary?: boolean;
  /** Only with canaryDeploySettings, and of jobs: the tasks of the step are healthy and wait to be accepted. */
  @Since('1.5')
  stepLaunchComplete?: boolean;
  /** Only with canaryDeploySettings, and of jobs: what each check says of the step. */
  @Since('1.5')
  @ApiProperty({ type: 'object', additionalProperties: { type: 'string', enum: [...deployAcceptanceStates] } })
  stepAcceptanceResults?: Record<string, DeployAcceptanceState>;
  /** Only with canaryDeploySettings, and of jobs: what checks said so far, as "(name - STATE) text". */
  @Since('1.5')
  acceptanceResultMessageHistory?: string[];
  /** Only with canaryDeploySettings, and of jobs: what the load balancer was asked for, by the text of the id it was asked under. */
  @Since('1.5')
  @ApiProperty({ type: 'object', additionalProperties: { $ref: getSchemaPath(DeployProgressLbUpdateDto) } })
  lbUpdates?: Record<string, DeployProgressLbUpdateDto>;
  /** Only with canaryDeploySettings: what the load balancer was asked for and has not done yet. */
  @Since('1.5')
  pendingLbUpdate?: LoadBalancerUpdateDto;
  /** Only with gates: number of the present step, from 1. */
  @Since('muster')
  @ApiProperty({ type: 'integer', format: 'int32' })
  step?: number;
}

/** A deploy in progress. */
export class PendingDeployDto implements PendingDeploy {
  /** Ids of the deploy, and the user who started it. */
  deployMarker: DeployMarkerDto;
  /** Newest order to the load balancer, and its answer. */
  lastLoadBalancerUpdate?: LoadBalancerUpdateDto;
  /** WAITING while it goes on; CANCELING while the load balancer is asked to undo what it was told. */
  @ApiProperty({ enum: deployStates, enumName: 'DeployState' })
  currentDeployState: DeployState;
  /** Progress of the deploy. */
  deployProgress?: DeployProgressDto;
  /** Takes the place of the request when the deploy succeeds. */
  updatedRequest?: RequestDto;
  /** Reason why its tasks are not placed, as far as the scheduler has looked; absent where none waits. */
  @Since('muster')
  waitsBecause?: string;
}
