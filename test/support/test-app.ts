import type { NestExpressApplication } from '@nestjs/platform-express';
import type { ClusterDriver } from '../../src/cluster/cluster-driver.js';
import { SimulatedCluster } from './simulated-cluster/simulated-cluster.js';
import { startApp } from '../../src/app.js';
import { Clock } from '../../src/platform/clock.js';
import { Database } from '../../src/platform/database/database.js';
import { Leadership } from '../../src/platform/leadership/leadership.js';
import type { Settings } from '../../src/platform/settings/settings.js';
import { createDatabase } from './test-database.js';
import { testSettings } from './test-settings.js';
import { waitFor } from './wait-for.js';

export { testSettings } from './test-settings.js';

export interface TestAppOptions<Driver extends ClusterDriver> {
  /** Default: one simulated machine on which nothing happens by itself. */
  driver?: Driver;
  /** Default: a database of its own. */
  databaseUrl?: string;
  /** Another instance leads on this database: there is nothing to wait for. */
  follows?: boolean;
  settings?: Partial<Settings>;
  clock?: Clock;
}

export interface TestApp<Driver extends ClusterDriver> {
  url: string;
  databaseUrl: string;
  app: NestExpressApplication;
  database: Database;
  driver: Driver;
  close(): Promise<void>;
}

/** The whole application on a database and a port of its own. It leads when this resolves. */
export async function startTestApp<Driver extends ClusterDriver = ClusterDriver>(
  options: TestAppOptions<Driver> = {},
): Promise<TestApp<Driver>> {
  const { url: databaseUrl, remove } = options.databaseUrl
    ? { url: options.databaseUrl, remove: () => Promise.resolve() }
    : await createDatabase();
  const settings = { ...testSettings(options.settings), databaseUrl };
  const driver = options.driver ?? (new SimulatedCluster().driver() as ClusterDriver as Driver);
  const { app, url } = await startApp({ settings, driver, clock: options.clock, logger: false });
  const close = async () => {
    await app.close();
    await remove();
  };
  try {
    if (!options.follows) await waitFor('the leadership', () => app.get(Leadership).ready());
  } catch (cause) {
    await close();
    throw cause;
  }
  return { url, databaseUrl, app, database: app.get(Database), driver, close };
}
