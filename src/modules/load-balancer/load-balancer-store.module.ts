import { Module } from '@nestjs/common';
import { LoadBalancerDeletions } from './load-balancer-deletions.service.js';
import { LoadBalancerRecords } from './load-balancer-records.service.js';
import { LoadBalancerRemovals } from './load-balancer-removals.service.js';

const stores = [LoadBalancerRecords, LoadBalancerRemovals, LoadBalancerDeletions];

/** What the load balancer was told and still has to be told, for every room that tells it something or shows it. */
@Module({ providers: stores, exports: stores })
export class LoadBalancerStoreModule {}
