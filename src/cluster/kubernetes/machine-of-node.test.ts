import { expect, test } from 'vitest';
import { KubernetesSettings } from '../../platform/settings/kubernetes-settings.js';
import { foreignUse, machineOfNode, type NodeRules } from './machine-of-node.js';
import { amountOf, type Node } from './objects.js';

const silentSince = '2026-01-01T00:30:00Z';
const rules: NodeRules = { ...KubernetesSettings.parse({}), defaultRackId: 'DEFAULT' };

const node = (changes: { metadata?: Node['metadata']; spec?: Node['spec']; status?: Node['status'] } = {}): Node => ({
  metadata: { name: 'n1', uid: 'u1', ...changes.metadata },
  spec: changes.spec,
  status: {
    allocatable: { cpu: '3920m', memory: '7Gi', 'ephemeral-storage': '10737418240' },
    addresses: [
      { type: 'Hostname', address: 'n1.example' },
      { type: 'InternalIP', address: '10.0.0.1' },
    ],
    conditions: [{ type: 'Ready', status: 'True' }],
    ...changes.status,
  },
});
const machine = (given: Node, of: Partial<NodeRules> = {}) => machineOfNode(given, [], { ...rules, ...of });
const readiness = (status: string) => ({
  conditions: [{ type: 'Ready', status, reason: 'Because', lastTransitionTime: silentSince }],
});
const tainted = (effect: string): Node => node({ spec: { taints: [{ key: 'gpu', value: 'yes', effect }] } });

test('a node is a machine with what may be given to pods', () =>
  expect(machine(node())).toEqual({
    slaveId: 'n1',
    agentId: 'n1',
    incarnation: 'u1',
    hostname: '10.0.0.1',
    rackId: 'DEFAULT',
    attributes: {},
    cpus: 3.92,
    memoryMb: 7 * 1024,
    diskMb: 10 * 1024,
    portRanges: [{ begin: 20_000, end: 20_999 }],
    portsInUse: [],
    runsContainers: true,
  }));

test('pods of others take their share, and their ports', () => {
  const use = { cpus: 0.1, memory: 2 ** 30, disk: 0, ports: [20_001, 53] };
  const found = machineOfNode(node(), [use, { ...use, cpus: 0.02 }], rules);
  expect(found).toMatchObject({ cpus: 3.8, memoryMb: 5 * 1024, portsInUse: [53, 20_001] });
  const full = machineOfNode(node(), [{ ...use, cpus: 99, memory: 2 ** 60, disk: 2 ** 60 }], rules);
  expect(full).toMatchObject({ cpus: 0, memoryMb: 0, diskMb: 0 });
});

test.each([
  { name: 'ready', given: node(), closed: undefined },
  { name: 'cordoned', given: node({ spec: { unschedulable: true } }), closed: 'cordoned' },
  { name: 'not ready', given: node({ status: readiness('False') }), closed: 'not ready: Because' },
  {
    name: 'silent',
    given: node({ status: readiness('Unknown') }),
    closed: 'not ready: Because',
  },
  { name: 'new', given: node({ status: { conditions: [] } }), closed: /^not ready/ },
  { name: 'tainted', given: tainted('NoSchedule'), closed: 'tainted: gpu=yes:NoSchedule' },
  { name: 'tainted against what runs', given: tainted('NoExecute'), closed: /^tainted/ },
  {
    name: 'cordoned by Muster',
    given: node({
      metadata: { annotations: { 'muster/cordoned': 'muster' } },
      spec: { unschedulable: true, taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }] },
    }),
    closed: undefined,
  },
  {
    name: 'cordoned by another Muster',
    given: node({ metadata: { annotations: { 'muster/cordoned': 'b' } }, spec: { unschedulable: true } }),
    closed: 'cordoned',
  },
  { name: 'tainted a little', given: tainted('PreferNoSchedule'), closed: undefined },
])('one that is $name is closed: $closed', ({ given, closed }) => {
  const found = machine(given)!;
  if (closed instanceof RegExp) expect(found.closedBecause).toMatch(closed);
  else expect(found.closedBecause).toBe(closed);
});

