import { z } from 'zod';

const whole = (least: number, most: number) => z.number().int().min(least).max(most);

/** Limits of the stream of events, for what it keeps and for its readers. */
export const EventSettings = z.strictObject({
  keepMinutes: whole(1, 10_080).default(60).describe('Time for which events are kept for clients that reconnect'),
  maxKept: whole(1_000, 100_000_000)
    .default(1_000_000)
    .describe('Most events that are kept; beyond, the oldest are deleted (some 250 bytes each)'),
  maxStreams: whole(0, 100_000)
    .default(2_000)
    .describe(
      'Streams of an instance at a time; more are refused with 503; 0: none. API workers share the number evenly',
    ),
  maxStreamsPerCaller: whole(1, 100_000)
    .default(100)
    .describe(
      'Streams of one user (of one address while authentication is off) on an instance; more are refused with 429',
    ),
  maxReplaysPerMinute: whole(1, 1_000_000)
    .default(100)
    .describe(
      'Replays of missed events per minute for one user (one address while authentication is off) on an instance; more are refused with 429',
    ),
  maxBufferedBytes: whole(16_384, 67_108_864)
    .default(65_536)
    .describe(
      'Bytes that may wait for one client, in addition to one chunk of the same size; further events wait in the database',
    ),
  stalledMillis: whole(100, 3_600_000)
    .default(30_000)
    .describe('Time without reading after which a client with waiting events is disconnected'),
  heartbeatMillis: whole(100, 600_000)
    .default(15_000)
    .describe('Time after which a stream without events sends a heartbeat'),
});
