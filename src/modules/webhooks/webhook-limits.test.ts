import { afterEach, describe, expect, test } from 'vitest';
import { makeRequest, start } from '../../../test/support/builders.js';
import { startReceiver, type HttpReceiver } from '../../../test/support/http-receiver.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { testSettings } from '../../../test/support/test-settings.js';
import { waitFor } from '../../../test/support/wait-for.js';
import type { Webhook, WebhookSummary } from '../../core/model/webhook.js';
import type { Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import { WebhookDelivery } from './webhook-delivery.poller.js';
import { WebhookOutboxRepository } from './webhook-outbox.repository.js';
import { WebhooksModule } from './webhooks.module.js';

let rooms: RoomApp | undefined;
let receiver: HttpReceiver | undefined;
afterEach(async () => {
  await rooms?.close();
  await receiver?.close();
  rooms = receiver = undefined;
});

async function open(webhooks: Partial<Settings['webhooks']>): Promise<RoomApp> {
  // What waits here is of long ago: an attempt that fails must not make it a dead letter.
  const never = { deleteUndeliverableWebhooksAfterHours: 0 };
  const settings = { webhooks: { ...testSettings().webhooks, ...never, ...webhooks }, checkWebhooksEveryMillis: 0 };
  return (rooms = await startRooms({ modules: [WebhooksModule], settings }));
}
const register = (uri: string, type = 'REQUEST') => rooms!.call('POST', '/api/webhooks', { uri, type });
const sql = (text: string): Promise<Record<string, unknown>[]> => rooms!.database.pool.query(text);
const queueSizes = async () =>
  ((await rooms!.call('GET', '/api/webhooks/summary')).body as unknown as WebhookSummary[]).map(
    ({ queueSize }) => queueSize,
  );
/** Queues a request event per time, in one transaction each. */
async function happen(...times: number[]): Promise<void> {
  const outbox = rooms!.app.get(WebhookOutboxRepository);
  for (const createdAt of times) {
    const event = { request: makeRequest(), createdAt, eventType: 'UPDATED' as const };
    await rooms!.database.transaction((tx) => outbox.request(tx, event));
  }
}
const times = (count: number): number[] => Array.from({ length: count }, (_, n) => start + n);

describe('updates that wait for one webhook', () => {
  test('are no more than the limit: further ones are dropped and counted, of this webhook only', async () => {
    await open({ maxWaitingUpdatesPerWebhook: 5 });
    await register('http://127.0.0.1:9/one');
    await happen(...times(3));
    await register('http://127.0.0.1:9/two');
    await happen(...times(9).slice(3));
    expect(await queueSizes()).toEqual([5, 5]);
    const outbox = rooms!.app.get(WebhookOutboxRepository);
    expect(outbox.dropped).toBe(4 + 1);
    // One that takes the place of an update that waits needs no room.
    await happen(start + 4);
    expect([await queueSizes(), outbox.dropped]).toEqual([[5, 5], 5]);
  });

  test('are taken again when there is room', async () => {
    await open({ maxWaitingUpdatesPerWebhook: 5 });
    await register('http://127.0.0.1:9/one');
    await happen(...times(7));
    await sql('DELETE FROM webhook_update');
    // A queue that was found full is counted again after a second.
    await waitFor('a new update to be taken', async () => {
      await happen(start + 100);
      return (await queueSizes())[0] === 1;
    });
  });

  test('find the room that a transaction which was taken back had used', async () => {
    await open({ maxWaitingUpdatesPerWebhook: 2 });
    await register('http://127.0.0.1:9/one');
    const outbox = rooms!.app.get(WebhookOutboxRepository);
    const event = { request: makeRequest(), createdAt: start, eventType: 'UPDATED' as const };
    const takenBack = rooms!.database.transaction(async (tx) => {
      await outbox.request(tx, event);
      throw new Error('taken back');
    });
    await expect(takenBack).rejects.toThrow('taken back');
    await happen(...times(2));
    expect([await queueSizes(), outbox.dropped]).toEqual([[2], 0]);
  });

  test('are no more than 3000 unless another limit is set', async () => {
    await open({});
    await register('http://127.0.0.1:9/one');
    await sql(`INSERT INTO webhook_update (webhook_id, update_key, subject_id, event_at, queued_at, next_attempt_at, placeholders, listed, body)
      SELECT id, 'k' || n, 'web', now(), now(), now(), '{}', '{}', '{}' FROM webhook, generate_series(1, 2998) AS n`);
    await happen(...times(5));
    expect(await queueSizes()).toEqual([3_000]);
  });
});

test('dead letters are forgotten by age, and beyond the newest of each webhook', async () => {
  await open({ deleteDeadLettersAfterHours: 1, maxDeadLettersPerWebhook: 2 });
  await register('http://127.0.0.1:9/one');
  await sql(`INSERT INTO webhook_dead_letter (id, webhook_id, update_key, subject_id, event_at, dead_at, attempts, placeholders, listed, body)
    SELECT n, id, 'k', 'web', now(), now() - CASE WHEN n IN (1, 6) THEN interval '61 minutes' ELSE interval '0' END, 1, '{}', '{}', '{}'
    FROM webhook, generate_series(1, 6) AS n`);
  await rooms!.app.get(WebhookDelivery).runOnce(Date.now());
  const left = (await sql('SELECT id::int FROM webhook_dead_letter ORDER BY id')).map(({ id }) => id);
  expect(left).toEqual([4, 5]);
});

describe('webhooks.allowedTargets', () => {
  test('refuses a webhook that leads elsewhere', async () => {
    await open({ allowedTargets: ['*.example.com', '10.0.0.0/8'] });
    const statuses: Record<string, number> = {};
    for (const host of ['a.example.com', '10.1.2.3', '127.0.0.1', '2130706433', '[::1]', '169.254.169.254']) {
      statuses[host] = (await register(`http://${host}/hook`)).status;
    }
    expect(statuses).toEqual({
      'a.example.com': 200,
      '10.1.2.3': 200,
      '127.0.0.1': 400,
      '2130706433': 400,
      '[::1]': 400,
      '169.254.169.254': 400,
    });
  });

  test.each([
    ['a name that may be, at an address that may not', ['*.localhost.example', '10.0.0.0/8'], 'localhost', 0],
    ['one that was registered before the limit', ['hooks.example.com'], '127.0.0.1', 0],
    ['the same without a limit', undefined, '127.0.0.1', 1],
    ['localhost by its name', ['localhost'], 'localhost', 1],
    ['a name at an address of a range', ['127.0.0.0/8', '::1'], 'localhost', 1],
  ])('is asked again when an update is sent: %s', async (_name, allowedTargets, host, received) => {
    await open({ allowedTargets });
    receiver = await startReceiver();
    const { port } = new URL(receiver.url);
    await sql(`INSERT INTO webhook (id, uri, webhook_type, created_at)
      VALUES ('REQUEST-x', 'http://${host}:${port}/hook', 'REQUEST', now())`);
    await happen(start);
    rooms!.app.get(Wake).signal('webhooks');
    await waitFor('an attempt', async () => {
      const [row] = await sql('SELECT last_error FROM webhook_update');
      if (row?.['last_error']) expect(row['last_error']).toContain('allowedTargets');
      return !row || row['last_error'];
    });
    expect(receiver.calls.length).toBe(received);
  });
});

describe('user and password in a uri', () => {
  test('are refused', async () => {
    await open({});
    const { status, body } = await register('http://user:secret@127.0.0.1:9/hook');
    expect([status, JSON.stringify(body)]).toEqual([400, expect.stringContaining('without user and password')]);
    expect(JSON.stringify(body)).not.toContain('secret@');
  });

  test('of an older webhook are never shown, and it is found by what is shown', async () => {
    await open({});
    await sql(`INSERT INTO webhook (id, uri, webhook_type, created_at) VALUES
      ('REQUEST-http%3A%2F%2Fuser%3Asecret%4012%40127.0.0.1%3A9%2Fhook%40x', 'http://user:secret@12@127.0.0.1:9/hook@x', 'REQUEST', now())`);
    await happen(start);
    const listed = (await rooms!.call('GET', '/api/webhooks')).body as unknown as Webhook[];
    expect(listed).toMatchObject([
      { id: 'REQUEST-http%3A%2F%2F***%40127.0.0.1%3A9%2Fhook%40x', uri: 'http://***@127.0.0.1:9/hook@x' },
    ]);
    expect(JSON.stringify((await rooms!.call('GET', '/api/webhooks/summary')).body)).not.toContain('secret');
    const webhookId = encodeURIComponent(listed[0]!.id);
    expect((await rooms!.call('GET', `/api/webhooks/request?webhookId=${webhookId}`)).body).toHaveLength(1);
    expect((await rooms!.call('DELETE', `/api/webhooks?webhookId=${webhookId}`)).body).toBe('DELETED');
    expect(await sql('SELECT id FROM webhook')).toEqual([]);
  });
});
