import { Module } from '@nestjs/common';
import { WebhookOutboxModule } from '../webhooks/webhook-outbox.module.js';
import { RequestHistoryService } from './request-history.service.js';
import { RequestStore } from './request-store.service.js';

/** The rows of requests and of their history, for every room that changes a request. */
@Module({
  imports: [WebhookOutboxModule],
  providers: [RequestStore, RequestHistoryService],
  exports: [RequestStore, RequestHistoryService],
})
export class RequestStoreModule {}
