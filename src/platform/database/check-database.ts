import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { StartError } from '../errors.js';
import { connect, discard, leaderParameters, withParameters } from './connection.js';
import { isStarting } from './database-errors.js';

const oldestMajor = 15;
const answerTimeoutMillis = 5_000;

/**
 * Looks at the database before anything depends on it: reachable, new enough, and able to deliver a notification. The
 * last fails behind a pooler in transaction mode, where LISTEN, leases and time-outs would break one by one. Answers how many
 * connections it gives to users who are no administrators of it.
 */
export async function checkDatabase(url: string): Promise<{ connections: number }> {
  const place = decodeURIComponent(new URL(url).host) + new URL(url).pathname;
  const [listener, sender] = await Promise.all([open(url, place), open(url, place)]);
  try {
    const { rows } = await listener.query<{ major: number; connections: number }>(
      `SELECT current_setting('server_version_num')::int / 10000 AS major, current_setting('max_connections')::int
         - current_setting('superuser_reserved_connections')::int
         - coalesce(current_setting('reserved_connections', true)::int, 0) AS connections`,
    );
    const { major, connections } = rows[0]!;
    if (major < oldestMajor) {
      throw new StartError(`The database at ${place} is PostgreSQL ${major}; ${oldestMajor} or newer is needed`);
    }
    const word = randomUUID();
    const heard = new Promise<boolean>((resolve) => {
      listener.on('notification', (message) => message.payload === word && resolve(true));
      setTimeout(() => resolve(false), answerTimeoutMillis).unref();
    });
    await listener.query('LISTEN muster_check');
    await sender.query('SELECT pg_notify($1, $2)', ['muster_check', word]);
    if (!(await heard)) {
      throw new StartError(
        `The database at ${place} does not deliver notifications: DATABASE_URL must point at PostgreSQL itself, not at a pooler`,
      );
    }
    // A pooler in session mode delivers them, but may refuse the time-outs that a leader depends on.
    discard(await open(withParameters(url, leaderParameters), place));
    return { connections };
  } catch (cause) {
    if (cause instanceof StartError) throw cause;
    throw new StartError(`The database at ${place} cannot be used: ${describe(cause)}`, { cause });
  } finally {
    discard(listener);
    discard(sender);
  }
}

interface WhenStartedOptions {
  /** Time in which a database may start that was started together with its scheduler, as by a compose file. */
  withinMillis?: number;
  /** Is told once, when there is a wait. */
  tell: (line: string) => void;
  /** Throws when the wait shall end. */
  checkpoint: () => void;
}

/** As `checkDatabase`, and waits for a server that may just be starting. What refuses us does so at once. */
export async function whenStarted(
  url: string,
  { withinMillis = 60_000, tell, checkpoint }: WhenStartedOptions,
): Promise<{ connections: number }> {
  const end = performance.now() + withinMillis;
  for (let isTold = false; ; isTold = true) {
    try {
      return await checkDatabase(url);
    } catch (cause) {
      if (!(cause instanceof StartError) || !isStarting(cause.cause) || performance.now() >= end) throw cause;
      if (!isTold) tell(`${cause.message}. Waiting up to ${Math.ceil(withinMillis / 1_000)} seconds for it`);
    }
    await sleep(500);
    checkpoint();
  }
}

async function open(url: string, place: string) {
  try {
    return await connect(url, 'check', answerTimeoutMillis);
  } catch (cause) {
    throw new StartError(`The database at ${place} cannot be reached: ${describe(cause)}`, { cause });
  }
}

/** An error for several addresses of one host has no message of its own. */
function describe(cause: unknown): string {
  if (cause instanceof AggregateError) return cause.errors.map(describe).join(', ');
  return cause instanceof Error ? cause.message : String(cause);
}
