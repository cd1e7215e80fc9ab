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
  /** Id of the task, or of the step of a deploy. */
  id: string;
  /** Kind of the change. */
  @ApiProperty({ enum: loadBalancerRequestTypes, enumName: 'LoadBalancerRequestType' })
  requestType: LoadBalancerRequestType;
  /** From 1; a change that failed is tried again under the next number. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  attemptNumber: number;
}

/** State of a change at the load balancer. */
@OlderNames({ state: { of: 'loadBalancerState', enum: loadBalancerStates, enumName: 'LoadBalancerState' } })
export class LoadBalancerUpdateDto implements LoadBalancerUpdate {
  /** Result of the change. */
  @ApiProperty({ enum: loadBalancerStates, enumName: 'LoadBalancerState' })
  loadBalancerState: LoadBalancerState;
  /** The change. */
  loadBalancerRequestId: LoadBalancerRequestIdDto;
  /** Answer of the load balancer, or the reason why it could not be asked. */
  message?: string;
  /** Time at which it was asked, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  timestamp: number;
  /** Method by which it was asked; PRE_ENQUEUE: it was not, yet. */
  @ApiProperty({ enum: loadBalancerMethods, enumName: 'LoadBalancerMethod' })
  method: LoadBalancerMethod;
  /** Address at which it was asked. */
  uri?: string;
}
