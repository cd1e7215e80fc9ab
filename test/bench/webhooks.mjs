// Delay from the commit of a change to the receivers that work, while as many others are dead: they hang, answer 500, refuse the
// connection or answer without end, and are tried again and again. The receivers are a process of their own.
//
//   npm run bench:webhooks                                   500 that work, 500 dead, a change of a request each second
//   npm run bench:webhooks -- --healthy 100 --dead 0 --seconds 10
import { fork } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { percentiles, startInstance } from './support/bench-instance.mjs';
import { machine, options, product, startServer } from './support/bench-world.mjs';

const { WebhooksModule } = await product('modules/webhooks/webhooks.module.js');
const { WebhookOutboxRepository } = await product('modules/webhooks/webhook-outbox.repository.js');

const given = options(process.argv.slice(2));
const healthy = Number(given.healthy ?? 500);
const dead = Number(given.dead ?? 500);
const seconds = Number(given.seconds ?? 40);
const warmUp = Number(given.warmup ?? 15);

const server = await startServer();
const receivers = fork(fileURLToPath(new URL('./webhooks/receivers.mjs', import.meta.url)));
const heard = {};
receivers.on('message', (message) => Object.assign(heard, message));
while (!heard.urls) await delay(20);
const instance = await startInstance(server.url, { modules: [WebhooksModule] });
const bad = [heard.urls.hanging, heard.urls.failing, 'http://127.0.0.1:9', heard.urls.endless];
const uris = [
  ...Array.from({ length: healthy }, (_, index) => `${heard.urls.healthy}/${index}`),
  ...Array.from({ length: dead }, (_, index) => `${bad[index % bad.length]}/${index}`),
];
await instance.db.pool.query(
  `INSERT INTO webhook (id, uri, webhook_type, created_at) SELECT 'REQUEST-' || uri, uri, 'REQUEST', now() FROM unnest($1::text[]) AS uri`,
  [uris],
);

const now = () => performance.timeOrigin + performance.now();
const rssBefore = process.memoryUsage().rss;
const outbox = instance.get(WebhookOutboxRepository);
const committed = new Map();
const begun = performance.now();
let mostRss = 0;
for (let n = 0; n < seconds; n++) {
  await delay(Math.max(0, begun + n * 1_000 - performance.now()));
  const event = {
    request: { id: `web-${n % 7}`, requestType: 'SERVICE' },
    createdAt: Date.now(),
    eventType: 'UPDATED',
    message: String(n),
  };
  await instance.db.transaction((tx) => outbox.request(tx, event));
  committed.set(event.message, { at: now(), n });
  mostRss = Math.max(mostRss, process.memoryUsage().rss);
}
await delay(3_000);
receivers.send({});
while (!heard.arrivals) await delay(20);

const delays = [];
const early = [];
for (let index = 0; index < heard.arrivals.length; index += 2) {
  const { at, n } = committed.get(heard.arrivals[index]);
  (n < warmUp ? early : delays).push(Math.max(0, heard.arrivals[index + 1] - at));
}
const result = {
  healthy,
  dead,
  delivered: early.length + delays.length,
  missing: healthy * seconds - early.length - delays.length,
  ...percentiles(delays),
  p99WhenTheyDie: percentiles(early).p99,
  mostInFlight: heard.most,
  rssBeforeMiB: Math.round(rssBefore / 2 ** 20),
  mostRssMiB: Math.round(mostRss / 2 ** 20),
};
console.log(
  `Milliseconds from the commit to a receiver that works; the first ${warmUp} seconds, in which the dead become known, apart`,
);
console.table([result]);
console.log(JSON.stringify({ bench: 'webhooks', ...result, machine }));
receivers.kill();
await Promise.race([instance.app.close(), delay(3_000)]);
await server.stop();
process.exit(0);
