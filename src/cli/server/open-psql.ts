import { spawn } from 'node:child_process';
import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, discard } from '../../platform/database/connection.js';
import { openReportRole, reportRole } from '../../platform/database/report-role.repository.js';
import { EmbeddedServer } from '../../platform/embedded-server/embedded-server.js';
import { StartError } from '../../platform/errors.js';
import type { Settings } from '../../platform/settings/settings.js';

const answerTimeoutMillis = 10_000;

/**
 * Opens the database in psql. Other users of the machine, those of tasks among them, see all command lines: the password is in a file
 * that the caller alone can read, for as long as psql runs. Answers psql's exit code.
 */
export async function openPsql(settings: Settings, reports: boolean, words: readonly string[]): Promise<number> {
  const own = settings.databaseUrl ?? EmbeddedServer.urlIn(settings.dataDir);
  if (own === undefined)
    throw new StartError(`There is no database in ${settings.dataDir}: the first start creates it`);
  const { url, password } = withoutPassword(reports ? await urlOfReports(own) : own);
  const folder = mkdtempSync(join(tmpdir(), 'muster-psql-'));
  // Ctrl-C is for psql, which ends its query by it.
  const ignored = () => undefined;
  process.on('SIGINT', ignored);
  try {
    const environment = { ...process.env };
    if (password !== undefined) {
      // It would count for more than the file.
      delete environment['PGPASSWORD'];
      environment['PGPASSFILE'] = join(folder, 'password');
      writeFileSync(environment['PGPASSFILE'], `*:*:*:*:${password.replaceAll(/[\\:]/g, String.raw`\$&`)}\n`, {
        mode: 0o600,
      });
    }
    const psql = spawn('psql', [`--dbname=${url}`, ...words], { stdio: 'inherit', env: environment });
    for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.once(signal, () => psql.kill(signal));
    const [code, signal] = (await once(psql, 'exit')) as [number | null, NodeJS.Signals | null];
    return code ?? 128 + (signal ? constants.signals[signal] : 0);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause;
    throw new StartError('There is no psql on this machine: install the client programs of PostgreSQL', { cause });
  } finally {
    process.off('SIGINT', ignored);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The password follows from the owner's, which it does not tell: so it is the same for all who open reports. */
async function urlOfReports(own: string): Promise<string> {
  const { password: ofOwner = randomBytes(24) } = withoutPassword(own);
  const password = createHmac('sha256', ofOwner).update(reportRole).digest('base64url');
  const client = await connect(own, 'reports', answerTimeoutMillis);
  try {
    if (!(await openReportRole(client, password)))
      throw new StartError(`The user of DATABASE_URL may not create the role ${reportRole}: it needs CREATEROLE`);
  } finally {
    discard(client);
  }
  const url = new URL(own);
  url.searchParams.delete('user');
  url.username = reportRole;
  url.searchParams.delete('password');
  url.password = password;
  return url.toString();
}

/** libpq takes parameters of a URL over what stands before its host. */
function withoutPassword(text: string): { url: string; password: string | undefined } {
  const url = new URL(text);
  const password = url.searchParams.get('password') ?? decodeURIComponent(url.password);
  url.password = '';
  for (const name of ['password', 'sslpassword']) url.searchParams.delete(name);
  return { url: url.toString(), password: password || undefined };
}
