import { DatabasePool } from '../../../src/platform/database/pool.js';
import { Database } from '../../../src/platform/database/database.js';
import { PgLeadership } from '../../../src/platform/leadership/pg-leadership.js';
import { Notifier } from '../../../src/platform/wake/notifier.js';
import { Wake } from '../../../src/platform/wake/wake.js';

/** An instance that does nothing but lead: it writes a row every few milliseconds while it may. SIGTERM stops it in order. */
const [url, name] = process.argv.slice(2) as [string, string];
const wake = new Wake();
const notifier = new Notifier(url, wake);
const pools = (['api', 'leader'] as const).map((use) => new DatabasePool({ url, use }));
await Promise.all(pools.map((pool) => pool.open()));
const [api, leader] = pools as [DatabasePool, DatabasePool];
const readAddress = async () => {
  const rows: { address: string }[] = await api.query('SELECT address FROM leader_lease WHERE expires_at >= now()');
  return rows[0]?.address;
};
const leadership = new PgLeadership({ url, holder: `${name}-${process.pid}`, readAddress }, wake);
leadership.register({
  name: 'writing',
  gained: (epoch) => Promise.resolve(console.log(`gained ${epoch}`)),
  lost: () => Promise.resolve(console.log('lost')),
});
const database = new Database(api, leader, leadership);
notifier.start();
leadership.start(`http://${name}`);

let running = true;
process.once('SIGTERM', async () => {
  running = false;
  await leadership.stop();
  await notifier.stop();
  await Promise.all(pools.map((pool) => pool.close()));
  console.log('stopped');
});
while (running) {
  await new Promise((resolve) => setTimeout(resolve, 5));
  if (!leadership.ready()) continue;
  await database
    .leaderTransaction((tx, epoch) => tx.query('INSERT INTO written (name, epoch) VALUES ($1, $2)', [name, epoch]))
    .catch((cause: unknown) => console.log(`refused: ${String(cause)}`));
}
