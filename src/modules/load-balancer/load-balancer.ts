import type { BalancerChange, RemovedService, Upstream } from '../../core/load-balancer/index.js';
import type { LoadBalancerRequestId, LoadBalancerUpdate } from '../../core/model/load-balancer.js';

/**
 * Sends traffic to tasks. Calls never throw: what went wrong is the state of the update, UNKNOWN when it cannot be told
 * whether the call was carried out. Asking twice under the same id is safe. They may take as long as
 * loadBalancerRequestTimeoutMillis, so nobody calls inside a transaction.
 */
export abstract class LoadBalancer {
  /** A load balancer is configured. Otherwise every call answers SUCCESS at once. */
  abstract readonly enabled: boolean;

  abstract enqueue(id: LoadBalancerRequestId, change: BalancerChange): Promise<LoadBalancerUpdate>;
  /** Takes away upstreams of which no task is known. */
  abstract removeUpstreams(
    id: LoadBalancerRequestId,
    of: Pick<BalancerChange, 'request' | 'deploy'>,
    upstreams: readonly Upstream[],
  ): Promise<LoadBalancerUpdate>;
  abstract state(id: LoadBalancerRequestId): Promise<LoadBalancerUpdate>;
  abstract cancel(id: LoadBalancerRequestId): Promise<LoadBalancerUpdate>;
  abstract deleteService(id: LoadBalancerRequestId, service: RemovedService): Promise<LoadBalancerUpdate>;
  /** What a service consists of now; none when it cannot be told. */
  abstract upstreams(serviceId: string): Promise<Upstream[]>;
}