test.each([
  [{ key: 'gpu' }, true],
  [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }, true],
  [{ key: 'gpu', value: 'no' }, false],
  [{ key: 'gpu', effect: 'NoExecute' }, false],
  [{ key: 'cpu' }, false],
] as const)('the toleration %o opens it: %s', (toleration, opens) =>
  expect(machine(tainted('NoSchedule'), { tolerations: [toleration] })?.closedBecause === undefined).toBe(opens),
);

test('the zone is the rack, labels are attributes, and an annotation says other ports', () => {
  const labels = { 'topology.kubernetes.io/zone': 'z1', disk: 'ssd' };
  const found = machine(node({ metadata: { labels, annotations: { 'muster/ports': '100-200,300-301' } } }));
  expect(found).toMatchObject({ rackId: 'z1', attributes: labels });
  expect(found?.portRanges).toEqual([
    { begin: 100, end: 200 },
    { begin: 300, end: 301 },
  ]);
  for (const text of ['', 'x', '5-1', '1-99999', `1-2${',1-2'.repeat(999)}`])
    expect(machine(node({ metadata: { annotations: { 'muster/ports': text } } }))?.portRanges).toEqual([
      { begin: 20_000, end: 20_999 },
    ]);
});

test('what is no node is none', () => expect(machineOfNode({}, [], rules)).toBeUndefined());

test('extended resources are counted, without those of pods of others and those that are no names of a vendor', () => {
  const allocatable = { 'a.b/gpu': '4', 'a.b/none': '0', 'hugepages-2Mi': '2', pods: '110', 'x.kubernetes.io/y': '3' };
  const given = node({ status: { allocatable } });
  expect(machine(given)?.extended).toEqual({ 'a.b/gpu': 4 });
  const other = { cpus: 0, memory: 0, disk: 0, ports: [], extended: { 'a.b/gpu': 1 } };
  expect(machineOfNode(given, [other, other], rules)?.extended).toEqual({ 'a.b/gpu': 2 });
  expect(machineOfNode(given, Array(4).fill(other), rules)).not.toHaveProperty('extended');
});

test('pods of others take from the most tasks of a node, each as one', () => {
  const given = node({ status: { allocatable: { pods: '3' } } });
  const other = { cpus: 0, memory: 0, disk: 0, ports: [] };
  expect([0, 2, 4].map((count) => machineOfNode(given, Array(count).fill(other), rules)?.maxTasks)).toEqual([3, 1, 0]);
  expect(machine(node({ status: { allocatable: {} } }))).not.toHaveProperty('maxTasks');
});

test('a pod takes the extended resources of its containers', () => {
  const asking = (count: string) => ({ resources: { requests: { cpu: '1', 'a.b/gpu': count } } });
  const spec = { nodeName: 'n1', containers: [asking('1'), asking('2')] };
  expect(foreignUse({ spec })?.extended).toEqual({ 'a.b/gpu': 3 });
});

test('a pod takes what its containers ask for together, or the largest of those before them', () => {
  const resources = (cpu: string, memory: string) => ({ resources: { requests: { cpu, memory } } });
  const spec = {
    nodeName: 'n1',
    containers: [
      { ...resources('100m', '1Gi'), ports: [{ containerPort: 80, hostPort: 8080 }, { containerPort: 81 }] },
      resources('0.2', '1Gi'),
    ],
    initContainers: [resources('1', '10Mi'), { ...resources('50m', '1Mi'), restartPolicy: 'Always' }],
    overhead: { cpu: '10m' },
  };
  const use = foreignUse({ spec, status: { phase: 'Running' } });
  expect(use).toMatchObject({ nodeName: 'n1', cpus: 1.01, memory: 2 * 2 ** 30 + 2 ** 20, ports: [8080] });
  expect(foreignUse({ spec, status: { phase: 'Succeeded' } })).toBeUndefined();
  expect(foreignUse({ spec: { ...spec, nodeName: undefined } })).toBeUndefined();
});

test.each([
  ['250m', 0.25],
  ['2', 2],
  ['1.5Gi', 1.5 * 2 ** 30],
  ['2e3', 2_000],
  ['1E', 1e18],
  ['128974848', 128_974_848],
  ['100u', 1e-4],
  ['', 0],
  [undefined, 0],
  ['-1', 0],
  ['1Xi', 0],
  ['1.2.3', 0],
])('the quantity %s is %d', (text, amount) => expect(amountOf(text)).toBeCloseTo(amount, 9));
