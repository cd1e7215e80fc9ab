import { ApiProperty } from '@nestjs/swagger';
import {
  type LoadBalancerMethod,
  loadBalancerMethods,
  type LoadBalancerRequestType,
  loadBalancerRequestTypes,
  type LoadBalancerState,
  loadBalancerStates,
} from '../../core/model/enums.js';
import type { LoadBalancerRequestId, LoadBalancerUpdate } from '../../core/model/load-balancer.js';
import { OlderNames } from '../../platform/http/fields.js';

/** Names one change of the load balancer. */
export class LoadBalancerRequestIdDto implements LoadBalancerRequestId {
  /** Of a task, or of a step of a deploy. */
  id: string;
  /** What the change is about. */
  @ApiProperty({ enum: loadBalancerRequestTypes, enumName: 'LoadBalancerRequestType' })
  requestType: LoadBalancerRequestType;
  /** From 1; a change that failed is tried again under the next number. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  attemptNumber: number;
}

/** How a change of the load balancer stands. */
@OlderNames({ state: { of: 'loadBalancerState', enum: loadBalancerStates, enumName: 'LoadBalancerState' } })
export class LoadBalancerUpdateDto implements LoadBalancerUpdate {
  /** What became of it. */
  @ApiProperty({ enum: loadBalancerStates, enumName: 'LoadBalancerState' })
  loadBalancerState: LoadBalancerState;
  /** The change. */
  loadBalancerRequestId: LoadBalancerRequestIdDto;
  /** What the load balancer said, or why it could not be asked. */
  message?: string;
  /** When it was asked, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  timestamp: number;
  /** How it was asked; PRE_ENQUEUE: it was not, yet. */
  @ApiProperty({ enum: loadBalancerMethods, enumName: 'LoadBalancerMethod' })
  method: LoadBalancerMethod;
  /** Where it was asked. */
  uri?: string;
}
