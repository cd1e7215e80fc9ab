import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { connect, discard } from '../../../src/platform/database/connection.js';
import { spawnNode, type TestProcess } from '../../../test/support/spawn.js';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { createDatabase } from '../../../test/support/test-database.js';
import { waitFor } from '../../../test/support/wait-for.js';
import { originalRequest, startOriginal, type SimulatedOriginal } from './original.js';

// Several programs are started one after the other.
vi.setConfig({ testTimeout: 180_000 });

/** `muster import-from` of the built product, as a process, and the program that has it besides. */
const program = fileURLToPath(new URL('../../../bin/muster.mjs', import.meta.url));
const ownProgram = fileURLToPath(new URL('../bin/muster-migrate.mjs', import.meta.url));

async function scene(): Promise<{ original: SimulatedOriginal; databaseUrl: string; folder: string }> {
  const original = await startOriginal();
  onTestFinished(() => original.close());
  const { url, remove } = await createDatabase({ empty: true });
  onTestFinished(remove);
  const folder = tempFolder();
  onTestFinished(folder.remove);
  return { original, databaseUrl: url, folder: folder.path };
}

/** databaseUrl undefined: the embedded one, in the folder. */
function begin(on: { databaseUrl?: string; folder: string }, ...words: string[]): TestProcess {
  const { databaseUrl, folder } = on;
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

/** Content of a database, down to the last row: each table with a digest of its rows, and all else by its name. */
async function contents(databaseUrl: string): Promise<Record<string, string>> {
  const client = await connect(databaseUrl, 'test', 10_000);
  const query = async (sql: string) =>
    (await client.query(sql)).rows as { name: string; kind: string; digest: string }[];
  const found: Record<string, string> = {};
  const objects = await query(
    `SELECT relname AS name, relkind::text AS kind FROM pg_class WHERE relnamespace = 'public'::regnamespace
     UNION ALL SELECT proname, 'function' FROM pg_proc WHERE pronamespace = 'public'::regnamespace`,
  );
  for (const { name, kind } of objects) {
    const rows =
      kind === 'r' && (await query(`SELECT md5(string_agg(t::text, '|' ORDER BY t::text)) AS digest FROM "${name}" t`));
    found[`${kind} ${name}`] = rows ? String(rows[0]!.digest) : '';
  }
  discard(client);
  return found;
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

describe('a dry run changes nothing', () => {
  const table = /^ {2}requests +2 +2 +0 +0 +0$/m;
  const twoRequests = () => [originalRequest('web'), originalRequest('cron', { type: 'SCHEDULED' })];

  test('in an empty database, and says that it is one', async () => {
    const on = await scene();
    on.original.requests = twoRequests();
    const [exitCode, lines] = await ended(begin(on, on.original.url, '--dry-run'));
    expect(lines[0]).toMatch(
      /^The database has no tables of Muster yet: without --dry-run they are made first \(\d+ migrations\)$/,
    );
    expect(lines.join('\n')).toMatch(table);
    expect(exitCode).toBe(0);
    expect(await contents(on.databaseUrl)).toEqual({});
    expect(readdirSync(on.folder)).toEqual([]);
  });

  test('where there is no database at all', async () => {
    const { original, folder } = await scene();
    original.requests = twoRequests();
    const nowhere = join(folder, 'data');
    const [exitCode, lines] = await ended(begin({ folder: nowhere }, original.url, '--dry-run'));
    expect(lines[0]).toBe(`There is no database in ${nowhere} yet: without --dry-run it is made first`);
    expect(lines.join('\n')).toMatch(table);
    expect(exitCode).toBe(0);
    expect(existsSync(nowhere)).toBe(false);
  });

  test('in a database that is in use, and neither there', async () => {
    const on = await scene();
    on.original.requests = twoRequests();
    await ended(begin(on, on.original.url));
    const before = await contents(on.databaseUrl);
    on.original.requests[0]!.request['instances'] = 3;
    on.original.requests.push(originalRequest('new'));
    on.original.lists['webhooks'] = [{ uri: 'http://127.0.0.1:1/hook', type: 'DEPLOY' }];
    const [, lines] = await ended(begin(on, on.original.url, '--dry-run'));
    expect(lines.join('\n')).toMatch(/^ {2}requests +3 +2 +1 +0 +0$/m);
    const [, handOver] = await ended(begin(on, on.original.url, '--dry-run', '--activate', '*', '--pause-source'));
    expect(handOver.at(-1)).toBe('2 would be handed over, 0 stay held');
    expect(await contents(on.databaseUrl)).toEqual(before);
    expect(on.original.requests.map(({ state }) => state)).toEqual(['ACTIVE', 'ACTIVE', 'ACTIVE']);
  });

  test('in a database of an older version, which it cannot read', async () => {
    const on = await scene();
    await ended(begin(on, on.original.url));
    const client = await connect(on.databaseUrl, 'test', 10_000);
    await client.query('DELETE FROM muster_migration WHERE id = (SELECT max(id) FROM muster_migration)');
    discard(client);
    const before = await contents(on.databaseUrl);
    const [exitCode, lines] = await ended(begin(on, on.original.url, '--dry-run'));
    expect(lines).toEqual([expect.stringMatching(/older version \(1 migrations have not run\).*leave out --dry-run$/)]);
    expect(exitCode).toBe(1);
    expect(await contents(on.databaseUrl)).toEqual(before);
  });
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

test('a file is converted without settings, and one that is not there is not taken for an address', async () => {
  const folder = tempFolder();
  onTestFinished(folder.remove);
  const file = join(folder.path, 'jobs.json');
  writeFileSync(file, JSON.stringify({ name: 'load', command: 'load.sh', schedule: 'R//P1D' }));
  const ran = (...words: string[]) => {
    const started = spawnNode([program, 'import-from', ...words], { MUSTER_CONFIG: join(folder.path, 'none.yml') });
    onTestFinished(() => started.kill());
    return ended(started);
  };
  const [converted, lines] = await ran(file);
  expect(lines).toContain('id: load');
  expect(converted).toBe(0);
  expect(await ran(join(folder.path, 'job.json'))).toEqual([
    2,
    [expect.stringMatching(/^muster: .*job\.json: there is no such file, and it is no address such as http:/)],
  ]);
  expect(await ran(file, '--dry-run')).toEqual([
    2,
    [expect.stringMatching(/^muster: --dry-run is not allowed with a file/)],
  ]);
});

test('muster-migrate has these commands alone, and says what muster says', async () => {
  const { original, folder } = await scene();
  original.requests = [originalRequest('web')];
  const ran = (programFile: string, ...words: string[]) => {
    const started = spawnNode([programFile, ...words], { MUSTER_LOG_LEVEL: 'error' });
    onTestFinished(() => started.kill());
    return ended(started);
  };
  const [helped, help] = await ran(ownProgram, '--help');
  expect(help.flatMap((line) => /^ {2}(\w[\w-]*) /.exec(line)?.[1] ?? [])).toEqual(['import-history', 'import-from']);
  expect(helped).toBe(0);
  const [refusedWith, refused] = await ran(ownProgram, 'import-from', original.url, '--dry');
  expect(refused[0]).toBe("error: unknown option '--dry'");
  expect(refusedWith).toBe(2);
  const words = ['import-from', original.url, '--dry-run', '--data-dir', join(folder, 'none')];
  const [takenWith, taken] = await ran(ownProgram, ...words);
  expect(taken.join('\n')).toMatch(/^ {2}requests +1 +1 +0 +0 +0$/m);
  expect([takenWith, taken]).toEqual(await ran(program, ...words));
});

/** A running installation of the original, such as http://127.0.0.1:7099/singularity; not one that is in use. */
const realOriginal = process.env['ORIGINAL_URL'];

/** In the order of ids. What is being deleted there is left out here. */
async function requestsThere(url: string): Promise<string[]> {
  const found = (await (await fetch(`${url}/api/requests`)).json()) as { request: { id: string }; state: string }[];
  return found.flatMap(({ request, state }) => (state === 'DELETING' ? [] : [request.id])).sort();
}

test.skipIf(realOriginal === undefined)(
  'a real original is taken as a whole, and again nothing is missing (left out: ORIGINAL_URL names none)',
  { timeout: 900_000 },
  async () => {
    const on = await scene();
    const before = await requestsThere(realOriginal!);
    for (const more of [[], ['--no-history']]) {
      const started = begin(on, realOriginal!, '--concurrency', '8', ...more);
      await waitFor('its end', () => started.child.exitCode !== null, { timeoutMillis: 600_000 });
      console.log(started.lines.filter((line) => !/^\d+ of \d+ requests$/.test(line)).join('\n'));
      expect(started.lines.filter((line) => line.startsWith('refused'))).toEqual([]);
      expect(started.child.exitCode).toBe(0);
    }
    const client = await connect(on.databaseUrl, 'test', 10_000);
    const { rows } = await client.query('SELECT id FROM request');
    discard(client);
    const here = (rows as { id: string }[]).map(({ id }) => id).sort();
    // What came or went there meanwhile is as it happened to be.
    const after = new Set(await requestsThere(realOriginal!));
    expect(here).toEqual(expect.arrayContaining(before.filter((id) => after.has(id))));
    expect(here.filter((id) => !after.has(id) && !before.includes(id))).toEqual([]);
  },
);
