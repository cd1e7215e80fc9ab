import { Logger } from '@nestjs/common';
import { whenStarted } from '../../platform/database/check-database.js';
import { migrate } from '../../platform/database/migrate.js';
import { EmbeddedServer } from '../../platform/embedded-server/embedded-server.js';
import type { Settings } from '../../platform/settings/settings.js';
import { during, say } from './announce.js';
import type { StopSequence } from './stop-sequence.js';

interface OpenDatabase {
  url: string;
  /** The URL without its password. */
  shownUrl: string;
  /** Number of connections that it gives to its users. */
  connections: number;
}

/**
 * A database that answers and has the present schema: the one that was named, or the embedded one. Waits a minute for one that may still
 * be starting; `checkpoint` ends that when a stop is asked for.
 */
export async function openDatabase(
  settings: Settings,
  stop: StopSequence,
  checkpoint: () => void = () => undefined,
): Promise<OpenDatabase> {
  const log = new Logger('Database');
  let url = settings.databaseUrl;
  if (url === undefined) {
    const server = await during('Starting PostgreSQL', () =>
      EmbeddedServer.start({ dataDir: settings.dataDir, say, isAlone: true }),
    );
    stop.add({ name: 'database', inOrder: () => server.stop('fast'), atOnce: () => server.stop('immediate') });
    url = server.url;
  }
  const { connections } = await whenStarted(url, { tell: say, checkpoint });
  const applied = await migrate(url);
  if (applied.length > 0) log.log(`Migrated by ${applied.length} steps, the last one is ${applied.at(-1)}`);
  return { url, shownUrl: withoutPassword(url), connections };
}

function withoutPassword(url: string): string {
  const shown = new URL(url);
  if (shown.password) shown.password = '***';
  return shown.toString();
}
