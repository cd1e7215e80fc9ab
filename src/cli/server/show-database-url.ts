import { EmbeddedServer } from '../../platform/embedded-server/embedded-server.js';
import { StartError } from '../../platform/errors.js';
import type { Settings } from '../../platform/settings/settings.js';
import { writeError } from '../output/streams.js';
import { say } from './announce.js';

/** Says how to get into the database, with its password: on demand only, since what a start prints is kept in journals. */
export async function showDatabaseUrl({ databaseUrl, dataDir }: Settings): Promise<number> {
  const url = databaseUrl ?? EmbeddedServer.urlIn(dataDir);
  if (url === undefined) throw new StartError(`There is no database in ${dataDir}: the first start creates it`);
  say(url);
  if (!process.stdout.isTTY)
    writeError(
      'This URL holds a password: all users of this machine see it where it becomes part of a command line. To open the database: muster psql\n',
    );
  return 0;
}
