import { expect, test } from 'vitest';
import type { ServiceEndpoints } from '../../src/core/discovery/index.js';
import { everyOperationWasCalled, operationsOf } from './operations.js';
import { Scene } from './scene.js';

const operations = operationsOf(['Services']);
const scene = new Scene(operations);

test('a service tells where its calls go, as a record and as text for proxies', async () => {
  const resources = { cpus: 0.1, memoryMb: 16, numPorts: 2 };
  const [task] = await scene.running({ id: 'served' }, { resources, serviceBasePath: '/served' });
  await scene.request({ id: 'job', requestType: 'ON_DEMAND' });
  const one = 'GET /api/services/{requestId}/endpoints';
  const params = { requestId: 'served' };
  const found = await operations.call<ServiceEndpoints>(one, 200, { params, query: { all: true } });
  expect(found).toMatchObject({ endpoints: [{ taskId: task!.taskId.id, deployId: 'v1' }], leftOut: [] });
  const [{ host, port, ports }] = found.endpoints as [ServiceEndpoints['endpoints'][number]];
  expect([ports.length, ports[0]]).toEqual([2, port]);
  await scene.refuses(one, 404, { params: { requestId: 'nobody' } });
  await scene.refuses(one, 400, { params: { requestId: 'job' } });

  const list = 'GET /api/services/endpoints';
  expect(await operations.call(list, 200)).toMatchObject([{ requestId: 'served', endpoints: [{ port }] }]);
  expect(await operations.call(list, 200, { query: { loadBalancerGroup: 'public' } })).toEqual([]);
  await scene.refuses(list, 404, { query: { requestId: 'nobody' } });
  await scene.refuses(list, 400, { query: { requestId: 'job' } });

  const text = 'GET /api/services/endpoints/{format}';
  const written = await operations.call(text, 200, { params: { format: 'haproxy' }, query: { requestId: 'served' } });
  expect(written).toBe(`backend served\n  server ${host}:${port} ${host}:${port}\n`);
  await scene.refuses(text, 404, { params: { format: 'nginx' }, query: { requestId: 'nobody' } });
  await scene.refuses(text, 400, { params: { format: 'caddy' } });
});

everyOperationWasCalled(operations);
