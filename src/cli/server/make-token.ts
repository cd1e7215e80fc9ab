import { mkdirSync } from 'node:fs';
import { entities } from '../../entities.js';
import { AuthTokenRepository } from '../../modules/auth/tokens/auth-token.repository.js';
import { newTokenText } from '../../modules/auth/tokens/token-text.js';
import { firstAdministrator } from '../../modules/auth/tokens/tokens.service.js';
import { checkDatabase } from '../../platform/database/check-database.js';
import { DatabaseClock } from '../../platform/database/database-clock.js';
import { DatabasePool } from '../../platform/database/pool.js';
import { migrate } from '../../platform/database/migrate.js';
import { EmbeddedServer } from '../../platform/embedded-server/embedded-server.js';
import { holderOf } from '../../platform/process/pid-file.js';
import { Notifier } from '../../platform/wake/notifier.js';
import { Wake } from '../../platform/wake/wake.js';
import type { Settings } from '../../platform/settings/settings.js';
import { say } from './announce.js';
import { pidFileOf } from './instance-place.js';

const dayMillis = 86_400_000;

/**
 * Makes the token of the first administrator, who can make those of all others, and says it once. It takes the place of
 * the one made so before. Works beside a Muster that runs, and without one. With settings by which callers are not checked
 * it opens nothing once they are, as any token that was made openly.
 */
export async function makeFirstToken(settings: Settings): Promise<number> {
  mkdirSync(settings.dataDir, { recursive: true });
  const server =
    settings.databaseUrl === undefined ? await EmbeddedServer.start({ dataDir: settings.dataDir }) : undefined;
  try {
    const token = await storeToken(settings, settings.databaseUrl ?? server!.url);
    if (!settings.auth.enabled) {
      say(
        'auth.enabled is not set here: this token opens nothing once it is. Name the settings file in MUSTER_CONFIG.',
      );
    }
    say(`Token of the administrator '${firstAdministrator(settings.auth).id}', shown only now:`);
    say(token);
    return 0;
  } finally {
    // A Muster that runs goes on using its server.
    if (server && holderOf(pidFileOf(settings.dataDir)) === undefined) await server.stop();
  }
}

/** Instances that run forget the token that this one takes the place of. */
async function tellOthers(url: string): Promise<void> {
  const wake = new Wake();
  const notifier = new Notifier(url, wake);
  notifier.start();
  wake.signal('tokens');
  await notifier.stop();
}

async function storeToken(settings: Settings, url: string): Promise<string> {
  await checkDatabase(url);
  await migrate(url);
  const pool = await new DatabasePool({ url, use: 'api', entities, poolSize: 1 }).open();
  try {
    const { id, text } = newTokenText();
    const user = firstAdministrator(settings.auth);
    const clock = new DatabaseClock();
    await clock.begin(pool);
    const now = clock.now();
    const expiresAt = now + settings.auth.tokenDays * dayMillis;
    const made = {
      id,
      text,
      user,
      name: '',
      madeBy: 'muster token',
      madeOpenly: !settings.auth.enabled,
      now,
      expiresAt,
    };
    const store = new AuthTokenRepository(settings);
    await pool.transaction((tx) => store.put(tx, made));
    await tellOthers(url);
    return text;
  } finally {
    await pool.close();
  }
}
