import { isExtendedName } from '../../core/extended-name.js';
import type { ExtendedResources } from '../../core/model/deploy.js';
import { sumOfExtended } from '../../core/placement/index.js';
import { parsePortRanges, PortRanges } from '../../platform/settings/local-settings.js';
import type { KubernetesSettings } from '../../platform/settings/kubernetes-settings.js';
import type { MachineSnapshot } from '../cluster-driver.js';
import { annotations } from './names.js';
import { amountOf, type Container, type Node, type Pod, type Taint } from './objects.js';

/** Resources that a foreign pod takes from its node. */
export interface ForeignUse {
  cpus: number;
  memory: number;
  disk: number;
  /** Absent: none. */
  extended?: ExtendedResources;
  ports: readonly number[];
}

export type NodeRules = Pick<KubernetesSettings, 'rackLabel' | 'ports' | 'tolerations' | 'installation'> & {
  defaultRackId: string;
};

const bytesPerMb = 2 ** 20;

/** undefined: it is no node that tasks could be bound to. */
export function machineOfNode(
  node: Node,
  foreign: Iterable<ForeignUse>,
  rules: NodeRules,
): Omit<MachineSnapshot, 'silentForMillis'> | undefined {
  const { name, uid, labels = {}, annotations: given = {} } = node.metadata ?? {};
  if (name === undefined || uid === undefined) return undefined;
  const { allocatable = {} } = node.status ?? {};
  const left = {
    cpus: amountOf(allocatable['cpu']),
    memory: amountOf(allocatable['memory']),
    disk: amountOf(allocatable['ephemeral-storage']),
  };
  let extended = extendedOf(allocatable);
  let pods = allocatable['pods'] === undefined ? undefined : amountOf(allocatable['pods']);
  const portsInUse = new Set<number>();
  for (const use of foreign) {
    if (pods !== undefined) pods -= 1;
    extended = sumOfExtended(extended, use.extended, -1);
    left.cpus -= use.cpus;
    left.memory -= use.memory;
    left.disk -= use.disk;
    for (const port of use.ports) portsInUse.add(port);
  }
  const closedBecause = whyClosed(node, rules);
  return {
    slaveId: name,
    agentId: name,
    incarnation: uid,
    hostname: addressOf(node) ?? name,
    rackId: labels[rules.rackLabel] || rules.defaultRackId,
    attributes: labels,
    // Sums of fractions: 3.9999999 cores would refuse a task of 4.
    cpus: Math.max(0, Math.round(left.cpus * 1_000) / 1_000),
    memoryMb: Math.max(0, Math.floor(left.memory / bytesPerMb)),
    diskMb: Math.max(0, Math.floor(left.disk / bytesPerMb)),
    portRanges: parsePortRanges(rangesOf(given[annotations.ports]) ?? rules.ports),
    portsInUse: [...portsInUse].toSorted((a, b) => a - b),
    runsContainers: true,
    ...(extended && { extended }),
    ...(pods !== undefined && { maxTasks: Math.max(0, pods) }),
    ...(closedBecause !== undefined && { closedBecause }),
  };
}

/** Whole numbers of the resources that neither Kubernetes itself knows nor Muster counts otherwise; undefined: none. */
function extendedOf(amounts: Record<string, string> | undefined): ExtendedResources | undefined {
  const found = Object.entries(amounts ?? {})
    .filter(([name]) => isExtendedName(name))
    .map(([name, quantity]) => [name, Math.floor(amountOf(quantity))] as const)
    .filter(([, count]) => count > 0);
  return found.length > 0 ? Object.fromEntries(found) : undefined;
}

const rangesOf = (text: string | undefined): string | undefined => PortRanges.max(1_000).safeParse(text).data;

/** By which tasks on it are reached. */
function addressOf({ status }: Node): string | undefined {
  const { addresses = [] } = status ?? {};
  return ['InternalIP', 'Hostname'].flatMap((type) => addresses.find((each) => each.type === type)?.address ?? [])[0];
}

const readiness = ({ status }: Node) => status?.conditions?.find(({ type }) => type === 'Ready');

/** True when its kubelet is heard, in whatever condition. */
export const isHeard = (node: Node): boolean => ['True', 'False'].includes(readiness(node)?.status ?? '');

/** Reason why its kubelet runs no pods now, as it names it; undefined: it does. */
function notReadyReason(node: Node): string | undefined {
  const ready = readiness(node);
  return ready?.status === 'True' ? undefined : (ready?.reason ?? 'its kubelet has not said so');
}

/** That reason with the words of the kubelet. */
export function whyNotReady(node: Node): string | undefined {
  const reason = notReadyReason(node);
  return reason === undefined ? undefined : [reason, readiness(node)?.message].filter(Boolean).join(': ');
}

/** Reason why it takes no task now; undefined: it does. A cordon of our own only repeats the state of the slave. */
function whyClosed(node: Node, { tolerations, installation }: NodeRules): string | undefined {
  const notReady = notReadyReason(node);
  if (notReady !== undefined) return `not ready: ${notReady}`;
  if (node.spec?.unschedulable && !isCordonedBy(node, installation)) return 'cordoned';
  const taint = node.spec?.taints?.find((each) => keepsOut(each) && !tolerations.some((one) => tolerates(one, each)));
  return taint && `tainted: ${taint.key}=${taint.value ?? ''}:${taint.effect}`;
}

/** True for a cordon of this installation of Muster, which alone removes it. */
export const isCordonedBy = ({ metadata }: Node, installation: string): boolean =>
  metadata?.annotations?.[annotations.cordoned] === installation;

/** The taint that Kubernetes adds for a cordon: it says nothing beside the cordon. */
const cordonTaint = 'node.kubernetes.io/unschedulable';
const keepsOut = ({ key, effect }: Taint): boolean =>
  key !== cordonTaint && (effect === 'NoSchedule' || effect === 'NoExecute');

const tolerates = (toleration: NodeRules['tolerations'][number], taint: Taint): boolean =>
  toleration.key === taint.key &&
  (toleration.value === undefined || toleration.value === (taint.value ?? '')) &&
  (toleration.effect === undefined || toleration.effect === taint.effect);

/** Resources that a foreign pod takes; undefined: nothing, or from no node yet. */
export function foreignUse(pod: Pod): (ForeignUse & { nodeName: string }) | undefined {
  const { nodeName, containers = [], initContainers = [], overhead } = pod.spec ?? {};
  if (!nodeName || ['Succeeded', 'Failed'].includes(pod.status?.phase ?? '')) return undefined;
  const lasting = [...containers, ...initContainers.filter(({ restartPolicy }) => restartPolicy === 'Always')];
  const resource = (name: string): number => {
    const request = (container: Container) => amountOf(container.resources?.requests?.[name]);
    const together = lasting.reduce((sum, container) => sum + request(container), 0);
    return Math.max(together, ...initContainers.map(request)) + amountOf(overhead?.[name]);
  };
  const extended = lasting
    .map(({ resources }) => extendedOf(resources?.requests))
    .reduce<ExtendedResources | undefined>((sum, counts) => sumOfExtended(sum, counts), undefined);
  return {
    nodeName,
    ...(extended && { extended }),
    cpus: resource('cpu'),
    memory: resource('memory'),
    disk: resource('ephemeral-storage'),
    ports: lasting.flatMap(({ ports = [] }) => ports.flatMap(({ hostPort }) => (hostPort ? [hostPort] : []))),
  };
}
