import { z } from 'zod';

const whole = (least: number, most: number) => z.number().int().min(least).max(most);

/** Limits of the stream of events, for what it keeps and for its readers. */
export const EventSettings = z.strictObject({
  keepMinutes: whole(1, 10_080)
    .default(60)
    .describe('How long an event can be asked for again by a client that was cut off'),
  maxKept: whole(1_000, 100_000_000)
    .default(1_000_000)
    .describe('Events that are kept at most; beyond, the oldest go (some 250 bytes each)'),
  maxStreams: whole(0, 100_000)
    .default(2_000)
    .describe(
      'Streams that an instance serves at a time; more are refused with 503; 0: none. API workers share the number evenly',
    ),
  maxStreamsPerCaller: whole(1, 100_000)
    .default(100)
    .describe(
      'Streams of one user (of one address while authentication is off) on an instance; more are refused with 429',
    ),
  maxReplaysPerMinute: whole(1, 1_000_000)
    .default(100)
    .describe(
      'How often a minute one user (one address while authentication is off) may have an instance read what a stream missed; more are refused with 429',
    ),
  maxBufferedBytes: whole(16_384, 67_108_864)
    .default(65_536)
    .describe(
      'What may wait to be sent to one client, besides one piece as long; beyond, events wait in the database until it has read that',
    ),
  stalledMillis: whole(100, 3_600_000)
    .default(30_000)
    .describe('Time after which a client that reads nothing of what waits for it is cut off'),
  heartbeatMillis: whole(100, 600_000)
    .default(15_000)
    .describe('A stream without events says after this time that it is alive'),
});
