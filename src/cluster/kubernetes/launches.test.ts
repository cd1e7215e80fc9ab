import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { KubernetesSettings } from '../../platform/settings/kubernetes-settings.js';
import { launchSpec } from '../../../test/support/launch-spec.js';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { waitFor } from '../../../test/support/wait-for.js';
import { StaleEpochError } from '../cluster-driver.js';
import type { Metadata, Pod } from './objects.js';
import { KubernetesDriver } from './kubernetes-driver.js';

const events = {
  machines: async () => undefined,
  machineDown: async () => undefined,
  statusUpdates: async () => undefined,
  outranked: () => undefined,
};
const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** A driver in epoch 1, and an API server with one node that takes its time for each pod. */
async function slowCluster(podMillis: number, given: object) {
  const lease = { metadata: { annotations: { 'muster/epoch': '1' } } };
  const seen = { atOnce: 0, most: 0, pods: 0, looks: 0 };
  const now: { refusal?: { code: number; message: string }; lost?: keyof Metadata; removed: string[] } = {
    removed: [],
  };
  const answerOf = async (method: string, url: URL, body: string): Promise<unknown> => {
    if (url.pathname.includes('/leases/')) {
      seen.looks += 1;
      return structuredClone(lease);
    }
    if (method === 'GET')
      return { metadata: { resourceVersion: '1' }, items: url.pathname.endsWith('/nodes') ? [node] : [] };
    seen.most = Math.max(seen.most, ++seen.atOnce);
    await delay(podMillis);
    seen.atOnce -= 1;
    seen.pods += 1;
    if (method === 'DELETE') now.removed.push(url.pathname.split('/').at(-1)!);
    const made = JSON.parse(body) as Pod;
    if (now.lost) delete made.metadata?.[now.lost];
    return made;
  };
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://x');
    // Nothing ever happens there.
    if (url.searchParams.has('watch'))
      return void request.resume().on('end', () => response.writeHead(200).flushHeaders());
    const isOfPod = /\/pods(\/[^/]+)?$/.test(url.pathname);
    if (now.refusal && isOfPod) {
      const { code, message } = request.method === 'GET' ? { code: 404, message: 'not found' } : now.refusal;
      return void response.writeHead(code).end(JSON.stringify({ message }));
    }
    void text(request)
      .then((body) => answerOf(request.method ?? '', url, body))
      .then((body) => response.end(JSON.stringify(body)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const directory = tempFolder();
  const kubeconfig = join(directory.path, 'kubeconfig');
  const { port } = server.address() as AddressInfo;
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      clusters: [{ name: 'c', cluster: { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'u', user: { token: 'secret' } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: 'tasks' } }],
      'current-context': 'x',
    }),
  );
  const settings = KubernetesSettings.parse({ kubeconfig, ...given });
  const driver = await KubernetesDriver.open({ settings, defaultRackId: 'DEFAULT', log: quiet, now: Date.now });
  onTestFinished(async () => {
    await driver.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    directory.remove();
  });
  await driver.start(1, events);
  await waitFor('the node', () => driver.machines().length === 1);
  return { driver, lease, seen, now };
}

const node = {
  metadata: { name: 'n1', uid: 'u1' },
  status: {
    allocatable: { cpu: '8', memory: '16Gi' },
    addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
    conditions: [{ type: 'Ready', status: 'True' }],
  },
};
const specs = (count: number) =>
  Array.from({ length: count }, (_, index) =>
    launchSpec({ taskId: `task-${index}`, slaveId: 'n1', incarnation: 'u1' }),
  );

test('launches that wait for their turn do not run out of time, however many calls bring them', async () => {
  const { driver, seen } = await slowCluster(100, { callsAtOnce: 4, callTimeoutMillis: 700 });
  const answers = await Promise.all(specs(60).map((spec) => driver.launch([spec], 1)));
  expect(new Set(answers.flat().map(({ outcome }) => outcome))).toEqual(new Set(['ACCEPTED']));
  expect(seen).toMatchObject({ most: 4, pods: 60 });
});

