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
const rackOf = (index: number): string => `rack-${'abc'[index % 3]}`;

/** Six machines in three racks, which the one agent presents. */
export const machines = Array.from({ length: 6 }, (_machine, index) => ({
  id: `m-0${index + 1}`,
  hostname: `node-0${index + 1}`,
  rackId: rackOf(index),
  attributes: { disk: index % 2 === 0 ? 'ssd' : 'hdd' },
  cpus: 4,
  memoryMb: 8_192,
  diskMb: 20_480,
  ports: `3${index + 1}000-3${index + 1}099`,
}));

/** A worker that dies cools down soon, however slow this machine is. */
export const sceneSettings = { crashLoop: { cooldownFailureThreshold: 3, evaluateCooldownOverMinutes: 10 } };

/** A service that has written a quarter of an hour of its log when it starts, and writes on. */
const access = `
const paths = ['/basket', '/basket/items', '/checkout', '/search?q=lamp', '/health', '/orders/1804'];
let count = 0;
const line = (at) => {
  count++;
  const [path, millis] = [paths[(count * 7) % paths.length], 3 + ((count * 37) % 180)];
  const head = new Date(at).toISOString();
  if (count % 97 === 0) return head + ' ERROR POST /checkout 502: upstream payments refused connection';
  if (count % 41 === 0) return head + ' WARN  GET ' + path + ' took 1' + millis + ' ms, retry 1 of 5';
  return head + ' INFO  GET ' + path + ' 200 ' + millis + ' ms';
};
for (let at = Date.now() - 900000; at < Date.now(); at += 1300) console.log(line(at));
setInterval(() => console.log(line(Date.now())), 1300);
`;
const node = (text: string): object => ({ command: 'node', arguments: ['-e', text] });
const works = { command: 'echo "waiting for work"; exec sleep 3600' };
const says = (text: string, seconds = 0): object => ({ command: `sleep ${seconds}; echo "${text}"` });
const healthcheck = { type: 'COMMAND', command: 'true', intervalSeconds: 1, startupIntervalSeconds: 1 };

interface Kept {
  request: { id: string; requestType: string } & Record<string, unknown>;
  deploy: object;
}

const service = (id: string, instances: number, request: object, deploy: object): Kept => ({
  request: { id, requestType: 'SERVICE', instances, ...request },
  deploy: { healthcheck, ...deploy },
});
const worker = (id: string, instances: number, request: object, deploy: object = works): Kept => ({
  request: { id, requestType: 'WORKER', instances, ...request },
  deploy,
});
const job = (id: string, schedule: string, deploy: object, request: object = {}): Kept => ({
  request: { id, requestType: 'SCHEDULED', schedule, scheduleTimeZone: 'Europe/Paris', ...request },
  deploy,
});

const step = (id: string, parents: readonly string[], command: string): Kept => {
  const after = parents.map((requestId) => ({ requestId, on: 'SUCCESS' }));
  return {
    request: { id, requestType: 'ON_DEMAND', ...data, ...(after.length > 0 && { after }) },
    deploy: { command },
  };
};

const shop = { group: 'shop', owners: ['shop@example.com'] };
const data = { group: 'data', owners: ['data@example.com'] };
const operations = { group: 'operations' };
/** One on each machine: where one of them leaves, there is no place for another one. */
const onEach = { ...shop, slavePlacement: 'SEPARATE' };

const all: readonly Kept[] = [
  service('shop-web', 3, shop, { id: 'v8', ...node(access), resources: { cpus: 0.5, memoryMb: 256 } }),
  service('shop-payments', 2, shop, { id: 'v41', ...node(access), resources: { cpus: 0.5, memoryMb: 256 } }),
  service('shop-basket', 4, shop, { id: 'v12', ...works, resources: { cpus: 0.5, memoryMb: 512 } }),
  service('shop-search', 6, onEach, { id: 'v7', ...works, resources: { cpus: 1, memoryMb: 1_024 } }),
  worker('mailer', 2, shop),
  worker('image-resizer', 3, shop, {
    ...works,
    resources: { cpus: 1, memoryMb: 512 },
    env: { QUALITY: '80' },
    deployInstanceCountPerStep: 1,
  }),
  worker('newsletter', 1, shop),
  worker('geo-index', 1, data, {
    command: 'sleep 5; echo "FATAL: index file is corrupt at block 7" >&2; exit 1',
    considerHealthyAfterRunningForSeconds: 1,
  }),
  job('report-sales', '*/5 * * * *', says('12 orders'), data),
  job('report-stock', '10 * * * *', says('84 articles'), data),
  job('import-prices', '*/15 * * * *', says('2,310 prices', 1), data),
  job('refresh-exchange-rates', '0 * * * *', says('31 rates'), data),
  job('rotate-keys', '30 */6 * * *', says('2 keys'), operations),
  job('backup', '0 3 * * *', { command: 'echo "Error: no space left on device" >&2; exit 28' }, operations),
  job('vacuum-database', '0 3 * * *', says('done'), operations),
  job('send-invoices', '0 8 * * 1-5', says('41 invoices'), shop),
  job('close-baskets', '0 3 * * *', says('118 baskets'), shop),
  job('check-certificates', '0 */4 * * *', says('all valid'), operations),
  job('clean-uploads', '45 3 * * *', says('3 GB'), operations),
  {
    request: { id: 'train-model', requestType: 'ON_DEMAND', ...data },
    deploy: { id: 'v1', ...says('trained', 2), resources: { cpus: 8, memoryMb: 4_096 } },
  },
  { request: { id: 'resize-once', requestType: 'ON_DEMAND', ...shop }, deploy: says('640 pictures', 1) },
  // A load that two jobs follow, one of which fails, and a summary of both.
  step('load', [], 'echo "2 files"'),
  step('clean-orders', ['load'], 'echo "120 orders"'),
  step('clean-prices', ['load'], 'echo "Error: line 7 is no price" >&2; exit 1'),
  step('summary', ['clean-orders', 'clean-prices'], 'echo "120 orders, 0 prices"'),
];
const users = ['ada', 'grace', 'linus'];

