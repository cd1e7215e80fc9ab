import { startApp } from '../../../src/app.js';
import { SettingsFile } from '../../../src/platform/settings/settings.js';
import { SimulatedCluster } from '../simulated-cluster/simulated-cluster.js';
import { testSettings } from '../test-settings.js';

/** The whole application, which sends mails as told: a database, and `smtp` as JSON. A test kills it. */
const [databaseUrl, smtp] = process.argv.slice(2) as [string, string];
const settings = testSettings(
  SettingsFile.parse({ smtp: JSON.parse(smtp) as object, checkQueuedMailsEveryMillis: 500 }),
);
const { url } = await startApp({ settings: { ...settings, databaseUrl }, driver: new SimulatedCluster().driver() });
console.log(`\nlistens ${url}`);
