import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { entities } from '../../entities.js';
import { type InstanceAddress, InstanceRepository } from '../../modules/leadership/instance.repository.js';
import { isLoopbackHost } from '../../platform/addresses.js';
import { checkDatabase } from '../../platform/database/check-database.js';
import { migrate, missingMigrations } from '../../platform/database/migrate.js';
import { DatabasePool } from '../../platform/database/pool.js';
import { EmbeddedServer } from '../../platform/embedded-server/embedded-server.js';
import { StartError } from '../../platform/errors.js';
import type { Settings } from '../../platform/settings/settings.js';
import { say } from './announce.js';

type SharedSettings = Pick<Settings, 'dataDir' | 'databaseUrl'>;

/** Settings with which a scheduler shares the database and the agent of a Muster: of a data directory here, or one that runs at a URL. */
export async function joining(settings: Settings, place: string): Promise<Settings> {
  const shared = /^https?:/i.test(place) ? await byUrl(settings, place) : byDataDir(settings, resolve(place));
  const { dataDir } = shared;
  if (settings.clusterDriver === 'local' && !existsSync(join(dataDir, 'agent', 'endpoint.json')))
    throw new StartError(
      `No agent has run on ${dataDir}, or user ${process.getuid?.()} may not read it: a scheduler can join only on the machine of the agent`,
    );
  return { ...settings, ...shared };
}

/** Prints that the embedded database belongs to another scheduler. */
export async function sayWhoseDatabase(): Promise<void> {
  say(
    'This scheduler uses the embedded database of the Muster that it joined. When that Muster stops, its database stops, and this scheduler waits until it is back',
  );
}

function byDataDir({ databaseUrl }: Settings, dataDir: string): SharedSettings {
  const embedded = EmbeddedServer.urlIn(dataDir);
  if (databaseUrl !== undefined && embedded !== undefined)
    throw new StartError(
      `DATABASE_URL is set, and ${dataDir} has a database of its own: unset DATABASE_URL, or move the database away if nothing uses it any more`,
    );
  const url = databaseUrl ?? embedded;
  if (url === undefined)
    throw new StartError(`There is no database in ${dataDir}: set DATABASE_URL to the database of the Muster there`);
  return { dataDir, databaseUrl: url };
}

const lookEveryMillis = 500;
/** Within this time an instance has written down where it is. */
const toldWithinMillis = 10_000;

/** The database says where the instance at this address has its files, and that it is the one that both work with. */
async function byUrl({ databaseUrl, dataDir, clusterDriver }: Settings, text: string): Promise<SharedSettings> {
  if (!URL.canParse(text)) throw new StartError(`--join: ${text} is no URL such as http://127.0.0.1:7099`);
  if (databaseUrl === undefined)
    throw new StartError(
      `The URL of a database is not sent over HTTP: set DATABASE_URL to the database of ${text}, or give its data directory instead of the URL`,
    );
  await checkDatabase(databaseUrl);
  // Tables are made in none that is not a Muster's: it would be one of its own.
  if ((await missingMigrations(databaseUrl)).isNew)
    throw new StartError(`The database of DATABASE_URL has no tables of a Muster: it is not that of ${text}`);
  await migrate(databaseUrl);
  const pool = await new DatabasePool({ url: databaseUrl, use: 'api', entities, poolSize: 1 }).open();
  try {
    const deadline = performance.now() + toldWithinMillis;
    for (;;) {
      const instances = await new InstanceRepository().addresses(pool);
      const found = instances.find((each) => isAt(each, new URL(text)));
      // Elsewhere than on this machine tasks need nothing of its files.
      if (found) return { databaseUrl, dataDir: clusterDriver === 'local' ? (found.dataDir ?? dataDir) : dataDir };
      if (performance.now() > deadline) {
        const known = instances.map(({ address }) => address).join(', ') || 'none';
        throw new StartError(`The database of DATABASE_URL knows no Muster at ${text} (it knows ${known})`);
      }
      await delay(lookEveryMillis);
    }
  } finally {
    await pool.close();
  }
}

/** On this machine the name by which it is called may be another than the one that it tells. */
export function isAt({ address, hostname: machine }: InstanceAddress, url: URL, here = hostname()): boolean {
  if (url.host === address) return true;
  const portOf = ({ port, protocol }: URL): string => port || (protocol === 'https:' ? '443' : '80');
  return isLoopbackHost(url.hostname) && machine === here && portOf(url) === portOf(new URL(`http://${address}`));
}
