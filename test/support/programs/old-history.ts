import { join } from 'node:path';
import { dumpTables } from '../../../packages/migrate/src/import-history/dump-tables.js';
import { HistoryImport } from '../../../packages/migrate/src/import-history/history-import.js';
import { HistoryBackfillRepository } from '../../../src/modules/history/backfill/history-backfill.repository.js';
import { HistoryBackfill } from '../../../src/modules/history/backfill/history-backfill.service.js';
import { Clock } from '../../../src/platform/clock.js';
import { DatabasePool } from '../../../src/platform/database/pool.js';
import { Database } from '../../../src/platform/database/database.js';
import { Wake } from '../../../src/platform/wake/wake.js';
import { FixedLeadership } from '../fixed-leadership.js';

/** A process that takes over the history of an older installation, for a test that kills it: import <folder>, or backfill. */
const [url, what, folder] = process.argv.slice(2) as [string, string, string];
const pools = (['api', 'leader'] as const).map((use) => new DatabasePool({ url, use }));
await Promise.all(pools.map((pool) => pool.open()));
const [api, leader] = pools as [DatabasePool, DatabasePool];
if (what === 'import') {
  for (const table of dumpTables.slice(0, 3)) {
    console.log(
      `${table.name} ${JSON.stringify(await new HistoryImport(api, join(folder, `${table.name}.csv`), table).run())}`,
    );
  }
} else {
  const database = new Database(api, leader, new FixedLeadership(1));
  const backfill = new HistoryBackfill(database, new HistoryBackfillRepository(), new Clock(), new Wake());
  while (await backfill.step());
}
console.log('done');
await Promise.all(pools.map((pool) => pool.close()));
