import { Module } from '@nestjs/common';
import { StatusDelays } from './status-delays.service.js';

/** For the scheduler, which measures, and for the instances, which tell. */
@Module({ providers: [StatusDelays], exports: [StatusDelays] })
export class StatusDelaysModule {}
