import { requestOf, publishedEvent } from '../../core/events/index.js';
import type { LiveEvent } from '../../core/model/event.js';
import type { EventBatch } from './live-event.repository.js';

export interface NumberedEvent {
  number: number;
  event: LiveEvent;
  /** Id of the request, where the event is about one. */
  requestId: string | undefined;
  /** As it is sent. */
  record: Buffer;
}

/** The events with the numbers after `after`, up to `upTo`. */
export interface EventPage {
  after: number;
  upTo: number;
  /** Up to here they are forgotten: events go in the order of their numbers. Less than `after`, or the same: none is missing. */
  forgottenUpTo: number;
  /** Size of all records. */
  bytes: number;
  events: readonly NumberedEvent[];
}

/** A record of server-sent events. JSON has no line ends. */
export const recordOf = (type: string, id: number, data: unknown): string =>
  `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;

/** `upTo`: as far as is known to be there. */
export function pageOf(after: number, upTo: number, batches: readonly EventBatch[]): EventPage {
  const events = batches
    .flatMap(({ first, events: written }) => written.map((each, index) => ({ each, number: first + index })))
    .filter(({ number }) => number > after && number <= upTo)
    .map(({ each, number }) => {
      const event = publishedEvent(each);
      return { number, event, requestId: requestOf(event), record: Buffer.from(recordOf(event.type, number, event)) };
    });
  const last = events.at(-1)?.number ?? upTo;
  const forgottenUpTo = events.length < last - after ? last - events.length : after;
  return {
    after,
    upTo: last,
    forgottenUpTo,
    bytes: events.reduce((sum, { record }) => sum + record.length, 0),
    events,
  };
}
