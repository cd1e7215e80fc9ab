import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { waitFor } from '../support/wait-for.js';
import { Installation, type Instance } from './support/product.js';
import { createDatabase } from '../support/test-database.js';

const installation = new Installation({ database: createDatabase });
afterAll(() => installation.dispose(), 90_000);

const resources = { cpus: 0.05, memoryMb: 8 };
const keys = Array.from({ length: 60 }, (_, number) => `key-${number}`);

interface Answered {
  status: number;
  code?: string;
}

/** undefined: there was no answer. */
async function run(instance: Instance, key: string): Promise<Answered | undefined> {
  try {
    const response = await fetch(`${instance.api.url}/api/requests/request/job/run`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': key },
      body: JSON.stringify({ runId: key }),
      signal: AbortSignal.timeout(5_000),
    });
    const { code } = (await response.json()) as { code?: string };
    return { status: response.status, code };
  } catch {
    return undefined;
  }
}

test('a run that is asked for again and again with one key is one run, whenever the scheduler is killed', async () => {
  let instance = await installation.start(['start', '--keep-tasks']);
  await instance.api.saveRequest({ id: 'job', requestType: 'ON_DEMAND' });
  await instance.api.deploy({ requestId: 'job', id: 'v1', command: 'true', resources });
  await instance.api.deployEnded('job', 'v1');

  const unanswered = new Set(keys);
  for (const killAfterMillis of [15, 40, 80]) {
    const asked = Promise.all(
      [...unanswered].slice(0, 30).map(async (key) => {
        const answer = await run(instance, key);
        if (answer?.status === 200) unanswered.delete(key);
      }),
    );
    // Some calls are answered by then, some are done, and some have not begun.
    await delay(killAfterMillis);
    instance.signal('SIGKILL');
    await asked;
    await waitFor('the end of the scheduler', () => !instance.running);
    instance = await installation.start(['start', '--keep-tasks']);
  }
  for (const key of keys) {
    const answer = await waitFor(`the answer to ${key}`, async () => {
      const answered = await run(instance, key);
      return answered?.status === 503 || answered?.code === 'IDEMPOTENT_CALL_RUNNING' ? undefined : answered;
    });
    expect([200, 'IDEMPOTENT_CALL_DONE']).toContain(answer.status === 200 ? 200 : answer.code);
  }

  const ended = await waitFor(
    'all runs to end',
    async () => {
      const found = await instance.api.get<{ taskId: { id: string }; runId?: string }[]>(
        'history/request/job/tasks?count=1000',
      );
      const active = await instance.api.get<unknown[]>('history/request/job/tasks/active');
      const pending = await instance.api.get<unknown[]>('tasks/scheduled/request/job');
      const queued = await instance.api.get<unknown[]>('requests/queued/pending');
      return active.length + pending.length + queued.length === 0 && found.length >= keys.length && found;
    },
    { timeoutMillis: 90_000, everyMillis: 250 },
  );
  expect(ended.map(({ runId }) => runId).toSorted()).toEqual(keys.toSorted());
}, 240_000);
