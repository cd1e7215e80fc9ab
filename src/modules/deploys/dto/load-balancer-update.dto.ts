import { ApiProperty } from '@nestjs/swagger';
import {
  loadBalancerMethods,
  loadBalancerRequestTypes,
  loadBalancerStates,
  type LoadBalancerMethod,
  type LoadBalancerRequestType,
  type LoadBalancerState,
} from '../../../core/model/enums.js';
import { TaskIdDto } from '../../tasks/dto/task-id.dto.js';

/** Names one change of the load balancer. */
export class LoadBalancerRequestIdDto {
  /** What it is about. */
  id: string;
  /** What is done. */
  @ApiProperty({ enum: loadBalancerRequestTypes, enumName: 'LoadBalancerRequestType' })
  requestType: LoadBalancerRequestType;
  /** From 1; a change that failed is tried again under the next number. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  attemptNumber: number;
}

/** How a change of the load balancer stands. */
export class LoadBalancerUpdateDto {
  /** What the load balancer said of it; UNKNOWN: nothing yet. */
  @ApiProperty({ enum: loadBalancerStates, enumName: 'LoadBalancerState' })
  loadBalancerState: LoadBalancerState;
  /** Which change it is. */
  loadBalancerRequestId: LoadBalancerRequestIdDto;
  /** What the load balancer said, or why it could not be asked. */
  message?: string;
  /** When it was asked, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  timestamp: number;
  /** What it was asked; PRE_ENQUEUE: nothing yet. */
  @ApiProperty({ enum: loadBalancerMethods, enumName: 'LoadBalancerMethod' })
  method: LoadBalancerMethod;
  /** Where it was asked. */
  uri?: string;
}

/** A change of the load balancer that a deploy asked for. */
export class DeployProgressLbUpdateDto {
  /** How it stands. */
  loadBalancerUpdate: LoadBalancerUpdateDto;
  /** Tasks that come in. */
  added: TaskIdDto[];
  /** Tasks that go. */
  removed: TaskIdDto[];
}
