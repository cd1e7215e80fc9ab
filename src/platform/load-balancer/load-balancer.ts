import type { BalancerChange, RemovedService, Upstream } from '../../core/load-balancer/index.js';
import type { LoadBalancerMethod } from '../../core/model/enums.js';
import type { LoadBalancerRequestId, LoadBalancerUpdate } from '../../core/model/load-balancer.js';
import type { Clock } from '../clock.js';

/** Calls to the load balancer in flight at once: enough to get through a long queue, too few to be a burden to it. */
export const mostCallsAtOnce = 16;

/**
 * Sends traffic to tasks. Calls never throw: what went wrong is the state of the update, UNKNOWN when it cannot be told
 * whether the call was carried out. Asking twice under the same id is safe. They may take as long as
 * loadBalancerRequestTimeoutMillis, so it is never called inside a transaction.
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
  /** The present addresses of a service; none when they cannot be told. */
  abstract upstreams(serviceId: string): Promise<Upstream[]>;
}

/** None is configured: whatever is asked for counts as done, and no server is called. */
export class NoLoadBalancer extends LoadBalancer {
  override readonly enabled = false;

  constructor(private readonly clock: Clock) {
    super();
  }

  override enqueue(id: LoadBalancerRequestId): Promise<LoadBalancerUpdate> {
    return this.success(id, 'ENQUEUE');
  }

  override removeUpstreams(id: LoadBalancerRequestId): Promise<LoadBalancerUpdate> {
    return this.success(id, 'ENQUEUE');
  }

  override state(id: LoadBalancerRequestId): Promise<LoadBalancerUpdate> {
    return this.success(id, 'CHECK_STATE');
  }

  override cancel(id: LoadBalancerRequestId): Promise<LoadBalancerUpdate> {
    return this.success(id, 'CANCEL');
  }

  override deleteService(id: LoadBalancerRequestId): Promise<LoadBalancerUpdate> {
    return this.success(id, 'DELETE');
  }

  override upstreams(): Promise<Upstream[]> {
    return Promise.resolve([]);
  }

  private success(
    loadBalancerRequestId: LoadBalancerRequestId,
    method: LoadBalancerMethod,
  ): Promise<LoadBalancerUpdate> {
    const timestamp = this.clock.now();
    return Promise.resolve({ loadBalancerState: 'SUCCESS', loadBalancerRequestId, timestamp, method });
  }
}
