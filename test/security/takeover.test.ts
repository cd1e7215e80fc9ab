import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, realpathSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { usersListeningOn } from '../../src/agent/file-address/port-holders.js';
import { pidsOfTask } from '../e2e/support/processes.js';
import { Installation } from '../e2e/support/product.js';
import { waitFor } from '../support/wait-for.js';

const squatter = readFileSync(new URL('squatter.mjs', import.meta.url), 'utf8');
const resources = { cpus: 0.05, memoryMb: 64 };
/** As the user of a task that no agent has given. */
const stranger = 1_999_900_000;

const installations: Installation[] = [];
const install = (): Installation => {
  const installation = new Installation();
  installations.push(installation);
  return installation;
};
afterEach(async () => {
  await Promise.all(installations.splice(0).map((installation) => installation.dispose()));
}, 90_000);

/** Lies in wait for these places. */
async function squat(places: string[]): Promise<{ told: () => string[]; took: (place: string) => boolean }> {
  const options = { uid: stranger, gid: stranger, cwd: '/', env: {}, stdio: ['ignore', 'pipe', 'inherit'] as const };
  const child = spawn(process.execPath, ['--input-type=module', '-e', squatter, '--', ...places], {
    ...options,
    stdio: [...options.stdio],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  child.stdout!.on('data', (text) => (output += String(text)));
  await waitFor('the other program', () => output.includes('TRIES'));
  const begun = (word: string): string[] => output.split('\n').filter((line) => line.startsWith(word));
  return { told: () => begun('TOLD'), took: (place) => begun('TOOK').includes(`TOOK ${place}`) };
}

describe.runIf(userInfo().uid === 0)('a program of another user that takes what is free', () => {
  test('learns nothing when PostgreSQL is killed, and keeps neither it nor the agent from coming back', async () => {
    const installation = install();
    const { api } = await installation.start();
    await api.saveRequest({ id: 'kept', requestType: 'ON_DEMAND' });
    const cluster = join(installation.dataDir, 'postgres-18');
    const { port } = JSON.parse(readFileSync(join(cluster, 'muster-access.json'), 'utf8')) as { port: number };
    const postmaster = (): number => Number.parseInt(readFileSync(join(cluster, 'postmaster.pid'), 'utf8'), 10);
    const before = { postmaster: postmaster(), agent: installation.agentPid() };
    const root = realpathSync(join(installation.dataDir, 'agent'));
    const key = createHash('sha256').update(root).digest('hex').slice(0, 12);
    const free = [`tcp:${port}`, `abstract:muster-agent-${key}`];
    const closed = [`path:${cluster}/.s.PGSQL.5432`, `path:${root}/agent.pid`, 'path:/var/lib/muster/task-users/1'];
    const { told, took } = await squat([...free, ...closed]);
    await waitFor('the free places to be taken', () => free.every(took));

    const killedAt = performance.now();
    process.kill(before.postmaster, 'SIGKILL');
    await waitFor('the service to be back', async () => {
      const { id } = await api.get<{ request: { id: string } }>('requests/request/kept').then(({ request }) => request);
      return id === 'kept' && postmaster() !== before.postmaster;
    });
    await waitFor('everything to be ready', async () => (await fetch(`${api.url}/readyz`)).ok);
    console.log(`Back ${((performance.now() - killedAt) / 1_000).toFixed(1)} s after kill -9 of PostgreSQL`);

    process.kill(before.agent, 'SIGKILL');
    await waitFor('another agent', () => installation.agentPid() !== before.agent);
    await api.deploy({ requestId: 'kept', id: 'v1', command: 'true', resources });
    await api.deployEnded('kept', 'v1');
    expect(told()).toEqual([]);
    expect(closed.filter(took)).toEqual([]);
  }, 180_000);

  test('and is a task that has the port of a scheduler that was killed is ended, and the next one starts', async () => {
    const installation = install();
    const first = await installation.start(['start', '--keep-tasks']);
    const { api } = first;
    await api.saveRequest({ id: 'evil', requestType: 'RUN_ONCE' });
    const words = ['--input-type=module', '-e', squatter, '--', `tcp:${first.port}`];
    await api.deploy({ requestId: 'evil', id: 'v1', command: process.execPath, arguments: words, resources });
    const [task] = await api.running('evil', 1);
    const pids = await waitFor('its process', () => {
      const found = pidsOfTask(task!.taskId.id);
      return found.length > 0 && found;
    });
    await first.kill9();
    await waitFor('the task to have the port', () => usersListeningOn(first.port).some((uid) => uid !== 0));

    const second = await installation.start(['start', '--keep-tasks'], { MUSTER_PORT: String(first.port) });
    expect(second.output).toMatch(
      new RegExp(`Port ${first.port} was taken by task ${task!.taskId.id} \\(user \\d+\\): it is ended`),
    );
    expect(pids.filter((pid) => pidsOfTask(task!.taskId.id).includes(pid))).toEqual([]);
    await waitFor('its end to be known', async () => (await second.api.endedTasks('evil')).length > 0);
  }, 180_000);
});
