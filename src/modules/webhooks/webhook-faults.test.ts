import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { makeRequest, start } from '../../../test/support/builders.js';
import { startReceiver, type HttpReceiver } from '../../../test/support/http-receiver.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { testSettings } from '../../../test/support/test-settings.js';
import { waitFor } from '../../../test/support/wait-for.js';
import { WebhookDelivery } from './webhook-delivery.poller.js';
import { WebhookOutboxRepository } from './webhook-outbox.repository.js';
import { WebhookSender } from './webhook-sender.service.js';
import { WebhooksModule } from './webhooks.module.js';

const maxConcurrent = 8;
const webhooks = {
  ...testSettings().webhooks,
  maxConcurrent,
  firstRetryMillis: 50,
  deleteUndeliverableWebhooksAfterHours: 0,
};

let rooms: RoomApp;
let healthy: HttpReceiver;
/** Deliveries that the receivers which do not work have now; these, and connections, at most. */
let present = 0;
let most = 0;
let mostConnections = 0;
/** Bytes that were sent to Muster as one answer, at most. */
let longest = 0;
const servers: Server[] = [];

async function receiver(answer: (response: ServerResponse, own: string) => void): Promise<string> {
  let own = '';
  const server = createServer((request, response) => {
    most = Math.max(most, ++present);
    mostConnections = Math.max(mostConnections, rooms.app.get(WebhookSender).connections);
    response.on('close', () => present--);
    response.on('error', () => undefined);
    request.resume();
    answer(response, own);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  servers.push(server);
  own = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return own;
}

function pour(response: ServerResponse, status: number): void {
  const chunk = Buffer.alloc(65_536, 'x');
  response.writeHead(status, { 'Content-Length': String(2 ** 30) });
  let sent = 0;
  const more = () => {
    do longest = Math.max(longest, (sent += chunk.length));
    while (!response.destroyed && sent < 2 ** 30 && response.write(chunk));
    if (!response.destroyed) response.once('drain', more);
  };
  more();
}

beforeAll(async () => {
  rooms = await startRooms({ modules: [WebhooksModule], settings: { webhooks, checkWebhooksEveryMillis: 60_000 } });
});
afterAll(() => rooms.close());
afterEach(async () => {
  await rooms.database.pool.query('DELETE FROM webhook');
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
  await healthy.close();
  await rooms.app.get(WebhookDelivery).settled();
  present = most = mostConnections = longest = 0;
});

let time = start;
const happen = (id: string) =>
  rooms.database.transaction((tx) =>
    rooms.app
      .get(WebhookOutboxRepository)
      .request(tx, { request: makeRequest({ id }), createdAt: (time += 1), eventType: 'UPDATED' }),
  );

async function register(uris: readonly string[]): Promise<void> {
  for (const uri of uris) {
    expect((await rooms.call('POST', '/api/webhooks', { uri, type: 'REQUEST' })).status).toBe(200);
  }
}

const faults: [string, (response: ServerResponse, own: string) => void][] = [
  ['hangs', () => undefined],
  ['answers 500', (response) => void response.writeHead(500).end()],
  ['redirects for ever', (response, own) => void response.writeHead(307, { location: `${own}/again` }).end()],
  ['answers 1 GB', (response) => pour(response, 200)],
  [
    'answers a byte at a time',
    (response) => {
      response.writeHead(200, { 'Content-Length': '1000000' });
      const timer = setInterval(() => response.write('x'), 50);
      response.on('close', () => clearInterval(timer));
    },
  ],
];

test.each(faults)(
  'forty receivers of which each %s do not keep others waiting',
  async (_name, answer) => {
    healthy = await startReceiver();
    const bad = await receiver(answer);
    await register([...Array.from({ length: 40 }, (_, index) => `${bad}/${index}`), `${healthy.url}/good`]);
    const memory = process.memoryUsage().rss;
    // At first it is not known which of them work.
    await happen('first');
    await waitFor('the first update', () => healthy.calls.length === 1, { timeoutMillis: 20_000 });
    const delays: number[] = [];
    for (let n = 0; n < 10; n++) {
      const begun = performance.now();
      await happen(`web-${n}`);
      await waitFor('the next update', () => healthy.calls.length === n + 2);
      delays.push(performance.now() - begun);
    }
    expect(Math.max(...delays)).toBeLessThan(5_000);
    const mostSlow = maxConcurrent / 2;
    // Receivers learn a moment later of those that are cut.
    expect(most).toBeLessThanOrEqual(maxConcurrent + mostSlow + mostSlow);
    expect(mostConnections).toBeLessThanOrEqual(maxConcurrent + mostSlow + maxConcurrent);
    expect(process.memoryUsage().rss - memory).toBeLessThan(150 * 2 ** 20);
    // What fits into the buffers of two sockets.
    expect(longest).toBeLessThan(32 * 2 ** 20);
  },
  60_000,
);

test('updates come in the order in which they were queued also when a receiver was given up on for a while', async () => {
  healthy = await startReceiver();
  let isBack = false;
  const told: unknown[] = [];
  const flaky = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      if (!isBack) return void response.writeHead(503).end();
      told.push((JSON.parse(text) as { createdAt: number }).createdAt);
      response.writeHead(200).end();
    });
  });
  await new Promise<void>((resolve) => flaky.listen(0, '127.0.0.1', resolve));
  servers.push(flaky);
  await register([`http://127.0.0.1:${(flaky.address() as AddressInfo).port}/`]);
  const first = time + 1;
  for (let n = 0; n < 20; n++) await happen('web');
  await waitFor('failures', async () => {
    const [row] = await rooms.database.pool.query('SELECT failures_in_row FROM webhook');
    return row.failures_in_row >= 3;
  });
  isBack = true;
  await waitFor('all of them', () => told.length >= 20, { timeoutMillis: 20_000 });
  expect([...new Set(told)]).toEqual(Array.from({ length: 20 }, (_, index) => first + index));
}, 60_000);

