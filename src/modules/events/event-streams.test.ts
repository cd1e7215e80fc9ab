import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { makeRequest, start } from '../../../test/support/builders.js';
import { openEventStream, type EventClient } from '../../../test/support/event-client.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { waitFor } from '../../../test/support/wait-for.js';
import { testSettings } from '../../../test/support/test-settings.js';
import { EventRetentionPoller } from './event-retention.poller.js';
import { EventStreams } from './event-streams.service.js';
import { EventsModule } from './events.module.js';
import { LiveEventRepository } from './live-event.repository.js';
import { OutboxRepository } from './outbox.repository.js';

const events = {
  ...testSettings().events,
  maxStreams: 6,
  maxStreamsPerCaller: 5,
  heartbeatMillis: 100,
  stalledMillis: 300,
  maxBufferedBytes: 16_384,
};

let rooms: RoomApp;
const clients: EventClient[] = [];
beforeAll(async () => {
  rooms = await startRooms({ modules: [EventsModule], settings: { events } });
});
afterAll(() => rooms.close());
beforeEach(() => rooms.database.pool.query('DELETE FROM live_event'));
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});

async function listen(query = '', headers: Record<string, string> = {}): Promise<EventClient> {
  const client = await openEventStream(`${rooms.url}/api/events${query}`, headers);
  clients.push(client);
  return client;
}

let time = start;
const outbox = () => rooms.app.get(OutboxRepository);
const happen = (...requestIds: string[]) =>
  rooms.database.transaction(async (tx) => {
    for (const id of requestIds) {
      await outbox().request(tx, { request: makeRequest({ id }), createdAt: (time += 1), eventType: 'UPDATED' });
    }
  });
const requestsOf = (client: EventClient): unknown[] => client.events.map(({ data }) => data['requestId']);
const heard = (client: EventClient, count: number) => waitFor(`${count} events`, () => client.events.length >= count);

