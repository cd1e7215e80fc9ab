import { Injectable } from '@nestjs/common';
import { Metrics } from '../../platform/metrics/metrics.js';
import { EventStreams } from './event-streams.service.js';

/** Shows in the metrics of this instance how its event streams do. */
@Injectable()
export class EventStreamMetrics {
  constructor(metrics: Metrics, streams: EventStreams) {
    metrics.gauge('muster_event_streams', 'Clients of the event stream of this instance', [], (gauge) =>
      gauge.set(streams.count),
    );
    metrics.gauge('muster_event_stream_waiting_bytes', 'Bytes that wait until clients of it read', [], (gauge) =>
      gauge.set(streams.waitingBytes),
    );
    const ends = 'Clients of it that were refused, were cut because they did not read, or had asked for what is gone';
    metrics.counter('muster_event_stream_losses_total', ends, ['why'], (counter) => {
      const { refused, cut, resets } = streams.figures;
      for (const [why, count] of Object.entries({ refused, cut, resets })) counter.inc({ why }, count);
    });
    metrics.counter('muster_events_sent_total', 'Events that were sent to them, before their filters', [], (counter) =>
      counter.inc(streams.figures.sent),
    );
  }
}
