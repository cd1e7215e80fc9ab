import { Module } from '@nestjs/common';
import { HealthController } from './health.controller.js';

/** Whether this instance lives and can serve, for load balancers and people. */
@Module({ controllers: [HealthController] })
export class HealthModule {}
