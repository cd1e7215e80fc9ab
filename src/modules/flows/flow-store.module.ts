import { Module } from '@nestjs/common';
import { FollowUps } from './follow-ups.service.js';

/** What follows the ends of runs, for other rooms. */
@Module({ providers: [FollowUps], exports: [FollowUps] })
export class FlowStoreModule {}
