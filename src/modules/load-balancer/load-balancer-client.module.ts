import { Module } from '@nestjs/common';
import { Clock } from '../../platform/clock.js';
import { LoadBalancer } from './load-balancer.js';
import { NoLoadBalancer } from './no-load-balancer.js';

/** The load balancer itself, for every room that sends tasks there. */
@Module({
  providers: [{ provide: LoadBalancer, inject: [Clock], useFactory: (clock: Clock) => new NoLoadBalancer(clock) }],
  exports: [LoadBalancer],
})
export class LoadBalancerClientModule {}
