import { Module } from '@nestjs/common';
import { UsageRechecks } from './usage-rechecks.service.js';
import { UsageStore } from './usage-store.service.js';

/** What slaves and requests use, for every room that decides by it. */
@Module({ providers: [UsageStore, UsageRechecks], exports: [UsageStore, UsageRechecks] })
export class UsageStoreModule {}
