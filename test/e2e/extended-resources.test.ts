import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../support/wait-for.js';
import { createDatabase } from '../support/test-database.js';
import type { Api } from './support/api.js';
import { Installation, type Instance } from './support/product.js';

const gpu = 'example.com/gpu';
const slave = { hostname: 'localhost', rackId: 'rack1', cpus: 8, memoryMb: 8192, diskMb: 1024 };

let installation: Installation;
let muster: Instance;
let api: Api;
beforeAll(async () => {
  const slaves = [
    { ...slave, id: 'with', ports: '19200-19219', extended: { [gpu]: 2 } },
    { ...slave, id: 'without', ports: '19220-19239' },
  ];
  installation = new Installation({ database: createDatabase, local: { slaves } });
  muster = await installation.start();
  ({ api } = muster);
}, 90_000);
afterAll(() => installation.dispose(), 90_000);

interface Waiting {
  activeTasks: number;
  pendingTasks: { reason: string; message: string; neverFits: boolean; rejections: object[] }[];
}
const waiting = (requestId: string, activeTasks: number) =>
  waitFor(`a task of ${requestId} to wait`, async () => {
    const found = await api.get<Waiting>(`requests/request/${requestId}/explain`);
    return found.activeTasks === activeTasks && found.pendingTasks[0]?.reason === 'NO_MATCHING_SLAVE' && found;
  });

test('as many tasks run as a machine has of what they ask for, by memory and by the rows of another leader', async () => {
  const slaves = await api.get<{ id: string; resources: { extended?: object } }[]>('slaves');
  expect(slaves.find(({ id }) => id === 'with')!.resources.extended).toEqual({ [gpu]: 2 });
  const resources = { cpus: 0.1, memoryMb: 16, extended: { [gpu]: 1 } };
  const scale = (instances: number) => api.call('PUT', 'requests/request/learn/scale', { instances });
  await api.saveRequest({ id: 'learn', requestType: 'WORKER', instances: 2 });
  await api.deploy({ requestId: 'learn', id: 'd1', command: 'exec sleep 1000', resources });
  await api.deployEnded('learn', 'd1');
  await scale(3);
  const full = {
    pendingTasks: [
      {
        message: `No slave of 2 can take it: 2 without enough of an extended resource (the task asks for 1 ${gpu}; the largest of these 2 slaves has 2, 0 free)`,
        neverFits: false,
        rejections: [
          { reason: 'NOT_ENOUGH_EXTENDED_RESOURCES', slaves: 2, asked: 1, largest: 2, free: 0, resource: gpu },
        ],
      },
    ],
  };
  expect(await waiting('learn', 2)).toMatchObject(full);
  await muster.kill9();
  muster = await installation.start();
  ({ api } = muster);
  expect(await waiting('learn', 2)).toMatchObject(full);
  await scale(2);
  await api.running('learn', 2, 60_000);
  // What has ended leaves room for others.
  await api.saveRequest({ id: 'large', requestType: 'WORKER', instances: 1 });
  const both = { ...resources, extended: { [gpu]: 2 } };
  await api.deploy({ requestId: 'large', id: 'd1', command: 'exec sleep 1000', resources: both });
  await waiting('large', 0);
  await api.call('DELETE', 'requests/request/learn', {});
  await api.running('large', 1, 60_000);
}, 120_000);

test('a task that asks for more than any machine has never fits', async () => {
  await api.saveRequest({ id: 'huge', requestType: 'WORKER', instances: 1 });
  const resources = { cpus: 0.1, memoryMb: 16, extended: { [gpu]: 3 } };
  await api.deploy({ requestId: 'huge', id: 'd1', command: 'exec sleep 1000', resources });
  expect((await waiting('huge', 0)).pendingTasks[0]!.neverFits).toBe(true);
}, 60_000);

test('a run may ask for other ones than its deploy, and objects of a Kubernetes are refused here', async () => {
  await api.saveRequest({ id: 'job', requestType: 'ON_DEMAND' });
  await api.deploy({ requestId: 'job', id: 'd1', command: 'true', resources: { cpus: 0.1, memoryMb: 16 } });
  await api.deployEnded('job', 'd1');
  const resources = { cpus: 0.1, memoryMb: 16, extended: { 'example.com/fpga': 1 } };
  await api.post('requests/request/job/run', { resources });
  expect((await waiting('job', 0)).pendingTasks[0]!.rejections).toMatchObject([{ asked: 1, largest: 0 }]);
  const secretEnv = [{ name: 'A', secret: 'keys', key: 'k' }];
  for (const [members, field] of [
    [{ secretEnv }, 'secretEnv'],
    [{ serviceAccount: 'reporter' }, 'serviceAccount'],
  ] as const)
    await expect(api.deploy({ requestId: 'job', id: 'd2', command: 'true', ...members })).rejects.toThrow(
      `"code":"NOT_SUPPORTED","message":"deploy.${field}: must not be given`,
    );
}, 60_000);
