import type { Upstream } from '../../core/load-balancer/index.js';
import type { LoadBalancerMethod } from '../../core/model/enums.js';
import type { LoadBalancerRequestId, LoadBalancerUpdate } from '../../core/model/load-balancer.js';
import type { Clock } from '../../platform/clock.js';
import { LoadBalancer } from './load-balancer.js';

/** None is configured: whatever is asked for is done, and nobody is asked. */
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
