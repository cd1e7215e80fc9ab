import { Module } from '@nestjs/common';
import { WebhookOutboxModule } from '../webhooks/webhook-outbox.module.js';
import { CrashLoopStore } from './crash-loops/crash-loop-store.service.js';
import { ExpiringActions } from './expiring/expiring-actions.service.js';
import { RequestCleanups } from './request-cleanups.service.js';
import { RequestGroupsStore } from './request-groups-store.service.js';
import { RequestHistoryService } from './request-history.service.js';
import { RequestStore } from './request-store.service.js';

const stores = [
  RequestStore,
  RequestGroupsStore,
  RequestHistoryService,
  RequestCleanups,
  ExpiringActions,
  CrashLoopStore,
];

/** The rows of requests, of their history and of what waits to be done to them, for every room that changes a request. */
@Module({ imports: [WebhookOutboxModule], providers: stores, exports: stores })
export class RequestStoreModule {}
