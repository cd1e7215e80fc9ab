import { Module } from '@nestjs/common';
import { WebhookDelivery } from './webhook-delivery.poller.js';
import { WebhookMarks } from './webhook-marks.service.js';
import { WebhookQueuesController, WebhooksController } from './webhooks.controller.js';
import { WebhookSender } from './webhook-sender.service.js';
import { Webhooks } from './webhooks.service.js';

@Module({
  // The queues first: their paths would be taken for ids of webhooks.
  controllers: [WebhookQueuesController, WebhooksController],
  providers: [Webhooks, WebhookMarks, WebhookSender, WebhookDelivery],
  exports: [WebhookDelivery, Webhooks],
})
export class WebhooksModule {}
