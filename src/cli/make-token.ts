import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { entities } from '../entities.js';
import { AuthTokenRepository } from '../modules/auth/tokens/auth-token.repository.js';
import { firstAdministrator } from '../modules/auth/tokens/tokens.service.js';
import { checkDatabase } from '../platform/database/check-database.js';
import { createDataSource } from '../platform/database/data-sources.js';
import { migrate } from '../platform/database/migrate.js';
import { EmbeddedServer } from '../platform/embedded-server/embedded-server.js';
import { holderOf } from '../platform/process/pid-file.js';
import type { Settings } from '../platform/settings/settings.js';
import { say } from './announce.js';
import { pidFileOf } from './run-scheduler.js';

/**
 * Makes the token of the first administrator, who can make those of all others, and says it once. It takes the place of
 * the one made so before. Works beside a Muster that runs, and without one.
 */
export async function makeFirstToken(settings: Settings): Promise<number> {
  mkdirSync(settings.dataDir, { recursive: true });
  const server =
    settings.databaseUrl === undefined ? await EmbeddedServer.start({ dataDir: settings.dataDir }) : undefined;
  try {
    const token = await storeToken(settings, settings.databaseUrl ?? server!.url);
    say(`Token of the administrator '${firstAdministrator(settings.auth).id}', shown only now:`);
    say(token);
    return 0;
  } finally {
    // A Muster that runs goes on using its server.
    if (server && holderOf(pidFileOf(settings.dataDir)) === undefined) await server.stop();
  }
}

async function storeToken(settings: Settings, url: string): Promise<string> {
  await checkDatabase(url);
  await migrate(url);
  const source = await createDataSource({ url, use: 'api', entities, poolSize: 1 }).initialize();
  try {
    const token = randomUUID();
    const user = firstAdministrator(settings.auth);
    const store = new AuthTokenRepository(settings);
    await source.transaction((tx) => store.replace(tx, { token, user, now: Date.now(), madeOpenly: false }));
    return token;
  } finally {
    await source.destroy();
  }
}