describe('a stream', () => {
  test('tells what happens from when it is open on, with its number as id and its type as event', async () => {
    await happen('before');
    const client = await listen();
    expect([client.status, client.headers['content-type']]).toEqual([200, 'text/event-stream; charset=utf-8']);
    expect(client.headers['cache-control']).toContain('no-transform');
    await happen('web');
    await heard(client, 1);
    const [event] = client.events;
    expect(event).toEqual({
      id: expect.stringMatching(/^\d+$/) as string,
      type: 'REQUEST',
      data: { type: 'REQUEST', at: time, requestId: 'web', eventType: 'UPDATED' },
    });
  });

  test('goes on where a client was cut off', async () => {
    const client = await listen();
    await happen('a', 'b');
    await heard(client, 2);
    client.close();
    await happen('c');
    for (const again of [
      await listen('', { 'Last-Event-ID': client.events[0]!.id }),
      await listen(`?lastEventId=${client.events[0]!.id}`),
    ]) {
      await heard(again, 2);
      expect(requestsOf(again)).toEqual(['b', 'c']);
    }
  });

  test('says where it is, also when nothing is for it', async () => {
    const client = await listen('?requestId=mine');
    const before = client.lastId!;
    await happen('others');
    await waitFor('a greater id', () => Number(client.lastId) > Number(before));
    expect(client.events).toEqual([]);
    await happen('mine');
    await heard(client, 1);
  });

  test('tells what was rolled back to no one, and the rest in the order of commits', async () => {
    const client = await listen();
    await expect(
      rooms.database.transaction(async (tx) => {
        await rooms.app.get(LiveEventRepository).add(tx, [{ type: 'SLAVE', at: 1, machineId: 'no' }]);
        throw new Error('rolled back');
      }),
    ).rejects.toThrow('rolled back');
    // The one that begins first ends last: its row has the smaller id, and is seen when the other one was told already.
    let release!: () => void;
    const released = new Promise<void>((resolve) => (release = resolve));
    let written!: () => void;
    const isWritten = new Promise<void>((resolve) => (written = resolve));
    const slow = rooms.database.transaction(async (tx) => {
      await outbox().request(tx, { request: makeRequest({ id: 'slow' }), createdAt: start, eventType: 'UPDATED' });
      written();
      await released;
    });
    await isWritten;
    await happen('quick');
    await heard(client, 1);
    release();
    await slow;
    await heard(client, 2);
    expect(requestsOf(client)).toEqual(['quick', 'slow']);
    const again = await listen('', { 'Last-Event-ID': client.events[0]!.id });
    await heard(again, 1);
    expect(requestsOf(again)).toEqual(['slow']);
  });

  test.each([
    ['?type=TASK', []],
    ['?type=TASK&type=REQUEST', ['a', 'b']],
    ['?requestId=b', ['b']],
    ['?requestId=b&type=SLAVE', []],
  ])('with %s tells of these only', async (query, expected) => {
    const [client, all] = [await listen(query), await listen()];
    await happen('a', 'b');
    await heard(all, 2);
    await waitFor('the same place', () => client.lastId === all.lastId);
    expect(requestsOf(client)).toEqual(expected);
  });

  test.each(['?type=NOISE', '?lastEventId=x', '?lastEventId=-1'])('with %s is refused', async (query) => {
    const { status, body } = await rooms.get<{ code: string }>(`/api/events${query}`);
    expect([status, body.code]).toEqual([400, expect.stringMatching(/^INVALID_/)]);
  });

  test('answers HEAD without a stream', async () => {
    const answer = await fetch(`${rooms.url}/api/events`, { method: 'HEAD' });
    expect([answer.status, await answer.text()]).toEqual([200, '']);
  });

  test('is told of as much as is kept, and that the rest is gone', async () => {
    const client = await listen();
    await happen('a', 'b', 'c');
    await heard(client, 3);
    client.close();
    await rooms.database.pool.query(
      `UPDATE live_event SET written_at = now() - interval '2 hours' WHERE number <= $1`,
      [client.events[1]!.id],
    );
    await rooms.app.get(EventRetentionPoller).runOnce(Date.now());
    const late = await listen('', { 'Last-Event-ID': String(Number(client.events[0]!.id) - 1) });
    await heard(late, 2);
    expect(late.events.map(({ type, id }) => [type, id])).toEqual([
      ['reset', client.events[1]!.id],
      ['REQUEST', client.events[2]!.id],
    ]);
    const intime = await listen('', { 'Last-Event-ID': client.events[1]!.id });
    await heard(intime, 1);
    expect(requestsOf(intime)).toEqual(['c']);
    await rooms.database.pool.query(`UPDATE live_event SET written_at = now() - interval '2 hours'`);
    await rooms.app.get(EventRetentionPoller).runOnce(Date.now());
    const later = await listen('', { 'Last-Event-ID': client.events[1]!.id });
    await heard(later, 1);
    expect(later.events).toMatchObject([{ type: 'reset', id: client.events[2]!.id }]);
  });

  test('that comes from an instance which knows more goes on where it is', async () => {
    // No message tells the other instance that something happened: it looks once a second.
    const other = await startRooms({ modules: [EventsModule], settings: { events }, databaseUrl: rooms.databaseUrl });
    try {
      clients.push(await openEventStream(`${other.url}/api/events`));
      const client = await listen();
      await happen('a');
      await heard(client, 1);
      const moved = await openEventStream(`${other.url}/api/events`, { 'Last-Event-ID': client.lastId! });
      clients.push(moved);
      await happen('b');
      await heard(moved, 1);
      expect(moved.events.map(({ type }) => type)).toEqual(['REQUEST']);
      expect(requestsOf(moved)).toEqual(['b']);
    } finally {
      await other.close();
    }
  });

  test('has no gaps where events that were written earlier came to be seen later', async () => {
    const client = await listen();
    await happen('a', 'b', 'c');
    await heard(client, 3);
    await rooms.database.pool.query(`UPDATE live_event SET written_at = now() - interval '2 hours' WHERE number = $1`, [
      client.events[1]!.id,
    ]);
    await rooms.app.get(EventRetentionPoller).runOnce(Date.now());
    const late = await listen('', { 'Last-Event-ID': String(Number(client.events[0]!.id) - 1) });
    await heard(late, 3);
    expect(requestsOf(late)).toEqual(['a', 'b', 'c']);
  });

  test('of a database that has not come so far begins anew', async () => {
    const client = await listen('', { 'Last-Event-ID': '999999999' });
    await happen('a');
    await heard(client, 2);
    expect(client.events.map(({ type }) => type)).toEqual(['reset', 'REQUEST']);
  });

  test('of one caller, and of all, there are only so many', async () => {
    for (let n = 0; n < 5; n++) await listen();
    const refused = await rooms.get<{ code: string }>('/api/events');
    expect([refused.status, refused.body.code]).toEqual([429, 'TOO_MANY_STREAMS']);
    clients.splice(0).forEach((client) => client.close());
    await waitFor('room', async () => {
      const client = await openEventStream(`${rooms.url}/api/events`);
      clients.push(client);
      return client.status === 200;
    });
  });
});

describe('a client that does not read', () => {
  const flood = async (rounds: number) => {
    const message = 'x'.repeat(4_000);
    for (let n = 0; n < rounds; n++) {
      await rooms.database.transaction((tx) =>
        rooms.app.get(LiveEventRepository).add(
          tx,
          Array.from({ length: 200 }, (_, index) => ({ type: 'SLAVE', at: n, machineId: `s${index}`, message })),
        ),
      );
    }
  };

  test('is cut off, and the others hear everything', async () => {
    const deaf = await listen();
    const client = await listen();
    deaf.pause();
    const streams = rooms.app.get(EventStreams);
    let most = 0;
    const timer = setInterval(() => (most = Math.max(most, streams.waitingBytes)), 1);
    await flood(20);
    await heard(client, 4_000);
    clearInterval(timer);
    // Of each of the two clients: what may wait, and one piece more.
    expect(most).toBeLessThan(2 * (2 * events.maxBufferedBytes + 10_000));
    await waitFor('the cut', () => rooms.app.get(EventStreams).figures.cut === 1);
    deaf.resume();
    await waitFor('the end of its connection', () => deaf.isClosed);
  });

  test('for a while hears everything later', async () => {
    const slow = await listen();
    slow.pause();
    await flood(3);
    slow.resume();
    await heard(slow, 600);
    expect(slow.events.map(({ id }) => Number(id))).toEqual(
      Array.from({ length: 600 }, (_, index) => Number(slow.events[0]!.id) + index),
    );
  });
});
