import { Logger } from '@nestjs/common';
import { checkDatabase } from '../platform/database/check-database.js';
import { migrate } from '../platform/database/migrate.js';
import { EmbeddedServer } from '../platform/embedded-server/embedded-server.js';
import type { Settings } from '../platform/settings/settings.js';
import { say } from './announce.js';
import type { StopSequence } from './stop-sequence.js';

interface OpenDatabase {
  url: string;
  /** The same as one may show it. */
  shownUrl: string;
}

/** A database that answers and has the present schema: the one that was named, or the embedded one. */
export async function openDatabase(settings: Settings, stop: StopSequence): Promise<OpenDatabase> {
  const log = new Logger('Database');
  let url = settings.databaseUrl;
  if (url === undefined) {
    say('Starting PostgreSQL');
    const server = await EmbeddedServer.start({ dataDir: settings.dataDir, say });
    stop.add({ name: 'database', inOrder: () => server.stop('fast'), atOnce: () => server.stop('immediate') });
    url = server.url;
  }
  await checkDatabase(url);
  for (const name of await migrate(url)) log.log(`Migrated: ${name}`);
  return { url, shownUrl: withoutPassword(url) };
}

function withoutPassword(url: string): string {
  const shown = new URL(url);
  if (shown.password) shown.password = '***';
  return shown.toString();
}
