import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { ApiError, type Api } from './support/api.js';
import { killNow, pidsOfTask } from './support/processes.js';
import { Installation, type Instance } from './support/product.js';
import { waitFor } from '../support/wait-for.js';

const resources = { cpus: 0.05, memoryMb: 16 };
const ids = (tasks: { taskId: { id: string } }[]): string[] => tasks.map((task) => task.taskId.id).sort();

async function runWorker(api: Api, instances: number, command = 'exec sleep 1000'): Promise<string[]> {
  await api.saveRequest({ id: 'worker', requestType: 'WORKER', instances });
  await api.deploy({ requestId: 'worker', id: 'v1', command, resources, considerHealthyAfterRunningForSeconds: 0 });
  await api.deployEnded('worker', 'v1');
  return ids(await api.running('worker', instances));
}

/** Processes of all tasks ever launched for the request, by task id, those without any left out. */
async function processesByTask(api: Api, requestId: string): Promise<Map<string, number>> {
  const live = await api.activeTasks(requestId);
  const ended = await api.endedTasks(requestId);
  const counts = [...ids(live), ...ids(ended)].map((id): [string, number] => [id, pidsOfTask(id).length]);
  return new Map(counts.filter(([, count]) => count > 0));
}

describe('faults', () => {
  const installations: Installation[] = [];
  const install = (...options: ConstructorParameters<typeof Installation>): Installation => {
    const installation = new Installation(...options);
    installations.push(installation);
    return installation;
  };
  afterEach(async () => {
    await Promise.all(installations.splice(0).map((installation) => installation.dispose()));
  }, 90_000);

  test('kill -9 of the agent: tasks run on, what ended meanwhile is seen, and the agent comes back by itself', async () => {
    const installation = install();
    const { api } = await installation.start();
    const before = await runWorker(api, 3);
    const agent = installation.agentPid();
    process.kill(agent, 'SIGKILL');
    const [victim] = before;
    killNow(pidsOfTask(victim!));

    await waitFor('another agent', () => installation.agentPid() !== agent);
    const after = ids(
      await waitFor('the replacement', async () => {
        const tasks = await api.running('worker', 3);
        return !ids(tasks).includes(victim!) && tasks;
      }),
    );
    expect(after.filter((id) => before.includes(id))).toEqual(before.slice(1));
    expect([...(await processesByTask(api, 'worker')).keys()].sort()).toEqual(after);
  }, 180_000);

  test('SIGSTOP of the leader: the second instance leads within 5 s, and the first does nothing more after SIGCONT', async () => {
    const installation = install();
    const first = await installation.start();
    const databaseUrl = installation.databaseUrl();
    const before = await runWorker(first.api, 2);
    const second = await startSecond(installation, databaseUrl);

    first.signal('SIGSTOP');
    const stoppedAt = Date.now();
    await second.leads();
    expect(Date.now() - stoppedAt).toBeLessThan(5_000);
    await second.api.call('PUT', 'requests/request/worker/scale', { instances: 5 });
    const scaled = ids(await second.api.running('worker', 5));
    expect(scaled.filter((id) => before.includes(id))).toEqual(before);

    first.signal('SIGCONT');
    await waitFor('the first to answer again', async () => (await fetch(`${first.api.url}/healthz`)).ok);
    await second.api.call('PUT', 'requests/request/worker/scale', { instances: 6 });
    const more = ids(await second.api.running('worker', 6));
    expect(more.filter((id) => scaled.includes(id))).toEqual(scaled);
    expect([...(await processesByTask(second.api, 'worker')).keys()].sort()).toEqual(more);
    expect(await second.api.endedTasks('worker')).toEqual([]);
  }, 180_000);

  test('kill -9 of PostgreSQL under load: the service recovers and every 200 before is still true', async () => {
    const installation = install();
    const { api } = await installation.start();
    await runWorker(api, 2);
    const confirmed: string[] = [];
    let asking = true;
    const ask = async (client: number) => {
      for (let n = 0; asking; n++) {
        const id = `load-${client}-${n}`;
        try {
          await api.saveRequest({ id, requestType: 'ON_DEMAND' });
          confirmed.push(id);
        } catch (cause) {
          // 503 says "not known": neither confirmed nor denied.
          if (cause instanceof ApiError && cause.status !== 503) throw cause;
        }
      }
    };
    const load = Promise.all([0, 1, 2, 3].map(ask));
    await waitFor('some load', () => confirmed.length > 50);
    const [pid] = readFileSync(join(postgresFolder(installation), 'postmaster.pid'), 'utf8').split('\n');
    const confirmedBefore = confirmed.length;
    process.kill(Number(pid), 'SIGKILL');
    await waitFor('the service to accept again', () => confirmed.length > confirmedBefore + 100, {
      timeoutMillis: 60_000,
    });
    asking = false;
    await load;

    const stored = new Set(await api.get<string[]>('requests/ids'));
    expect(confirmed.filter((id) => !stored.has(id))).toEqual([]);
    await api.call('PUT', 'requests/request/worker/scale', { instances: 3 });
    await api.running('worker', 3);
  }, 180_000);
});

/** A scheduler beside the first one, on the same data directory and database, that waits to lead. */
function startSecond(installation: Installation, databaseUrl: string): Promise<Instance> {
  return installation.start(['scheduler'], { DATABASE_URL: databaseUrl });
}

const postgresFolder = (installation: Installation): string => join(installation.dataDir, 'postgres-18');
