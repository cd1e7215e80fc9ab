import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test, vi } from 'vitest';
import { connect, discard } from '../../src/platform/database/connection.js';
import { spawnNode, type TestProcess } from '../support/spawn.js';
import { tempFolder } from '../support/temp-folder.js';
import { createDatabase } from '../support/test-database.js';
import { waitFor } from '../support/wait-for.js';
import { originalRequest, startOriginal, type SimulatedOriginal } from './original.js';

// Several programs are started one after the other.
vi.setConfig({ testTimeout: 180_000 });

/** `muster import-from` of the built product, as a process. */
const program = fileURLToPath(new URL('../../bin/muster.mjs', import.meta.url));

async function scene(): Promise<{ original: SimulatedOriginal; databaseUrl: string; folder: string }> {
  const original = await startOriginal();
  onTestFinished(() => original.close());
  const { url, remove } = await createDatabase({ empty: true });
  onTestFinished(remove);
  const folder = tempFolder();
  onTestFinished(folder.remove);
  return { original, databaseUrl: url, folder: folder.path };
}

function begin({ databaseUrl, folder }: Awaited<ReturnType<typeof scene>>, ...words: string[]): TestProcess {
  const environment = { DATABASE_URL: databaseUrl, MUSTER_LOG_LEVEL: 'error' };
  const started = spawnNode([program, 'import-from', ...words, '--data-dir', folder], environment);
  onTestFinished(() => started.kill());
  return started;
}

async function ended(started: TestProcess): Promise<[exitCode: number, lines: string[]]> {
  await waitFor('its end', () => started.child.exitCode !== null, { timeoutMillis: 60_000 });
  return [started.child.exitCode!, started.lines];
}

async function count(databaseUrl: string, table: string): Promise<number> {
  const client = await connect(databaseUrl, 'test', 10_000);
  const { rows } = await client.query(`SELECT count(*)::int AS count FROM ${table}`);
  discard(client);
  return (rows as { count: number }[])[0]!.count;
}

test('killed in the middle it goes on where it was, and hands over what is told', async () => {
  const on = await scene();
  on.original.requests = Array.from({ length: 30 }, (_, number) => originalRequest(`web-${number}`));
  let answered = 0;
  // In the middle of the tasks of the tenth request or so it gets no answer any more.
  on.original.intercept = (path) => path.startsWith('history/task/') && ++answered > 20;
  const first = begin(on, on.original.url);
  await waitFor('the middle', () => answered > 20, { timeoutMillis: 60_000 });
  await first.kill('SIGKILL');
  on.original.intercept = undefined;
  const before = await count(on.databaseUrl, 'request');
  expect(before).toBeGreaterThan(5);
  expect(before).toBeLessThan(30);

  const [exitCode, lines] = await ended(begin(on, on.original.url));
  expect(lines.join('\n')).toMatch(new RegExp(`requests +30 +${30 - before} +${before} +0 +0`));
  expect(lines.at(-1)).toBe('30 requests are held: import-from ... --activate <pattern> hands them over');
  expect(exitCode).toBe(0);
  expect([await count(on.databaseUrl, 'request'), await count(on.databaseUrl, 'task_history')]).toEqual([30, 60]);

  const [, handedOver] = await ended(begin(on, on.original.url, '--activate', 'web-1?', '--pause-source'));
  expect(handedOver.filter((line) => line.startsWith('handed over'))).toHaveLength(10);
  expect(handedOver.at(-1)).toBe('10 handed over, 0 stay held');
  expect(await count(on.databaseUrl, 'pending_request')).toBe(10);
});

test('a token is sent and never shown; without it there is one clear line', async () => {
  const on = await scene();
  on.original.authorization = 'Bearer s3cr3t';
  const file = join(on.folder, 'token');
  writeFileSync(file, 's3cr3t\n');
  const [refusedWith, refused] = await ended(begin(on, on.original.url));
  expect(refused).toEqual([
    `${on.original.url}/api asks for authentication (HTTP 401 at requests/active): name who asks with --header or --token`,
  ]);
  expect(refusedWith).toBe(1);
  // Nothing was begun for it.
  await expect(count(on.databaseUrl, 'import_item')).rejects.toThrow(/import_item/);
  const [exitCode, lines] = await ended(begin(on, on.original.url, '--token', `@${file}`, '--dry-run'));
  expect(exitCode).toBe(0);
  expect(lines.join('\n')).not.toContain('s3cr3t');
});

test('wrong words are one line and exit code 1', async () => {
  const on = await scene();
  const told = async (...words: string[]) => (await ended(begin(on, ...words)))[1];
  expect(await told(on.original.url, '--concurrency', '100')).toEqual([
    '--concurrency must be a whole number from 1 to 32',
  ]);
  expect(await told(on.original.url, '--pause-source')).toEqual([
    '--pause-source and --side-by-side belong to --activate',
  ]);
});

/** A running installation of the original, such as http://127.0.0.1:7099/singularity; not one that is in use. */
const realOriginal = process.env['ORIGINAL_URL'];

test.skipIf(realOriginal === undefined)(
  'a real original is taken as a whole (left out: ORIGINAL_URL names none)',
  { timeout: 600_000 },
  async () => {
    const on = await scene();
    const started = begin(on, realOriginal!, '--concurrency', '8');
    await waitFor('its end', () => started.child.exitCode !== null, { timeoutMillis: 590_000 });
    const found = (await (await fetch(`${realOriginal}/api/requests`)).json()) as unknown[];
    expect(started.lines.filter((line) => line.startsWith('refused'))).toEqual([]);
    expect(await count(on.databaseUrl, 'request')).toBe(found.length);
  },
);
