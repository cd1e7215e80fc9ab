import { Module } from '@nestjs/common';
import { WebhookOutbox } from './webhook-outbox.service.js';

/** The writing side of webhooks: what other rooms need to queue an update. */
@Module({ providers: [WebhookOutbox], exports: [WebhookOutbox] })
export class WebhookOutboxModule {}
