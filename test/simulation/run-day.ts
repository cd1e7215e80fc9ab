import { cpus, tmpdir, totalmem } from 'node:os';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { migrate } from '../../src/platform/database/migrate.js';
import { EmbeddedServer } from '../../src/platform/embedded-server/embedded-server.js';
import { SimulatedDay } from './day.js';

/** `npm run simulate:day`: on a PostgreSQL of its own, in memory as far as the system allows. */
export async function runDay(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      hours: { type: 'string', default: '24' },
      requests: { type: 'string', default: '1000' },
      machines: { type: 'string', default: '500' },
      seed: { type: 'string', default: '1' },
    },
  });
  const [hours, requests, machines, seed] = [values.hours, values.requests, values.machines, values.seed].map(Number);
  const folder = mkdtempSync(join(tmpdir(), 'mu-day-'));
  // The simulated leaders die, the database does not: nothing has to be on the disk at every commit.
  const parameters = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };
  const server = await EmbeddedServer.start({ dataDir: folder, parameters });
  try {
    await migrate(server.url);
    const options = { hours: hours!, requests: requests!, machines: machines!, seed: seed! };
    const database = { url: server.url, remove: () => Promise.resolve() };
    const figures = await SimulatedDay.run(options, database, (line) => console.log(line));
    const { violations, ...numbers } = figures;
    console.table({ ...numbers, violations: violations.length });
    for (const violation of violations.slice(0, 20)) console.log(violation);
    const machine = {
      cpus: cpus().length,
      model: cpus()[0]?.model,
      memoryGb: Math.round(totalmem() / 2 ** 30),
      node: process.version,
    };
    console.log(JSON.stringify({ simulation: 'day', seed, ...numbers, violations: violations.length, machine }));
    return violations.length === 0 ? 0 : 1;
  } finally {
    await server.stop('immediate');
    rmSync(folder, { recursive: true, force: true });
  }
}
