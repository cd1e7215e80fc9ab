import type { LoadBalancerRequestId } from '../model/load-balancer.js';

/** The id as the load balancer knows it. */
export const requestIdText = ({ id, requestType, attemptNumber }: LoadBalancerRequestId): string =>
  `${id}-${requestType}-${attemptNumber}`;
