import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkDatabase } from '../../../../src/platform/database/check-database.js';
import { readOnlyParameters, withParameters } from '../../../../src/platform/database/connection.js';
import { migrate, missingMigrations } from '../../../../src/platform/database/migrate.js';
import { EmbeddedServer } from '../../../../src/platform/embedded-server/embedded-server.js';
import { StartError } from '../../../../src/platform/errors.js';
import { holderOf } from '../../../../src/platform/process/pid-file.js';
import type { Settings } from '../../../../src/platform/settings/settings.js';
import { say } from '../../../../src/cli/server/announce.js';
import { pidFileOf } from '../../../../src/cli/server/instance-place.js';
import type { StopSequence } from '../../../../src/cli/server/stop-sequence.js';

/** The URL of a database that has the present schema: the one that was named, or the embedded one. */
export async function openToImport(settings: Settings, stop: StopSequence): Promise<string> {
  const url = settings.databaseUrl ?? (await startServer(settings.dataDir, stop));
  await checkDatabase(url);
  await migrate(url);
  return url;
}

/**
 * Opens the database for a run that changes nothing: over these connections nothing can be written. Where the database
 * is still to be made, or is empty, an empty one in a temporary directory stands in its place.
 */
export async function openToLook({ databaseUrl, dataDir }: Settings, stop: StopSequence): Promise<string> {
  const isThere = databaseUrl !== undefined || EmbeddedServer.urlIn(dataDir) !== undefined;
  if (!isThere) {
    say(`There is no database in ${dataDir} yet: without --dry-run it is made first`);
    return startTemporary(stop);
  }
  const url = databaseUrl ?? (await startServer(dataDir, stop));
  await checkDatabase(url);
  const { missing, isNew } = await missingMigrations(url);
  if (missing.length === 0) return withParameters(url, readOnlyParameters);
  if (isNew) {
    say(
      `The database has no tables of Muster yet: without --dry-run they are made first (${missing.length} migrations)`,
    );
    return startTemporary(stop);
  }
  throw new StartError(
    `A dry run changes nothing, so it cannot look into this database: its schema is that of an older version ` +
      `(${missing.length} migrations have not run). Start this version of Muster on it once, or leave out --dry-run`,
  );
}

/** The embedded server; a Muster that runs goes on using it. */
async function startServer(dataDir: string, stop: StopSequence): Promise<string> {
  mkdirSync(dataDir, { recursive: true, mode: 0o711 });
  const server = await EmbeddedServer.start({ dataDir, say });
  const isFree = () => holderOf(pidFileOf(dataDir)) === undefined;
  stop.add({
    name: 'database',
    inOrder: async () => (isFree() ? server.stop('fast') : undefined),
    atOnce: async () => (isFree() ? server.stop('immediate') : undefined),
  });
  return server.url;
}

async function startTemporary(stop: StopSequence): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), 'muster-dry-run-'));
  let server: EmbeddedServer | undefined;
  const end = async () => {
    await server?.stop('immediate');
    rmSync(dataDir, { recursive: true, force: true });
  };
  stop.add({ name: 'database', inOrder: end, atOnce: end });
  // Whatever the umask: the server's user has to pass through.
  chmodSync(dataDir, 0o711);
  server = await EmbeddedServer.start({ dataDir });
  await migrate(server.url);
  return server.url;
}
