import { createHmac } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { makeRequest, makeTask, start } from '../../../test/support/builders.js';
import { startReceiver, type HttpReceiver } from '../../../test/support/http-receiver.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { waitFor } from '../../../test/support/wait-for.js';
import type { TaskState } from '../../core/model/enums.js';
import type { RequestHistory } from '../../core/model/request.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import { Wake } from '../../platform/wake/wake.js';
import { WebhookDelivery } from './webhook-delivery.poller.js';
import { WebhookOutboxRepository } from './webhook-outbox.repository.js';
import { WebhooksModule } from './webhooks.module.js';
import type { DeadLetter } from './webhooks.service.js';

const webhooks = {
  maxQueuedUpdatesPerWebhook: 50,
  deleteUndeliverableWebhooksAfterHours: 0,
  maxConcurrent: 3,
  connectTimeoutMillis: 1_000,
  requestTimeoutMillis: 2_000,
  firstRetryMillis: 30,
  lastRetryMillis: 200,
  maxWaitingUpdatesPerWebhook: 3_000,
  deleteDeadLettersAfterHours: 168,
  maxDeadLettersPerWebhook: 3_000,
};
let rooms: RoomApp;
let receiver: HttpReceiver;

beforeAll(async () => {
  const modules = [WebhooksModule];
  rooms = await startRooms({ modules, settings: { webhooks, checkWebhooksEveryMillis: 60_000 } });
});
afterAll(() => rooms.close());
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(async () => {
  await rooms.database.pool.query('DELETE FROM webhook');
  await receiver.close();
  await rooms.app.get(WebhookDelivery).settled();
});

const register = (path = '/hook', more: object = {}) =>
  rooms.call('POST', '/api/webhooks', { uri: receiver.url + path, type: 'REQUEST', ...more });
const wake = () => rooms.app.get(Wake).signal('webhooks');
/** Queues one request event per entry, as the rooms that make changes do. */
async function change(...requests: [requestId: string, message: string][]): Promise<void> {
  const outbox = rooms.app.get(WebhookOutboxRepository);
  await rooms.database.transaction(async (tx) => {
    for (const [id, message] of requests) {
      const eventType = 'UPDATED' as const;
      const createdAt = (eventTime += 1);
      await outbox.request(tx, { request: makeRequest({ id }), createdAt, eventType, message });
    }
  });
  wake();
}
let eventTime = start;
const waiting = async (): Promise<number> =>
  (await rooms.database.pool.query('SELECT count(*)::int AS count FROM webhook_update'))[0].count;
const drained = () => waitFor('an empty queue', async () => (await waiting()) === 0);
const events = (): RequestHistory[] => receiver.calls.map(({ body }) => body as RequestHistory);
const messages = (requestId?: string): (string | undefined)[] =>
  events()
    .filter(({ request }) => requestId === undefined || request.id === requestId)
    .map(({ message }) => message);

