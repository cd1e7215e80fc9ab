import type { LoadBalancerMethod, LoadBalancerRequestType, LoadBalancerState } from './enums.js';

/** Names one change of the load balancer. The same id again is the same change, which is carried out once. */
export interface LoadBalancerRequestId {
  id: string;
  requestType: LoadBalancerRequestType;
  /** From 1; a change that failed is tried again under the next number. */
  attemptNumber: number;
}

/** State of a change of the load balancer. */
export interface LoadBalancerUpdate {
  loadBalancerState: LoadBalancerState;
  loadBalancerRequestId: LoadBalancerRequestId;
  /** Answer of the load balancer, or the reason why it could not be asked. */
  message?: string;
  /** Epoch milliseconds at which it was asked. */
  timestamp: number;
  method: LoadBalancerMethod;
  /** Address of the call; absent when nothing was sent. */
  uri?: string;
}
