import { Module } from '@nestjs/common';
import { LoadBalancerRecords } from './load-balancer-records.service.js';

/** What the load balancer was told, for every room that tells it something or shows it. */
@Module({ providers: [LoadBalancerRecords], exports: [LoadBalancerRecords] })
export class LoadBalancerStoreModule {}
