import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { EventFeed } from './event-feed.service.js';
import { EventStreamMetrics } from './event-stream-metrics.service.js';
import { EventRetentionPoller } from './event-retention.poller.js';
import { EventSights } from './event-sights.service.js';
import { EventStreams } from './event-streams.service.js';
import { EventsController } from './events.controller.js';

/** Live events: changes as they happen. */
@Module({
  imports: [AuthModule],
  controllers: [EventsController],
  providers: [EventFeed, EventRetentionPoller, EventSights, EventStreamMetrics, EventStreams],
  exports: [EventStreams],
})
export class EventsModule {}