test('those that have waited long begin only while their leader leads', async () => {
  const { driver, lease, seen } = await slowCluster(200, { callsAtOnce: 1 });
  const launched = driver.launch(specs(20), 1);
  launched.catch(() => undefined);
  await waitFor('the first', () => seen.pods > 0);
  lease.metadata.annotations['muster/epoch'] = '2';
  await expect(launched).rejects.toThrow(StaleEpochError);
  const begun = seen.pods;
  await delay(500);
  expect(seen.pods).toBeLessThanOrEqual(begun + 1);
  expect(begun).toBeLessThan(10);
});

test('launches that go on for long look at the lease about once a second, all together', async () => {
  const { driver, seen } = await slowCluster(100, { callsAtOnce: 4 });
  const [before, begunAt] = [seen.looks, performance.now()];
  await driver.launch(specs(100), 1);
  const seconds = (performance.now() - begunAt) / 1_000;
  // One at first, and what the driver does beside launches.
  expect(seen.looks - before).toBeLessThan(1 + seconds * 1.5 + 2);
});

test('a kill does not wait until all has begun that waits for its launch', async () => {
  const { driver, seen } = await slowCluster(100, { callsAtOnce: 2 });
  const launched = driver.launch(specs(100), 1);
  await waitFor('the first', () => seen.pods > 0);
  expect(await driver.kill('another', 'n1', 1_000, 1)).toBe('KILLING');
  expect(seen.pods).toBeLessThan(50);
  await launched;
});

const webhook = 'admission webhook "policy.example.com" denied the request: no';
test.each([
  { code: 403, message: 'pods "a" is forbidden: exceeded quota: pods, requested: pods=1', outcome: 'NOT_ADMITTED' },
  { code: 403, message: 'pods "a" is forbidden: maximum cpu usage per Container is 1', outcome: 'NOT_ADMITTED' },
  { code: 403, message: 'pods is forbidden: User "x" cannot create resource "pods"', outcome: 'NOT_ADMITTED' },
  { code: 404, message: 'namespaces "tasks" not found', outcome: 'NOT_ADMITTED' },
  { code: 400, message: webhook, outcome: 'NOT_ADMITTED' },
  { code: 422, message: "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no", outcome: 'NOT_ADMITTED' },
  { code: 500, message: 'Internal error occurred: failed calling webhook "x": refused', outcome: 'NOT_ADMITTED' },
  { code: 403, message: 'violates PodSecurity "restricted:latest": runAsNonRoot', outcome: 'REFUSED' },
  { code: 422, message: 'Pod "a" is invalid: spec.containers[0].image: Required value', outcome: 'REFUSED' },
  { code: 401, message: 'Unauthorized', outcome: 'UNKNOWN' },
  { code: 429, message: 'too many requests', outcome: 'UNKNOWN' },
  { code: 500, message: 'etcdserver: leader changed', outcome: 'UNKNOWN' },
])('a pod that is refused with $code "$message" is $outcome', async ({ code, message, outcome }) => {
  const { driver, now } = await slowCluster(0, {});
  now.refusal = { code, message };
  const [spec] = specs(1);
  expect(await driver.launch([spec!], 1)).toEqual([{ taskId: 'task-0', outcome, reason: message }]);
});

test.each(['labels', 'annotations', 'finalizers'] as const)(
  'a pod that the cluster makes without its %s is removed, and the launch is not admitted',
  async (lost) => {
    const { driver, now } = await slowCluster(0, {});
    now.lost = lost;
    const [answer] = await driver.launch(specs(1), 1);
    expect(answer).toMatchObject({
      outcome: 'NOT_ADMITTED',
      reason: expect.stringMatching(
        /^The cluster has made its pod without its (label|annotation|finalizer) muster\//,
      ) as unknown,
    });
    expect(now.removed).toHaveLength(1);
  },
);
