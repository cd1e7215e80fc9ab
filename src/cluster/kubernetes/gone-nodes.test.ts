import { EventEmitter, on } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { waitFor } from '../../../test/support/wait-for.js';
import { KubernetesSettings } from '../../platform/settings/kubernetes-settings.js';
import type { KubernetesApi } from './kubernetes-api.js';
import { KubernetesWatch } from './kubernetes-watch.js';
import type { LeaderLease } from './leader-lease.js';
import { NodeAgents } from './node-agents.js';
import type { Node, Pod } from './objects.js';
import type { PodCalls } from './pod-calls.js';

const node = (name: string, labels: Record<string, string> = {}): Node => ({
  metadata: { name, uid: `uid-of-${name}`, labels },
  status: { allocatable: { cpu: '8', memory: '16Gi' }, conditions: [{ type: 'Ready', status: 'True' }] },
});
/** Pod of an agent that refuses every connection. */
const agent = (nodeName: string, uid = `agent-of-${nodeName}`): Pod => ({
  metadata: { name: uid, uid, namespace: 'tasks', labels: { 'muster/agent': 'muster' } },
  spec: { nodeName, containers: [{ ports: [{ name: 'agent', containerPort: 1 }] }] },
  status: { phase: 'Running', podIP: '127.0.0.1', conditions: [{ type: 'Ready', status: 'True' }] },
});

/** Number of entries in all maps and sets of an object, and in those of its parts. */
function entriesIn(part: unknown, seen = new Set<unknown>()): number {
  if (typeof part !== 'object' || part === null || seen.has(part)) return 0;
  seen.add(part);
  const own = part instanceof Map || part instanceof Set ? part.size : 0;
  return Object.values(part).reduce<number>((sum, member) => sum + entriesIn(member, seen), own);
}

/** A leader that follows an empty cluster, of which the test says what changes. */
function scene() {
  const changes = new EventEmitter();
  const api = {
    call: async () => ({ metadata: { resourceVersion: '1' }, items: [] }),
    async *lines(path: string, { signal }: { signal: AbortSignal }) {
      for await (const [change] of on(changes, path, { signal })) yield change as unknown;
    },
  } as unknown as KubernetesApi;
  const agents = new NodeAgents({ api, namespace: 'tasks', installation: 'muster', secret: 'x'.repeat(40) });
  const told: string[] = [];
  const events = {
    machines: async (found: readonly { agentId: string }[]) => void told.push(...found.map(({ agentId }) => agentId)),
    machineDown: async (name: string) => void told.push(`${name} is gone`),
    statusUpdates: async () => undefined,
    outranked: () => undefined,
  };
  const settings = KubernetesSettings.parse({});
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const lease = { take: async () => undefined, check: async () => undefined } as unknown as LeaderLease;
  const calls = { collection: '/api/v1/namespaces/tasks/pods', selector: 'ours' } as unknown as PodCalls;
  const watch = new KubernetesWatch(
    { api, lease, calls, agents, epoch: 1, events, settings, defaultRackId: 'DEFAULT', now: Date.now, log },
    () => undefined,
    Promise.resolve(),
  );
  onTestFinished(async () => {
    await watch.stop();
    await agents.close();
  });
  const followed = ['/api/v1/nodes', '/api/v1/pods', calls.collection];
  const change = (path: string) => (type: 'ADDED' | 'DELETED', object: Node | Pod) =>
    changes.emit(path, { type, object });
  let passes = 0;
  const ofNode = change('/api/v1/nodes');
  return {
    watch,
    agents,
    told,
    ofNode,
    ofPod: change('/api/v1/pods'),
    isFollowed: () => waitFor('its watches', () => followed.every((path) => changes.listenerCount(path) > 0)),
    /** All that was said before is reported. */
    async pass() {
      // The second report begins when the first one is over.
      for (const _ of [1, 2]) {
        const before = told.length;
        ofNode('ADDED', node('always-there', { pass: String(++passes) }));
        await waitFor('a report', () => told.slice(before).includes('always-there'));
      }
    },
    entries: () => entriesIn(watch.nodes) + entriesIn(agents) + entriesIn(watch['agentReports' as keyof typeof watch]),
  };
}

test('nothing is kept of nodes that are gone, however many there were', async () => {
  const { watch, agents, told, ofNode, ofPod, isFollowed, pass, entries } = scene();
  await isFollowed();
  await pass();
  const before = entries();
  for (const name of ['n1', 'n2', 'n3']) {
    ofNode('ADDED', node(name));
    ofPod('ADDED', agent(name));
    await waitFor('the machine', () => told.includes(name));
    expect(agents.of(name)).toBeDefined();
    watch.noPod({ taskId: `task-of-${name}`, slaveId: name });
    // Its pods are removed by Kubernetes later.
    ofNode('DELETED', node(name));
    await waitFor('its end', () => told.includes(`${name} is gone`));
    ofPod('DELETED', agent(name));
  }
  await pass();
  await waitFor('the end of calls to their agents', () => entries() === before);
});

test('a node whose agent is replaced keeps its connection, and what its agent is to be told', async () => {
  const { watch, agents, told, ofNode, ofPod, isFollowed, pass, entries } = scene();
  await isFollowed();
  ofNode('ADDED', node('n1'));
  ofPod('ADDED', agent('n1'));
  await waitFor('the machine', () => told.includes('n1'));
  const connection = agents.of('n1');
  watch.noPod({ taskId: 'task-1', slaveId: 'n1' });
  await pass();
  const before = entries();
  ofPod('DELETED', agent('n1'));
  await pass();
  expect(agents.of('n1')).toBeUndefined();
  ofPod('ADDED', agent('n1', 'replacement'));
  await pass();
  expect(agents.of('n1')).toBe(connection);
  await waitFor('all that was kept', () => entries() === before);
});
