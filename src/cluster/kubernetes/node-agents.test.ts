import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { waitFor } from '../../../test/support/wait-for.js';
import { keysOf, serverTls } from '../../pod-agent/keys.js';
import type { KubernetesApi } from './kubernetes-api.js';
import { NodeAgents, placeOf } from './node-agents.js';
import type { Pod } from './objects.js';

interface Changes {
  name?: string;
  ip?: string;
  isReady?: boolean;
  hostPort?: number;
  installation?: string;
  namespace?: string;
  at?: number;
}
const agent = ({
  name = 'a',
  ip = '10.0.0.1',
  isReady = true,
  hostPort,
  installation = 'muster',
  namespace = 'tasks',
  at = 1,
}: Changes = {}): Pod => ({
  metadata: {
    name,
    uid: name,
    namespace,
    labels: { 'muster/agent': installation },
    creationTimestamp: new Date(at * 1_000).toISOString(),
  },
  spec: { nodeName: 'n1', containers: [{ ports: [{ name: 'agent', containerPort: 7_098, hostPort }] }] },
  status: {
    phase: 'Running',
    podIP: ip,
    hostIP: '192.168.0.1',
    conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }],
  },
});
const secret = 'a text of more than thirty characters';
const agents = (items: readonly Pod[] = [], calls: object[] = []) =>
  new NodeAgents({
    api: {
      call: async (path: string, { query }: { query: object }) => {
        expect(path).toContain('/namespaces/tasks/pods');
        calls.push(query);
        return { items };
      },
    } as unknown as KubernetesApi,
    namespace: 'tasks',
    installation: 'muster',
    secret,
  });

test('an agent is where its pod says, or at a port of its node', () => {
  expect(placeOf(agent())).toEqual({ node: 'n1', host: '10.0.0.1', port: 7_098, isReady: true });
  expect(placeOf(agent({ hostPort: 7_000 }))).toMatchObject({ host: '192.168.0.1', port: 7_000 });
  expect(placeOf({ ...agent(), status: { phase: 'Pending' } })).toBeUndefined();
});

test('while one replaces another, the one that is ready is called, else the newer one', () => {
  const all = agents();
  const [old, young] = [
    { name: 'old', ip: '10.0.0.1' },
    { name: 'young', ip: '10.0.0.2', at: 2 },
  ];
  all.replaced([agent(old), agent({ ...young, isReady: false })]);
  expect(all.of('n1')?.host).toBe('10.0.0.1');
  expect(all.of('n1')).toBe(all.of('n1'));
  all.changed(agent({ ...old, isReady: false }));
  expect([all.of('n1')?.host, all.isReady('n1')]).toEqual(['10.0.0.2', false]);
  all.changed(agent(young));
  expect(all.isReady('n1')).toBe(true);
  all.removed(agent(young));
  all.removed(agent(old));
  expect(all.of('n1')).toBeUndefined();
});

test('those of another installation or namespace are none of ours', () => {
  const all = agents();
  all.replaced([
    agent({ installation: 'other' }),
    agent({ namespace: 'default' }),
    { ...agent(), metadata: { uid: 'x' } },
  ]);
  expect(all.nodes()).toEqual([]);
});

test('where pods are not followed an agent is asked for, and its place is kept for a moment', async () => {
  const calls: object[] = [];
  const all = agents([agent()], calls);
  expect((await all.find('n1'))?.host).toBe('10.0.0.1');
  await all.find('n1');
  expect(calls).toEqual([
    { labelSelector: 'muster/agent=muster', fieldSelector: 'spec.nodeName=n1', limit: 500, continue: undefined },
  ]);
  all.replaced([]);
  expect(await all.find('n1')).toBeUndefined();
  all.unfollow();
  expect((await all.find('n1'))?.host).toBe('10.0.0.1');
});

test('an instance that does not lead keeps connections that are used, and forgets the others after a minute', async () => {
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
  onTestFinished(() => clock.mockRestore());
  const onNode = (node: string): Pod => {
    const pod = agent({ name: `agent-of-${node}` });
    return { ...pod, spec: { ...pod.spec, nodeName: node } };
  };
  const all = new NodeAgents({
    api: {
      call: async (_path: string, { query }: { query: { fieldSelector: string } }) => ({
        items: [onNode(query.fieldSelector.split('=')[1]!)],
      }),
    } as unknown as KubernetesApi,
    namespace: 'tasks',
    installation: 'muster',
    secret,
  });
  const [used, unused] = [await all.find('used'), await all.find('unused')];
  for (now = 10_000; now <= 80_000; now += 10_000) expect(await all.find('used')).toBe(used);
  const again = await all.find('unused');
  expect(again).toBeDefined();
  expect(again).not.toBe(unused);
});

test('a call under way goes on while its node is forgotten', async () => {
  const calls: ServerResponse[] = [];
  const server = createServer(serverTls([keysOf('n1', secret)]), (_request, response) => void calls.push(response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const pod = agent({ ip: '127.0.0.1' });
  const { port } = server.address() as AddressInfo;
  const all = agents();
  all.replaced([{ ...pod, spec: { ...pod.spec, containers: [{ ports: [{ name: 'agent', containerPort: port }] }] } }]);
  const former = all.of('n1')!;
  const usage = former.usage();
  await waitFor('the call', () => calls.length === 1);
  all.forget((node) => node === 'n1');
  expect(all.of('n1')).not.toBe(former);
  calls[0]!.writeHead(404).end();
  expect(await usage).toBeUndefined();
});