/** A shop on six machines: services that run, one whose last deploy failed, jobs that ran, failed and wait, a machine that leaves. */
export async function makeScene(api: Api): Promise<Scene> {
  for (const [index, { request, deploy }] of all.entries()) {
    const resources = { cpus: 0.25, memoryMb: 128 };
    const body = { request, deploy: { requestId: request.id, id: 'v3', resources, ...deploy } };
    await api.post(`requests/apply?user=${users[index % users.length]!}`, body);
  }
  const ofGroup = (group: string): string[] =>
    all.filter(({ request }) => request['group'] === group).map(({ request }) => request.id);
  for (const id of ['shop', 'data', 'operations']) await api.post('groups', { id, requestIds: ofGroup(id) });
  for (const [requestId, deployId] of [
    ['shop-web', 'v8'],
    ['shop-payments', 'v41'],
    ['shop-basket', 'v12'],
    ['shop-search', 'v7'],
    ['image-resizer', 'v3'],
    ['newsletter', 'v3'],
    ['clean-prices', 'v3'],
  ] as const)
    await api.deployEnded(requestId, deployId, patience.timeoutMillis);
  await deployFurther(api);
  for (const [id, runs] of [
    ['report-sales', ['monday', 'tuesday']],
    ['import-prices', ['monday']],
    ['backup', ['by-hand']],
    ['train-model', ['a', 'b']],
    ['resize-once', ['week-47']],
    ['load', ['monday']],
  ] as const)
    for (const runId of runs) await api.post(`requests/request/${id}/run?user=ada`, { runId });
  const now = Date.now();
  await api.post('requests/request/report-sales/backfill', { from: now - 3_600_000, to: now, concurrency: 2 });
  await api.post('requests/request/newsletter/pause?user=grace', { message: 'until the texts are translated' });
  await api.call('PUT', 'requests/request/mailer/scale?user=linus', { instances: 3, durationMillis: 7_200_000 });
  await api.post('webhooks', { uri: 'http://127.0.0.1:9/hook', type: 'TASK' });
  await api.post('webhooks', { uri: 'http://127.0.0.1:9/deploys', type: 'DEPLOY' });
  await api.post('slaves/slave/m-03/decommission?user=grace', { message: 'a new disk' });
  await api.post('slaves/slave/m-06/freeze?user=grace', {
    message: 'kernel update',
    durationMillis: 5_400_000,
    revertToState: 'ACTIVE',
  });
  await api.deployEnded('shop-payments', 'v42', patience.timeoutMillis);
  const [failedTask] = await waitFor('the failed run', async () => someOf(await endedOf(api, 'backup')), patience);
  await waitFor(
    'the worker that dies to cool down',
    async () => {
      const { state } = await api.request('geo-index');
      return state === 'SYSTEM_COOLDOWN' || undefined;
    },
    patience,
  );
  await waitFor(
    'the usage of all machines',
    async () => {
      const usage = await api.get<unknown[]>('usage/slaves');
      return usage.length === machines.length || undefined;
    },
    patience,
  );
  await waitFor('the ended runs', async () => someOf(await endedOf(api, 'resize-once')), patience);
  const [task] = (await api.running('shop-web', 3, patience.timeoutMillis)).map(({ taskId }) => taskId.id);
  const flow = await waitFor('the failed run of a flow', () => failedFlow(api), patience);
  return { task: task!, failedTask: failedTask!, flow };
}

/** One that fails, and one that waits for somebody after its first step. */
async function deployFurther(api: Api): Promise<void> {
  await api.post('deploys?user=grace', {
    deploy: {
      requestId: 'shop-payments',
      id: 'v42',
      command: 'echo "Error: connect ECONNREFUSED 10.0.0.7:5432" >&2; sleep 1; exit 1',
      resources: { cpus: 0.5, memoryMb: 256 },
      healthcheck,
      deployHealthTimeoutSeconds: 20,
    },
    message: 'the new provider',
  });
  await api.post('deploys?user=linus', {
    deploy: {
      requestId: 'shop-basket',
      id: 'v13',
      ...works,
      resources: { cpus: 0.5, memoryMb: 512 },
      healthcheck,
      env: { CACHE: 'on' },
      deployInstanceCountPerStep: 1,
      autoAdvanceDeploySteps: false,
    },
    message: 'baskets from the cache',
  });
}

async function failedFlow(api: Api): Promise<string | undefined> {
  const { requests } = await api.get<{ requests: { lastRun?: { flowId: string; state: string } }[] }>(
    'requests/request/clean-prices/flow',
  );
  return requests.find(({ lastRun }) => lastRun?.state === 'FAILURE')?.lastRun?.flowId;
}

const endedOf = async (api: Api, requestId: string): Promise<string[]> =>
  (await api.endedTasks(requestId)).map(({ taskId }) => taskId.id);
const someOf = (ids: string[]): string[] | undefined => (ids.length > 0 ? ids : undefined);
