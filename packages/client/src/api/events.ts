import { byteStream, contract, get, header, query } from 'rest-contract/client';
import { EventType } from '../records/events.js';
import { list, optional, string } from '../schema.js';

/** What happens, as it happens. */
export const EventsApi = contract('EventsApi', {
  /**
   * Tells what happens, as it happens: server-sent events without end. `followEvents` reads them, and goes on after a cut. An
   * addition of Muster.
   */
  stream: get(
    {
      /** Of which types; default: all. */
      type: query(optional(list(EventType))),
      /** Of which requests; then nothing is told of machines and disasters. Default: all. */
      requestId: query(optional(list(string))),
      /** The number of the last event that is there, to go on behind it; 0: all that is kept. */
      lastEventId: query(optional(string)),
      /** The same, as browsers send it by themselves. */
      resumedAfter: header('Last-Event-ID', optional(string)),
    },
    byteStream('text/event-stream'),
    { path: '' },
  ),
});
