import { execFile } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, expect, test } from 'vitest';
import { tempFolder } from '../support/temp-folder.js';
import { waitFor } from '../support/wait-for.js';
import type { Api } from './support/api.js';
import { killNow, pidsOfTask } from './support/processes.js';
import { Installation } from './support/product.js';
import { findPostgres, startPostgres, type SystemPostgres } from './support/system-postgres.js';

const page = readFileSync(new URL('../../docs/backup.md', import.meta.url), 'utf8');
const commands = (name: string): string => {
  const found = new RegExp(`^( *)\`\`\`sh ${name}\\n([\\s\\S]*?)\`\`\``, 'm').exec(page)!;
  return found[2]!.replaceAll(new RegExp(`^${found[1]!}`, 'gm'), '');
};
const bin = findPostgres();
if (bin === undefined)
  console.warn('docs/backup.md was not tried: pg_dump and a server of its version are not installed');

let server: SystemPostgres | undefined;
const installations: Installation[] = [];
const folder = tempFolder();
afterEach(async () => {
  await Promise.all(installations.splice(0).map((installation) => installation.dispose()));
  await server?.stop();
  server = undefined;
}, 90_000);
afterAll(() => folder.remove());

/** Runs commands of the page, by default on the server of the test. */
const shell = (script: string, env: Record<string, string> = { DATABASE_URL: server!.url }) =>
  promisify(execFile)('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
    cwd: folder.path,
    env: { ...process.env, PATH: `${bin}:${process.env['PATH']}`, ...env },
  });

const resources = { cpus: 0.05, memoryMb: 16 };
const sleeping = { id: 'v1', command: 'exec sleep 1000', resources, considerHealthyAfterRunningForSeconds: 0 };
const ids = async (api: Api, requestId: string, count: number): Promise<string[]> =>
  (await api.running(requestId, count)).map((task) => task.taskId.id).toSorted();

test.skipIf(bin === undefined)(
  'docs/backup.md does what it says: of the tasks at the time of the backup those that still run go on, and everything since is undone',
  async () => {
    server = await startPostgres(bin!);
    const installation = new Installation({ databaseUrl: server.url });
    installations.push(installation);
    const before = await installation.start(['start', '--keep-tasks']);
    await before.api.saveRequest({ id: 'worker', requestType: 'WORKER', instances: 2 });
    await before.api.deploy({ requestId: 'worker', ...sleeping });
    await before.api.deployEnded('worker', 'v1');
    const [staying, ending] = await ids(before.api, 'worker', 2);

    await shell(commands('pg_dump'));

    const pids = pidsOfTask(staying!);
    killNow(pidsOfTask(ending!));
    await waitFor('the replacement', async () => !(await ids(before.api, 'worker', 2)).includes(ending!));
    await before.api.saveRequest({ id: 'later', requestType: 'WORKER' });
    await before.api.deploy({ requestId: 'later', ...sleeping });
    const [unknown] = await ids(before.api, 'later', 1);
    const [replacement] = (await ids(before.api, 'worker', 2)).filter((id) => id !== staying);
    await before.stop();

    await shell(commands('pg_restore'));

    const { api } = await installation.start(['start', '--keep-tasks']);
    expect(await api.get('requests/ids')).toEqual(['worker']);
    await waitFor('tasks that the backup does not know to end', () =>
      [unknown!, replacement!].every((id) => pidsOfTask(id).length === 0),
    );
    const after = await waitFor('the replacement of the task that has ended since', async () => {
      const now = await ids(api, 'worker', 2);
      return !now.includes(ending!) && now;
    });
    expect(after).toContain(staying);
    expect(pidsOfTask(staying!)).toEqual(pids);
  },
  240_000,
);

test.skipIf(bin === undefined)(
  'a task that has ended since the backup, with nothing new in its place, is lost after a restore, however often the leader changed since',
  async () => {
    server = await startPostgres(bin!);
    const muster = new Installation({ databaseUrl: server.url });
    installations.push(muster);
    const flag = join(folder.path, 'flag');
    writeFileSync(flag, '');
    let instance = await muster.start(['start', '--keep-tasks']);
    const command = `while [ -e ${flag} ]; do sleep 0.1; done`;
    await instance.api.saveRequest({ id: 'job', requestType: 'RUN_ONCE' });
    await instance.api.deploy({ requestId: 'job', ...sleeping, command });
    const [task] = await ids(instance.api, 'job', 1);
    await shell(commands('pg_dump'));

    rmSync(flag);
    await waitFor('the end of the job', async () => (await instance.api.endedTasks('job')).length === 1);
    for (let restarts = 0; restarts < 2; restarts++) {
      await instance.stop();
      instance = await muster.start(['start', '--keep-tasks']);
      await instance.leads();
    }
    await instance.stop();
    await shell(commands('pg_restore'));

    const { api } = await muster.start(['start', '--keep-tasks']);
    await waitFor('the end of the job to be known', async () => (await api.endedTasks('job')).length === 1);
    expect((await api.history(task!)).taskUpdates.at(-1)?.taskState).toBe('TASK_LOST');
  },
  240_000,
);
