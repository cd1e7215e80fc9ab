import { spawn } from 'node:child_process';
import { readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, expect, test } from 'vitest';
import { tempFolder } from '../support/temp-folder.js';
import { waitFor } from '../support/wait-for.js';
import { Api } from './support/api.js';
import { type Ended, muster, program, shell } from './support/muster-command.js';
import { isAlive, pidsOfTask } from './support/processes.js';
import { Installation, type Instance } from './support/product.js';

/* `muster backup` and `muster restore` with the embedded server, whose package brings no pg_dump. docs/backup.md tells of them. */

const page = readFileSync(new URL('../../docs/backup.md', import.meta.url), 'utf8');
const commands = (name: string): string => new RegExp(`^ *\`\`\`sh ${name}\\n([\\s\\S]*?)\`\`\``, 'm').exec(page)![1]!;

const installations: Installation[] = [];
const folder = tempFolder();
afterEach(async () => {
  await Promise.all(installations.splice(0).map((installation) => installation.dispose()));
}, 90_000);
afterAll(() => folder.remove());

const resources = { cpus: 0.05, memoryMb: 16 };
const bootstrapToken = 'a-token-of-the-first-administrator';
const auth = { enabled: true, adminGroups: ['admins'], bootstrapToken };
const asAdministrator = { authorization: `Token ${bootstrapToken}` };

function install(settings: Record<string, unknown> = {}): { installation: Installation; env: Record<string, string> } {
  const installation = new Installation({ settings });
  installations.push(installation);
  const env = { MUSTER_DATA_DIR: installation.dataDir, MUSTER_CONFIG: join(installation.dataDir, 'settings.json') };
  return { installation, env: { ...env, DATABASE_URL: '' } };
}
const wipe = ({ dataDir }: Installation): void => {
  const clusters = readdirSync(dataDir).filter((name) => name.startsWith('postgres-'));
  expect(clusters).not.toEqual([]);
  for (const name of clusters) rmSync(join(dataDir, name), { recursive: true });
};
const good = ({ code, err }: Ended): void => expect({ code, err }).toEqual({ code: 0, err: '' });

test('what a backup took while everything ran is there again: the same answers, and the service still runs once', async () => {
  const { installation, env } = install({ auth });
  const api = ({ url }: Instance['api'], headers = asAdministrator): Api => new Api(url, headers);
  const start = async () => api((await installation.start(['start', '--keep-tasks'])).api);
  const first = await start();
  await first.saveRequest({ id: 'worker', requestType: 'WORKER' });
  await first.deploy({ requestId: 'worker', id: 'v1', command: 'exec sleep 1000', resources });
  await first.deployEnded('worker', 'v1');
  const [task] = await first.running('worker', 1);
  const pids = pidsOfTask(task!.taskId.id);
  await first.saveRequest({ id: 'job', requestType: 'ON_DEMAND' });
  await first.deploy({ requestId: 'job', id: 'v1', command: 'exit 3', resources });
  await first.deployEnded('job', 'v1');
  await first.post('requests/request/job/run', { runId: 'once' });
  await waitFor('the end of the run', async () => (await first.endedTasks('job')).length === 1);
  await first.post('webhooks', {
    uri: 'http://127.0.0.1:9/hook',
    type: 'TASK',
    secret: 'a-secret-of-thirty-two-characters!',
  });
  const { token } = await first.post<{ token: string }>('auth/token', {
    user: { id: 'ada', name: 'ada', email: 'ada@example.com', groups: ['admins'] },
  });
  const answersOf = async (of: Api): Promise<unknown[]> =>
    Promise.all(
      [
        'requests/ids',
        'history/request/worker/deploys',
        'history/request/worker/requests',
        'history/request/job/tasks',
        'history/request/job/deploy/v1',
        'webhooks',
      ].map((path) => of.get(path)),
    );
  const answers = await answersOf(first);

  // Changes go on while it is made: of each it has all or nothing.
  const file = join(folder.path, 'muster.backup');
  let isOver = false;
  const made = muster(['backup', file], { env }).finally(() => (isOver = true));
  for (let count = 0; !isOver; count++) await first.saveRequest({ id: `extra-${count}`, requestType: 'ON_DEMAND' });
  const backup = await made;
  good(backup);
  expect(backup.out).toMatch(/^Backed up to .*: \d+ tables/);
  expect(statSync(file).mode & 0o777).toBe(0o600);

  expect(await muster(['restore', file, '--replace'], { env })).toMatchObject({
    code: 6,
    err: expect.stringMatching(/^muster: Muster runs on .* stop it first/) as string,
  });
  await installation.stopAll();
  wipe(installation);
  good(await muster(['restore', file], { env }));

  const second = await start();
  const extra = (await second.get<string[]>('requests/ids')).filter((id) => id.startsWith('extra-'));
  const [ids, ...others] = await answersOf(second);
  expect(ids).toEqual([...(answers[0] as string[]), ...extra].toSorted());
  expect(others).toEqual(answers.slice(1));
  for (const id of extra) expect(await second.get<unknown[]>(`history/request/${id}/requests`)).toHaveLength(1);
  expect(await new Api(second.url, { authorization: `Token ${token}` }).get('requests/ids')).toEqual(ids);

  // It is reconciled, nothing is started beside it, and it obeys.
  const [same, ...beside] = await second.running('worker', 1);
  expect([same!.taskId.id, beside]).toEqual([task!.taskId.id, []]);
  expect(pidsOfTask(task!.taskId.id)).toEqual(pids);
  await second.post('requests/request/worker/bounce');
  await waitFor('the task to be replaced', () => pids.every((pid) => !isAlive(pid)));
  const [replacement] = await second.running('worker', 1);
  expect(replacement!.taskId.id).not.toBe(task!.taskId.id);
}, 240_000);

