import { createInterface } from 'node:readline/promises';
import { EmbeddedServer } from '../../platform/embedded-server/embedded-server.js';
import { StartError } from '../../platform/errors.js';
import type { Settings } from '../../platform/settings/settings.js';
import { say } from './announce.js';

/**
 * A scheduler alone is mostly meant to share the database of another one. Where it would make one of its own, which knows nothing of
 * any other, it asks first; where nobody can be asked, as in a container or under a supervisor, it says so.
 */
export async function confirmNewDatabase({ databaseUrl, dataDir }: Settings, isConfirmed: boolean): Promise<void> {
  if (databaseUrl !== undefined || isConfirmed || EmbeddedServer.urlIn(dataDir) !== undefined) return;
  const without = `There is no database in ${dataDir}, and a new one would be separate from any Muster that already runs.`;
  const choices =
    '--join <data directory or URL> joins a running Muster, DATABASE_URL names a server, --new-database creates a separate database';
  if (!process.stdin.isTTY || !process.stdout.isTTY) return say(`${without} ${choices}`);
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    const answer = await terminal.question(`${without} ${choices}.\nCreate a new database? [y/N] `);
    if (!/^y(es)?$/i.test(answer.trim())) throw new StartError('Not started: no database was created');
  } finally {
    terminal.close();
  }
}
