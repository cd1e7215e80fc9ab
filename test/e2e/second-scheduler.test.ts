import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { spawnSync } from 'node:child_process';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { missingMigrations } from '../../src/platform/database/migrate.js';
import { spawnNode, type TestProcess } from '../support/spawn.js';
import { createDatabase } from '../support/test-database.js';
import { waitFor } from '../support/wait-for.js';
import { Api } from './support/api.js';
import { Installation, type Instance } from './support/product.js';

const program = fileURLToPath(new URL('../../bin/muster.mjs', import.meta.url));
const installations: Installation[] = [];
const started: TestProcess[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((each) => each.kill()));
  await Promise.all(installations.splice(0).map((installation) => installation.dispose()));
}, 90_000);

function install(options: ConstructorParameters<typeof Installation>[0] = {}): Installation {
  const installation = new Installation(options);
  installations.push(installation);
  return installation;
}

/** As one who has nothing but the command line of the page: no port, no settings of the other one. */
function scheduler(words: string[], env: Record<string, string> = {}): TestProcess {
  const own = { MUSTER_PORT: '', MUSTER_DATA_DIR: '', DATABASE_URL: '', MUSTER_HTTP_WORKERS: '0', ...env };
  const process = spawnNode([program, 'scheduler', ...words], own, '/');
  started.push(process);
  return process;
}
const urlOf = async (process: TestProcess): Promise<string> =>
  (await process.line('  API ', 60_000)).trim().replace(/\/api$/, '');
const ended = async (process: TestProcess): Promise<number> => {
  await waitFor('the process to end', () => process.child.exitCode !== null, { timeoutMillis: 60_000 });
  return process.child.exitCode!;
};
const leads = (url: string): Promise<true> =>
  waitFor(
    `${url} to lead`,
    async () => ((await (await fetch(`${url}/readyz`)).json()) as { leads: boolean }).leads || undefined,
    { timeoutMillis: 30_000 },
  );

async function runs(api: Api, runId: string): Promise<void> {
  await api.post('requests/request/job/run', { runId });
  await waitFor(
    'the run to have ended',
    async () => (await api.get<unknown[]>(`history/request/job/tasks?runId=${runId}`)).length > 0,
    { timeoutMillis: 30_000 },
  );
}
async function makeJob({ api }: Instance): Promise<void> {
  await api.saveRequest({ id: 'job', requestType: 'ON_DEMAND' });
  await api.deploy({ requestId: 'job', id: 'v1', command: 'true', resources: { cpus: 0.1, memoryMb: 8 } });
  await api.deployEnded('job', 'v1');
}

describe('muster scheduler --join', () => {
  test('with a data directory shares its embedded database and agent, and takes over from one that is killed', async () => {
    const installation = install();
    const { dataDir } = installation;
    const first = await installation.start(['start', '--keep-tasks']);
    await makeJob(first);
    const second = scheduler(['--join', dataDir]);
    const url = await urlOf(second);
    await second.line('This scheduler uses the embedded database of the Muster that it joined');
    await first.kill9();
    await leads(url);
    await runs(new Api(url), 'after');
  }, 180_000);

  test('is stopped by the line that it prints, and nothing else is', async () => {
    const installation = install({ database: createDatabase });
    const { dataDir } = installation;
    const first = await installation.start();
    const addressFile = join(dataDir, 'address');
    await waitFor('its address', () => existsSync(addressFile));
    const address = readFileSync(addressFile, 'utf8');
    const env = { DATABASE_URL: installation.databaseUrl() };
    const second = scheduler(['--join', first.api.url], env);
    const third = scheduler(['--join', dataDir, '--data-dir', join(dataDir, 'third')], env);
    for (const each of [second, third]) {
      await urlOf(each);
      const line = (await each.line('  Stop ')).replace(/^.* or: /, '').trim();
      const pasted = spawnSync('sh', ['-c', line], { cwd: '/', env: { PATH: process.env['PATH'] }, encoding: 'utf8' });
      expect([pasted.status, pasted.stdout]).toEqual([0, `Stopping process ${each.pid}\nStopped\n`]);
      expect(await ended(each)).toBe(0);
    }
    expect(first.running).toBe(true);
    expect(readFileSync(addressFile, 'utf8')).toBe(address);
    expect(existsSync(join(dataDir, 'third', 'muster.pid'))).toBe(false);
  }, 180_000);

  test('takes the lead when it is given away, and starts what is asked for', async () => {
    const installation = install({ database: createDatabase });
    const first = await installation.start();
    await makeJob(first);
    const url = await urlOf(scheduler(['--join', installation.dataDir], { DATABASE_URL: installation.databaseUrl() }));
    await first.api.post('disasters/failover');
    await leads(url);
    await runs(new Api(url), 'by-the-second');
  }, 180_000);

  test('says what is missing: another database, none, no agent, nobody at the URL', async () => {
    const installation = install({ database: createDatabase });
    const first = await installation.start();
    const [other, blank] = await Promise.all([createDatabase(), createDatabase({ empty: true })]);
    onTestFinished(() => Promise.all([other.remove(), blank.remove()]).then(() => undefined));
    const empty = join(installation.dataDir, 'empty');
    mkdirSync(empty);
    const url = installation.databaseUrl();
    const refusals: [string[], Record<string, string>, RegExp][] = [
      [['--join', first.api.url], { DATABASE_URL: other.url }, /knows no Muster at http.*\(it knows none\)$/],
      [
        ['--join', first.api.url],
        { DATABASE_URL: blank.url },
        /^The database of DATABASE_URL has no tables of a Muster/,
      ],
      [['--join', first.api.url], {}, /^The URL of a database is not sent over HTTP: set DATABASE_URL/],
      [['--join', empty], {}, /^There is no database in .*empty: set DATABASE_URL/],
      [['--join', empty], { DATABASE_URL: url }, /^No agent has run on .*empty/],
      [['--join', 'http://'], { DATABASE_URL: url }, /^--join: http:\/\/ is no URL/],
    ];
    for (const [words, env, message] of refusals) {
      const refused = scheduler(words, env);
      expect(await ended(refused)).toBe(1);
      expect(refused.lines).toEqual([expect.stringMatching(message)]);
    }
    expect((await missingMigrations(blank.url)).isNew).toBe(true);
  }, 180_000);
});

test('muster stop names the schedulers that share a data directory, and stops the only one', async () => {
  const installation = install({ database: createDatabase });
  const [first, second] = [await installation.start(['scheduler']), await installation.start(['scheduler'])];
  const stop = () =>
    spawnSync(process.execPath, [program, 'stop', '--data-dir', installation.dataDir], { encoding: 'utf8' });
  const named = stop();
  expect(named.status).toBe(1);
  for (const { port } of [first, second])
    expect(named.stdout).toContain(join(installation.dataDir, 'schedulers', String(port)));
  await first.stop();
  expect(stop().stdout).toBe(`Stopping process ${second.pid}\nStopped\n`);
}, 120_000);