test('a restore that is killed half-way, or refused, leaves the database that was there; and the next one works', async () => {
  const { installation, env } = install();
  const before = await installation.start(['start', '--keep-tasks']);
  await before.api.saveRequest({ id: 'old', requestType: 'WORKER' });
  await before.api.deploy({ requestId: 'old', id: 'v1', command: 'exec sleep 1000', resources });
  await before.api.deployEnded('old', 'v1');
  const [task] = await before.api.running('old', 1);
  const file = join(folder.path, 'half.backup');
  good(await shell(commands('backup').replaceAll('muster.backup', file), { env }));
  await before.api.saveRequest({ id: 'later', requestType: 'ON_DEMAND' });
  await installation.stopAll();

  // It waits for the rest of its file with all tables made and some filled.
  const bytes = readFileSync(file);
  const child = spawn(process.execPath, [program, 'restore', '-', '--replace'], {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  child.stdin.write(bytes.subarray(0, bytes.length - 100));
  const connectionString = installation.databaseUrl();
  const sql = await waitFor('its server to answer', async () => {
    const client = new pg.Client({ connectionString });
    return client.connect().then(
      () => client,
      () => undefined,
    );
  });
  await waitFor('the tables beside those that are there', async () => {
    const { rows } = await sql.query(`SELECT FROM pg_locks JOIN pg_class ON pg_class.oid = relation
      WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'muster_restore') AND mode = 'RowExclusiveLock'`);
    return rows.length > 0;
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await ended;
  await sql.end();

  const damaged = join(folder.path, 'damaged.backup');
  for (const [bad, says] of [
    [bytes.subarray(0, bytes.length - 100), 'it ends too early'],
    [bytes.map((byte, at) => (at === 3_000 ? byte ^ 1 : byte)), 'damaged'],
  ] as const) {
    writeFileSync(damaged, bad);
    const { code, err } = await muster(['restore', damaged, '--replace'], { env });
    expect([code, err]).toEqual([2, expect.stringContaining(says)]);
    expect(err.trim().split('\n')).toHaveLength(1);
  }
  expect(await muster(['restore', file], { env })).toMatchObject({
    code: 6,
    err: expect.stringMatching(/not empty.*--replace/) as string,
  });

  const after = await installation.start(['start', '--keep-tasks']);
  expect(await after.api.get('requests/ids')).toEqual(['later', 'old']);
  expect((await after.api.running('old', 1))[0]!.taskId.id).toBe(task!.taskId.id);
  await installation.stopAll();

  good(await shell(commands('restore').replaceAll('muster.backup', file), { env }));
  const restored = await installation.start();
  expect(await restored.api.get('requests/ids')).toEqual(['old']);
  expect((await restored.api.running('old', 1))[0]!.taskId.id).toBe(task!.taskId.id);
}, 240_000);

test('through pipes, as cron does it; without a database there is nothing to back up', async () => {
  const { installation, env } = install();
  expect(await muster(['backup', '-'], { env })).toMatchObject({ code: 4, out: '' });
  const { api } = await installation.start();
  await api.saveRequest({ id: 'one', requestType: 'ON_DEMAND' });
  const file = join(folder.path, 'piped.backup');
  good(await shell(`muster backup - > '${file}'`, { env }));
  expect(await muster(['backup', join(folder.path, 'none', 'x')], { env })).toMatchObject({ code: 2 });
  await installation.stopAll();
  wipe(installation);
  good(await shell(`muster restore - < '${file}'`, { env }));
  expect(await (await installation.start()).api.get('requests/ids')).toEqual(['one']);
}, 120_000);
