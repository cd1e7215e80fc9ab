import { readFileSync } from 'node:fs';
import type { Api } from '../e2e/support/api.js';
import { waitFor } from '../support/wait-for.js';

/** Tasks that have pages of their own. */
export interface Scene {
  task: string;
  failedTask: string;
  /** A flow in which one run has failed. */
  flow: string;
}

const patience = { timeoutMillis: 120_000, everyMillis: 500 };
const small = { cpus: 0.1, memoryMb: 32 };
const example = (file: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../examples/${file}`, import.meta.url), 'utf8'));

/** A small shop: services that run, one whose last deploy failed, jobs that ran, failed and wait. */
export async function makeScene(api: Api): Promise<Scene> {
  const apply = (request: object, deploy: object): Promise<unknown> =>
    api.post('requests/apply', { request, deploy: { resources: small, ...deploy } });
  const { deploy: web } = example('web/deploy-v1.json') as { deploy: object };
  await apply(example('web/request.json') as object, { ...web, id: 'v1' });
  await apply(
    { id: 'shop-payments', requestType: 'SERVICE', instances: 2 },
    {
      requestId: 'shop-payments',
      id: 'v41',
      command: 'while true; do echo "$(date -u +%FT%TZ) paid"; sleep 5; done',
    },
  );
  for (const id of ['shop-basket', 'shop-search', 'mailer']) {
    await apply(
      { id, requestType: 'WORKER', instances: 2, owners: ['shop@example.com'] },
      {
        requestId: id,
        id: 'v7',
        command: 'echo "waiting for work"; exec sleep 3600',
      },
    );
  }
  await apply(
    { id: 'report', requestType: 'SCHEDULED', schedule: '*/5 * * * *', scheduleTimeZone: 'Europe/Paris' },
    {
      requestId: 'report',
      id: 'v3',
      command: 'echo "12 orders"; exit 0',
    },
  );
  await apply(
    { id: 'backup', requestType: 'SCHEDULED', schedule: '0 3 * * *' },
    {
      requestId: 'backup',
      id: 'v2',
      command: 'echo "Error: no space left on device" >&2; exit 28',
    },
  );
  await apply(
    { id: 'train-model', requestType: 'ON_DEMAND' },
    {
      requestId: 'train-model',
      id: 'v1',
      command: 'sleep 2',
      resources: { cpus: 8, memoryMb: 4_096 },
    },
  );
  await applyFlow(apply);
  for (const [requestId, deployId] of [
    ['web', 'v1'],
    ['shop-payments', 'v41'],
    ['mailer', 'v7'],
    ['clean-prices', 'v1'],
  ] as const)
    await api.deployEnded(requestId, deployId, patience.timeoutMillis);
  await api.post('deploys', {
    deploy: {
      requestId: 'shop-payments',
      id: 'v42',
      command: 'echo "Error: connect ECONNREFUSED 10.0.0.7:5432" >&2; sleep 1; exit 1',
      resources: small,
      deployHealthTimeoutSeconds: 20,
    },
    message: 'the new provider',
  });
  for (const runId of ['monday', 'tuesday']) await api.post('requests/request/report/run', { runId });
  await api.post('requests/request/backup/run', { runId: 'by-hand' });
  for (const runId of ['a', 'b']) await api.post('requests/request/train-model/run', { runId });
  await api.post('requests/request/load/run', { message: 'the files of Monday' });
  const now = Date.now();
  await api.post('requests/request/report/backfill', { from: now - 3_600_000, to: now, concurrency: 2 });
  await api.post('webhooks', { uri: 'http://127.0.0.1:9/hook', type: 'TASK' });
  await api.deployEnded('shop-payments', 'v42', patience.timeoutMillis);
  const failedTask = await waitFor(
    'the failed run',
    async () => {
      const ended = await api.get<{ taskId: { id: string } }[]>('history/request/backup/tasks');
      return ended[0]?.taskId.id;
    },
    patience,
  );
  const [task] = (await api.running('web', 3)).map(({ taskId }) => taskId.id);
  const flow = await waitFor('the failed run of a flow', () => failedFlow(api), patience);
  return { task: task!, failedTask, flow };
}

/** A load that two jobs follow, one of which fails, and a summary of both. */
async function applyFlow(apply: (request: object, deploy: object) => Promise<unknown>): Promise<void> {
  for (const [id, parents, command] of [
    ['load', [], 'echo "2 files"'],
    ['clean-orders', ['load'], 'echo "120 orders"'],
    ['clean-prices', ['load'], 'echo "Error: line 7 is no price" >&2; exit 1'],
    ['summary', ['clean-orders', 'clean-prices'], 'echo "120 orders, 0 prices"'],
  ] as const) {
    const after = parents.map((requestId) => ({ requestId, on: 'SUCCESS' }));
    await apply(
      { id, requestType: 'ON_DEMAND', ...(after.length > 0 && { after }) },
      { requestId: id, id: 'v1', command },
    );
  }
}

async function failedFlow(api: Api): Promise<string | undefined> {
  const { requests } = await api.get<{ requests: { lastRun?: { flowId: string; state: string } }[] }>(
    'requests/request/clean-prices/flow',
  );
  return requests.find(({ lastRun }) => lastRun?.state === 'FAILURE')?.lastRun?.flowId;
}
