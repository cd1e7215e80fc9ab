import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeDeploy, makeRequest, makeTask, start } from '../support/builders.js';
import type { BalancedTask } from '../../src/core/load-balancer/index.js';
import { HttpLoadBalancer } from '../../src/platform/load-balancer/http-load-balancer.js';
import { Clock } from '../../src/platform/clock.js';
import { startBalancer, type BalancerServer } from '../support/load-balancer/balancer-server.js';
import { balancerBefore, Nginx } from '../support/load-balancer/nginx.js';

const scene = { servers: [] as Server[] } as { nginx: Nginx; server: BalancerServer; client: HttpLoadBalancer } & {
  servers: Server[];
};
const installed = Nginx.isInstalled();

beforeEach(async () => {
  if (!installed) return;
  scene.nginx = await Nginx.start();
  scene.server = await startBalancer(balancerBefore(scene.nginx));
  const settings = {
    loadBalancerUri: scene.server.uri,
    loadBalancerQueryParams: {},
    loadBalancerRequestTimeoutMillis: 20_000,
    preResolveUpstreamDNS: false,
    skipDNSPreResolutionForRequests: [],
  };
  scene.client = new HttpLoadBalancer(settings, new Clock());
});
afterEach(async () => {
  if (!installed) return;
  for (const server of scene.servers.splice(0)) server.close().closeAllConnections();
  await scene.client.onApplicationShutdown();
  await scene.server.close();
  await scene.nginx.stop();
});

const deploy = makeDeploy({ serviceBasePath: '/web' });
/** A task that answers with its instance number. */
async function answering(instanceNo: number): Promise<BalancedTask> {
  const server = createServer((_request, response) => response.end(`instance ${instanceNo}`));
  scene.servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const { taskId } = makeTask({ instanceNo, startedAt: start });
  return { taskId, host: '127.0.0.1', rackId: 'r', ports: [port], deploy };
}
const ask = async () => {
  const answer = await fetch(`${scene.nginx.url}/web/page`, { headers: { connection: 'close' } });
  return answer.ok ? answer.text() : `status ${answer.status}`;
};
let changes = 0;
const change = (add: BalancedTask[], remove: BalancedTask[]) => {
  const id = { id: `change-${++changes}`, requestType: 'DEPLOY', attemptNumber: 1 } as const;
  return scene.client.enqueue(id, { request: makeRequest(), deploy, add, remove });
};

test.skipIf(!installed)('once the load balancer has answered, a real proxy sends traffic as it was told', async () => {
  const [one, two] = [await answering(1), await answering(2)];
  expect(await ask()).toBe('status 503');
  expect(await change([one], [])).toMatchObject({ loadBalancerState: 'SUCCESS' });
  expect(await ask()).toBe('instance 1');

  // Under load while one takes over from the other: no caller is turned away.
  const answers: string[] = [];
  let over = false;
  const load = (async () => {
    while (!over) answers.push(await ask());
  })();
  expect(await change([two], [one])).toMatchObject({ loadBalancerState: 'SUCCESS' });
  over = true;
  await load;
  expect(answers.filter((answer) => !answer.startsWith('instance '))).toEqual([]);
  expect(await ask()).toBe('instance 2');
});