describe('what is sent', () => {
  test('the record itself, at once, without any signature', async () => {
    await register();
    await change(['web', 'hello']);
    await drained();
    expect(receiver.calls).toMatchObject([
      {
        method: 'POST',
        url: '/hook',
        body: { request: makeRequest(), eventType: 'UPDATED', message: 'hello', createdAt: eventTime },
      },
    ]);
    const { headers } = receiver.calls[0]!;
    expect(headers['content-type']).toBe('application/json');
    expect(Object.keys(headers).filter((name) => name.startsWith('webhook-'))).toEqual([]);
  });

  test('a task update with its task, to a uri with its ids', async () => {
    await register('/$REQUEST_ID/$DEPLOY_ID?task=$TASK_ID', { type: 'TASK' });
    const task = makeTask({ requestId: 'a&b' });
    const update = { taskId: task.taskId, timestamp: start, taskState: 'TASK_RUNNING' as TaskState, previous: [] };
    const outbox = rooms.app.get(WebhookOutboxRepository);
    await rooms.database.transaction((tx) => outbox.tasks(tx, [update], async () => new Map([[task.taskId.id, task]])));
    wake();
    await drained();
    expect(receiver.calls[0]!.url).toBe(`/a%26b/d1?task=${encodeURIComponent(task.taskId.id)}`);
    expect(receiver.calls[0]!.body).toEqual({ task: JSON.parse(JSON.stringify(task)), taskUpdate: update });
  });

  test('signed when the webhook has a secret: every attempt anew, under one id', async () => {
    const key = Buffer.from('sixteen bytes!!!').toString('base64');
    await register('/signed', { secret: `whsec_${key}` });
    receiver.answer = (call, response) => {
      response.writeHead(receiver.calls.length === 1 ? 500 : 204).end();
      const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': given } = call.headers;
      const signed = createHmac('sha256', Buffer.from(key, 'base64')).update(`${id}.${time}.${call.text}`);
      expect(given).toBe(`v1,${signed.digest('base64')}`);
      expect(Math.abs(Number(time) - Date.now() / 1000)).toBeLessThan(10);
    };
    await change(['web', 'signed']);
    await drained();
    expect(new Set(receiver.calls.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(receiver.calls).toHaveLength(2);
  });
});

describe('order', () => {
  test('updates of one request go one after the other, as they were queued', async () => {
    await register();
    let most = 0;
    receiver.answer = (_call, response) => {
      most = Math.max(most, receiver.inFlight);
      setTimeout(() => response.writeHead(200).end(), 5);
    };
    const numbers = Array.from({ length: 20 }, (_, index) => String(index));
    await change(...numbers.slice(0, 10).map((message): [string, string] => ['web', message]));
    await change(...numbers.slice(10).map((message): [string, string] => ['web', message]));
    await drained();
    expect(messages()).toEqual(numbers);
    expect(most).toBe(1);
  });

  test('a failed update is delivered before the ones behind it', async () => {
    await register();
    receiver.answer = (_call, response) => response.writeHead(receiver.calls.length <= 2 ? 503 : 200).end();
    await change(['web', 'first'], ['web', 'second']);
    await drained();
    expect(messages()).toEqual(['first', 'first', 'first', 'second']);
  });

  test('other requests do not wait, but only so many go at once', async () => {
    await register();
    const answers: (() => void)[] = [];
    receiver.answer = (_call, response) => void answers.push(() => response.writeHead(200).end());
    await change(['a', '1'], ['b', '1'], ['c', '1'], ['d', '1'], ['a', '2']);
    await waitFor('three calls', () => receiver.calls.length === 3);
    await rooms.app.get(WebhookDelivery).runOnce(Date.now());
    expect([receiver.calls.length, receiver.inFlight]).toEqual([3, 3]);
    answers.shift()!();
    await waitFor('the next call', () => receiver.calls.length === 4);
    receiver.answer = 200;
    while (answers.length > 0) answers.shift()!();
    await drained();
    expect(messages('a')).toEqual(['1', '2']);
    expect(receiver.calls).toHaveLength(5);
  });
});

describe('failure', () => {
  test.each([
    { name: 'a redirect', answer: 302, error: 'It answered 302' },
    { name: 'an error', answer: 404, error: 'It answered 404' },
  ])('$name is kept with its reason, and sent again until it is taken', async ({ answer, error }) => {
    await register();
    receiver.answer = (_call, response) => response.writeHead(answer, { location: '/elsewhere' }).end();
    await change(['web', 'hello']);
    await waitFor('a second attempt', () => receiver.calls.length >= 2);
    expect(await rooms.database.pool.query('SELECT last_error FROM webhook_update')).toEqual([{ last_error: error }]);
    receiver.answer = 200;
    await drained();
    expect(new Set(receiver.calls.map(({ url }) => url))).toEqual(new Set(['/hook']));
    const [webhook] = await rooms.database.pool.query('SELECT failures_in_row, next_probe_at FROM webhook');
    expect(webhook).toEqual({ failures_in_row: 0, next_probe_at: null });
  });

  test('a receiver that never answers is given up after the time-out', async () => {
    await register();
    receiver.answer = () => undefined;
    await change(['web', 'hello']);
    await waitFor('the first failure', async () => {
      const [row] = await rooms.database.pool.query('SELECT last_error FROM webhook_update');
      return row?.last_error === 'It did not answer within 2000 ms';
    });
    receiver.answer = 200;
    await drained();
  });

  test('after five failures in a row one update at a time is tried, and all go out when it is back', async () => {
    await register();
    receiver.answer = 500;
    const requests = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    await change(...requests.map((id): [string, string] => [id, 'x']));
    const failures = async () =>
      (await rooms.database.pool.query('SELECT failures_in_row FROM webhook'))[0].failures_in_row as number;
    await waitFor('the breaker', async () => (await failures()) >= 5 && receiver.inFlight === 0);
    await rooms.app.get(WebhookDelivery).settled();
    let most = 0;
    const before = receiver.calls.length;
    receiver.answer = (_call, response) => {
      most = Math.max(most, receiver.inFlight);
      setTimeout(() => response.writeHead(receiver.calls.length >= before + 4 ? 200 : 500).end(), 5);
    };
    await waitFor('three probes', () => receiver.calls.length >= before + 3);
    expect(most).toBe(1);
    await drained();
    expect(await failures()).toBe(0);
    expect(new Set(events().map(({ request }) => request.id))).toEqual(new Set(requests));
  });

  test('beyond the longest queue a failed update becomes a dead letter, from which it can be queued again', async () => {
    await register();
    receiver.answer = 500;
    // Of 52 one fails at least twice over the limit; 50 stay.
    await change(...Array.from({ length: 52 }, (_, index): [string, string] => ['web', String(index)]));
    await waitFor('the dead letters', async () => (await waiting()) === 50);
    const letters = await rooms.get<DeadLetter[]>('/api/webhooks/dead-letters');
    expect(letters.body).toMatchObject([
      {
        updateKey: expect.stringContaining('web:UPDATED'),
        attempts: 1,
        lastError: 'It answered 500',
        body: { message: '1' },
      },
      { attempts: 1, body: { message: '0' } },
    ]);
    expect((await rooms.get('/api/webhooks/summary')).body).toMatchObject([{ queueSize: 50 }]);
    const id = encodeURIComponent(letters.body[0]!.webhookId);
    expect((await rooms.get(`/api/webhooks/dead-letters?webhookId=${id}&count=1&page=2`)).body).toMatchObject([
      { body: { message: '0' } },
    ]);
    await rooms.database.pool.query(
      `WITH letter AS (DELETE FROM webhook_dead_letter RETURNING *)
       INSERT INTO webhook_update (webhook_id, update_key, subject_id, event_at, queued_at, next_attempt_at, placeholders, listed, body)
       SELECT webhook_id, update_key, subject_id, event_at, now(), now(), placeholders, listed, body FROM letter`,
    );
    receiver.answer = 200;
    wake();
    await drained();
    expect(new Set(messages()).size).toBe(52);
  });
});

describe('nothing is lost', () => {
  test('an update that is replaced while it is on its way goes out once more', async () => {
    await register();
    const tell = (message: string) =>
      rooms.database.transaction((tx) =>
        rooms.app
          .get(WebhookOutboxRepository)
          .request(tx, { request: makeRequest(), createdAt: start, eventType: 'UPDATED', message }),
      );
    let release!: () => void;
    receiver.answer = (_call, response) => void (release = () => response.writeHead(200).end());
    await tell('former');
    wake();
    await waitFor('the call', () => receiver.calls.length === 1);
    await tell('present');
    receiver.answer = 200;
    release();
    await drained();
    expect(messages()).toEqual(['former', 'present']);
  });

  test('an update whose delivery was not marked is delivered again by the next leader', async () => {
    await register();
    let release!: () => void;
    receiver.answer = (_call, response) => void (release = () => response.writeHead(200).end());
    await change(['web', 'once']);
    await waitFor('the call', () => receiver.calls.length === 1);
    // The lease is lost while the receiver has the update in its hands: what it answers is not heard any more.
    await rooms.app.get(Leadership).stop();
    release();
    await rooms.app.get(WebhookDelivery).settled();
    expect(await waiting()).toBe(1);
    const successor = await startSuccessor();
    try {
      receiver.answer = 200;
      await successor.app.get(WebhookDelivery).runOnce(Date.now());
      await drained();
      expect(messages()).toEqual(['once', 'once']);
    } finally {
      await successor.close();
    }
  });
});

/** Another instance on the same database. */
async function startSuccessor(): Promise<RoomApp> {
  const modules = [WebhooksModule];
  const settings = { webhooks, checkWebhooksEveryMillis: 60_000 };
  return startRooms({ modules, settings, databaseUrl: rooms.databaseUrl });
}
