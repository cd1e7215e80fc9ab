import { Module } from '@nestjs/common';
import { Clock } from '../clock.js';
import { SETTINGS, type Settings } from '../settings/settings.js';
import { HttpLoadBalancer } from './http-load-balancer.js';
import { LoadBalancer, NoLoadBalancer } from './load-balancer.js';

const loadBalancer = ({ loadBalancerUri, ...settings }: Settings, clock: Clock): LoadBalancer =>
  loadBalancerUri === undefined
    ? new NoLoadBalancer(clock)
    : new HttpLoadBalancer({ ...settings, loadBalancerUri }, clock);

/** The load balancer itself, for every room that sends tasks there. */
@Module({
  providers: [{ provide: LoadBalancer, inject: [SETTINGS, Clock], useFactory: loadBalancer }],
  exports: [LoadBalancer],
})
export class LoadBalancerClientModule {}
