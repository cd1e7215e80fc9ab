import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openEventStream, type EventClient, type HeardEvent } from '../../../test/support/event-client.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { testSettings } from '../../../test/support/test-settings.js';
import { waitFor } from '../../../test/support/wait-for.js';
import { Notifier } from '../../platform/wake/notifier.js';
import { EventRetentionPoller } from './event-retention.poller.js';
import { EventsModule } from './events.module.js';
import { LiveEventRepository } from './live-event.repository.js';

const settings = { events: { ...testSettings().events, maxBufferedBytes: 16_384, heartbeatMillis: 100 } };
let instances: RoomApp[];
beforeAll(async () => {
  const first = await startRooms({ modules: [EventsModule], settings });
  const second = await startRooms({ modules: [EventsModule], settings, databaseUrl: first.databaseUrl });
  instances = [second, first];
  for (const { app } of instances) app.get(Notifier).start();
});
afterAll(async () => {
  for (const instance of instances) await instance.close();
});

/** A transaction of one of several writers at once: on one instance, for so long, with so many events on one of three records. */
interface Writing {
  instance: number;
  record: number;
  count: number;
  millis: number;
  fails: boolean;
  isLarge: boolean;
}

const writing: fc.Arbitrary<Writing> = fc.record({
  instance: fc.nat(1),
  record: fc.nat(2),
  count: fc.integer({ min: 1, max: 700 }),
  millis: fc.nat(12),
  fails: fc.boolean(),
  isLarge: fc.boolean(),
});
const writers = fc.array(fc.array(writing, { minLength: 1, maxLength: 6 }), { minLength: 2, maxLength: 5 });
/** Time for which a client stays, and its instance, until it is cut off. */
const cuts = fc.array(fc.record({ instance: fc.nat(1), millis: fc.nat(25) }), { maxLength: 12 });

let round = 0;
const told = (events: readonly HeardEvent[]): string[] => events.map(({ data }) => String(data['machineId']));

/** Holds the lock on its record, as changes of one request do, so that they come one after the other. */
async function write(
  prefix: string,
  committed: string[],
  { instance, record, count, millis, fails, isLarge }: Writing,
) {
  const { database, app } = instances[instance]!;
  const own = `${prefix}-${record}-${committed.length}-${Math.random()}`;
  const names = Array.from({ length: count }, (_, index) => `${own}-${index}`);
  await database
    .transaction(async (tx) => {
      // A transaction id from before the lock: commits are not in the order of these.
      await tx.query('SELECT pg_current_xact_id()');
      await tx.query('SELECT pg_advisory_xact_lock($1)', [record]);
      await app.get(LiveEventRepository).add(
        tx,
        names.map((machineId) => ({ type: 'SLAVE', at: 1, machineId, message: isLarge ? 'x'.repeat(300) : undefined })),
      );
      await delay(millis);
      if (fails) throw new Error('rolled back');
      // Nothing of the same record can be committed in between.
      committed.push(...names);
    })
    .catch((cause: Error) => expect(cause.message).toBe('rolled back'));
}

test('whatever is written at once and however a client is cut off: it hears every event once, each record in its order', async () => {
  await fc.assert(
    fc.asyncProperty(writers, cuts, async (plans, stays) => {
      const prefix = `r${round++}`;
      const committed: string[] = [];
      const heard: HeardEvent[] = [];
      let lastId: string | undefined;
      const open = async (instance: number): Promise<EventClient> => {
        const headers: Record<string, string> = lastId === undefined ? {} : { 'Last-Event-ID': lastId };
        return openEventStream(`${instances[instance]!.url}/api/events`, headers);
      };
      const leave = (client: EventClient) => {
        client.close();
        heard.push(...client.events);
        lastId = client.lastId ?? lastId;
      };
      let client = await open(0);
      await waitFor('the place', () => client.lastId !== undefined);
      const begun = client.lastId!;
      const writing = Promise.all(
        plans.map(async (plan) => {
          for (const each of plan) await write(prefix, committed, each);
        }),
      );
      for (const { instance, millis } of stays) {
        await delay(millis);
        leave(client);
        client = await open(instance);
      }
      await writing;
      await instances[1]!.app.get(EventRetentionPoller).runOnce(Date.now());
      await waitFor('the rest', () => heard.length + client.events.length >= committed.length);
      leave(client);
      expect(told(heard).toSorted()).toEqual(committed.toSorted());
      for (const record of [0, 1, 2]) {
        const ofRecord = (names: string[]) => names.filter((name) => name.startsWith(`${prefix}-${record}-`));
        expect(ofRecord(told(heard))).toEqual(ofRecord(committed));
      }
      const ids = heard.map(({ id }) => Number(id));
      expect(ids).toEqual(committed.map((_, index) => Number(begun) + 1 + index));
    }),
    { numRuns: process.env['CI'] ? 60 : 25, endOnFailure: true },
  );
}, 120_000);
