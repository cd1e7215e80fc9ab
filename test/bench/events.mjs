// Delay from the commit of a change to each of 1,000 clients of the event stream, half of them on the instance that commits and
// half on another one, which hears of it by NOTIFY. The clients are a process of their own. Counts what was lost or came twice.
//
//   npm run bench:events                                     1,000 clients, 20 commits a second for 15 seconds
//   npm run bench:events -- --clients 100 --rate 5 --seconds 5
import { fork } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { percentiles, startInstance } from './support/bench-instance.mjs';
import { machine, options, product, startServer } from './support/bench-world.mjs';

const { EventsModule } = await product('modules/events/events.module.js');
const { LiveEventRepository } = await product('modules/events/live-event.repository.js');

const given = options(process.argv.slice(2));
const clients = Number(given.clients ?? 1_000);
const rate = Number(given.rate ?? 20);
const seconds = Number(given.seconds ?? 15);
const settings = { events: { maxStreams: 100_000, maxStreamsPerCaller: 100_000 } };

const server = await startServer();
const instances = [];
for (const leads of [true, false]) {
  instances.push(await startInstance(server.url, { modules: [EventsModule], settings, leads }));
}
const [writer] = instances;

// Hundreds of thousands of numbers come back: as JSON they would take longer than the rest.
const program = fileURLToPath(new URL('./events/clients.mjs', import.meta.url));
const child = fork(program, { serialization: 'advanced' });
let open = 0;
let cut = 0;
let arrivals;
child.on('message', (message) => {
  open = message.open ?? open;
  cut += message.closed ? 1 : 0;
  arrivals = message.arrivals ?? arrivals;
});
child.send({ urls: Array.from({ length: clients }, (_, index) => instances[index % 2].url) });
while (open < clients) await delay(50);
await delay(1_000);

const now = () => performance.timeOrigin + performance.now();
const repository = writer.get(LiveEventRepository);
const [{ last_number: before }] = await writer.db.pool.query('SELECT last_number FROM live_event_count');
const committed = [];
const begun = performance.now();
for (let n = 0; n < rate * seconds; n++) {
  await delay(Math.max(0, begun + (n * 1_000) / rate - performance.now()));
  await writer.db.transaction((tx) =>
    repository.add(tx, [
      { type: 'SLAVE', at: Date.now(), machineId: `slave-${n}`, state: 'FROZEN', message: 'a bench' },
    ]),
  );
  committed.push(now());
}
await delay(2_000);
child.send({ finish: true });
while (!arrivals) await delay(20);

const delays = [];
for (let index = 0; index < arrivals.length; index += 2) {
  const number = arrivals[index] - Number(before) - 1;
  delays.push(Math.max(0, arrivals[index + 1] - committed[number]));
}
const missing = clients * committed.length - delays.length;
const result = {
  clients,
  commitsPerSecond: rate,
  told: delays.length,
  lostOrDoubled: missing,
  cut,
  ...percentiles(delays),
  rssMiB: Math.round(process.memoryUsage().rss / 2 ** 20),
};
console.log('Milliseconds from the commit to a client');
console.table([result]);
console.log(JSON.stringify({ bench: 'events', ...result, machine }));
child.kill();
await Promise.race([Promise.all(instances.map(({ app }) => app.close())), delay(3_000)]);
await server.stop();
process.exit(0);