test('receivers that answer are not taken for slow because this process stands still', async () => {
  healthy = await startReceiver();
  await register(Array.from({ length: maxConcurrent }, (_, index) => `${healthy.url}/${index}`));
  const responses: ServerResponse[] = [];
  healthy.answer = (_call, response) => {
    if (responses.push(response) < maxConcurrent) return;
    const until = performance.now() + 1_000;
    while (performance.now() < until);
    healthy.answer = 200;
    for (const each of responses) each.writeHead(200).end();
  };
  await happen('web');
  const left = () => rooms.database.pool.query('SELECT 1 FROM webhook_update');
  await waitFor('all of them', async () => healthy.calls.length >= maxConcurrent && (await left()).length === 0);
  expect(healthy.calls.length).toBe(maxConcurrent);
  expect(await rooms.database.pool.query('SELECT 1 FROM webhook WHERE last_error IS NOT NULL')).toEqual([]);
});

test('of a thousand receivers half hang: the others are told in seconds, with bounded connections and memory', async () => {
  const usual = rooms;
  const own = { ...testSettings().webhooks, deleteUndeliverableWebhooksAfterHours: 0 };
  rooms = await startRooms({ modules: [WebhooksModule], settings: { webhooks: own } });
  try {
    healthy = await startReceiver();
    const hanging = await receiver(() => undefined);
    const uris = Array.from({ length: 1_000 }, (_, index) => `${index % 2 ? hanging : healthy.url}/${index}`);
    await rooms.database.pool.query(
      `INSERT INTO webhook (id, uri, webhook_type, created_at) SELECT 'REQUEST-' || uri, uri, 'REQUEST', now() FROM unnest($1::text[]) AS uri`,
      [uris],
    );
    const memory = process.memoryUsage().rss;
    // At least once: one that looked slow is told again.
    const told = () => new Set(healthy.calls.map(({ url, text }) => `${url} ${text}`)).size;
    for (let n = 1; n <= 3; n++) {
      await happen('web');
      await waitFor('the next update', () => told() >= n * 500, { timeoutMillis: 180_000 });
    }
    const mostSlow = own.maxConcurrent / 2;
    expect(most).toBeLessThanOrEqual(own.maxConcurrent + mostSlow + mostSlow);
    // Each delivery has one, until it is closed and written down, and so many are kept.
    expect(mostConnections).toBeLessThanOrEqual(own.maxConcurrent + mostSlow + mostSlow + own.maxConcurrent);
    expect(process.memoryUsage().rss - memory).toBeLessThan(200 * 2 ** 20);
    expect(new Set(healthy.calls.map(({ url }) => url)).size).toBe(500);
    expect(told()).toBe(1_500);
    await rooms.database.pool.query('DELETE FROM webhook');
  } finally {
    await rooms.close();
    rooms = usual;
  }
}, 600_000);
