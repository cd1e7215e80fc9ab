import type { KubernetesSettings } from '../../platform/settings/kubernetes-settings.js';
import { silentAfterMillis } from '../../core/machines/silence.js';
import type { AgentMachines, ClusterEvents, MachineSnapshot } from '../cluster-driver.js';
import type { ListFollower } from './follow-list.js';
import {
  foreignUse,
  type ForeignUse,
  isCordonedBy,
  isHeard,
  machineOfNode,
  type NodeRules,
  whyNotReady,
} from './machine-of-node.js';
import type { Node, Pod } from './objects.js';
import type { NodeCondition } from './wait-of-pod.js';

type Rules = NodeRules & Pick<KubernetesSettings, 'nodeSelector'>;

/** Facts from the agent of a node for future tasks. */
interface AgentOfNode {
  isReady: boolean;
  isDiskFull: boolean;
}

interface ReportedMachine {
  machine: Omit<MachineSnapshot, 'silentForMillis'>;
  /** Since when its kubelet is not heard, by the monotonic clock: that of Kubernetes may be wrong. undefined: it is heard. */
  silentSince: number | undefined;
}

/** The nodes of the cluster, with what pods of others take from them, as machines. */
export class Nodes {
  private readonly nodes = new Map<string, Node>();
  /** By node, then by the uid of the pod. */
  private readonly foreign = new Map<string, Map<string, ForeignUse>>();
  private readonly nodeOfPod = new Map<string, string>();
  private readonly listed = { nodes: false, foreign: false };
  private readonly shown = new Map<string, ReportedMachine>();
  /** Last report to the scheduler of each machine. */
  private readonly reported = new Map<string, string>();
  private dirty = new Set<string>();

  constructor(
    private readonly rules: Rules,
    /** Since the API server answered last. */
    private readonly silentForMillis: () => number,
    /** True when a pod of ours that has not ended is bound to it. */
    private readonly hasTasks: (name: string) => boolean = () => false,
    /** undefined: nodes have no agents. */
    private readonly agentOn: (name: string) => AgentOfNode | undefined = () => undefined,
  ) {}

  machines(): MachineSnapshot[] {
    const ofAll = this.silentForMillis();
    const now = performance.now();
    return [...this.shown.values()].map(({ machine, silentSince }) => ({
      ...machine,
      silentForMillis: silentSince === undefined ? ofAll : Math.max(ofAll, now - silentSince),
    }));
  }

  get hasMachines(): boolean {
    return this.shown.size > 0;
  }

  /** The uid of the node; undefined: there is no such node, as far as is known. */
  incarnationOf = (name: string): string | undefined => this.nodes.get(name)?.metadata?.uid;

  /** True when its kubelet is heard, so that its pods show its real state. */
  isHeard = (name: string): boolean => isHeard(this.nodes.get(name) ?? {});

  conditionOf(name: string): NodeCondition {
    const notReady = whyNotReady(this.nodes.get(name) ?? {});
    return { ...(notReady !== undefined && { notReady }), isAgentReady: this.agentOn(name)?.isReady ?? false };
  }

  /** All nodes are known, or those of the moment when there were. */
  get isListed(): boolean {
    return this.listed.nodes && this.listed.foreign;
  }

  /** They are told, so that one that is not among the machines is gone. */
  isReported = false;

  /** Ports that pods of others have on the node now. */
  portsInUse = (name: string): readonly number[] => this.shown.get(name)?.machine.portsInUse ?? [];

  /**
   * Changes after which these machines, and no others, are cordoned by us. One that another has cordoned stays as it
   * is, and so does one that is not a machine.
   */
  toHold(slaveIds: ReadonlySet<string>): { name: string; isHeld: boolean }[] {
    return [...this.nodes].flatMap(([name, node]) => {
      const isCordoned = node.spec?.unschedulable === true;
      const isOurs = isCordonedBy(node, this.rules.installation);
      const isHeld = slaveIds.has(name) && this.shown.has(name);
      if (isHeld ? isCordoned : !isOurs) return [];
      return [{ name, isHeld }];
    });
  }

  follower(parts: Pick<ListFollower<unknown>, 'heard' | 'failed'>, changed: () => void): ListFollower<Node> {
    const set = (node: Node) => {
      const name = node.metadata?.name ?? '';
      this.nodes.set(name, node);
      this.dirty.add(name);
    };
    const drop = (name: string) => {
      this.nodes.delete(name);
      this.dirty.add(name);
    };
    return {
      ...parts,
      replaced: (items) => {
        const present = new Set(items.map(({ metadata }) => metadata?.name ?? ''));
        for (const name of this.nodes.keys()) if (!present.has(name)) drop(name);
        for (const node of items) set(node);
        this.listed.nodes = true;
        changed();
      },
      changed: (node) => {
        set(node);
        changed();
      },
      removed: ({ metadata }) => {
        drop(metadata?.name ?? '');
        changed();
      },
    };
  }

  /** Follower of pods that are not of this installation. */
  foreignFollower(parts: Pick<ListFollower<unknown>, 'heard' | 'failed'>, changed: () => void): ListFollower<Pod> {
    const drop = (uid: string) => {
      const node = this.nodeOfPod.get(uid);
      if (node === undefined) return;
      this.nodeOfPod.delete(uid);
      const left = this.foreign.get(node)!;
      left.delete(uid);
      if (left.size === 0) this.foreign.delete(node);
      this.dirty.add(node);
    };
    const set = (pod: Pod) => {
      const uid = pod.metadata?.uid ?? '';
      drop(uid);
      const use = foreignUse(pod);
      if (!use) return;
      const { nodeName, ...taken } = use;
      this.nodeOfPod.set(uid, nodeName);
      if (!this.foreign.has(nodeName)) this.foreign.set(nodeName, new Map());
      this.foreign.get(nodeName)!.set(uid, taken);
      this.dirty.add(nodeName);
    };
    return {
      ...parts,
      replaced: (items) => {
        const present = new Set(items.map(({ metadata }) => metadata?.uid ?? ''));
        for (const uid of this.nodeOfPod.keys()) if (!present.has(uid)) drop(uid);
        for (const pod of items) set(pod);
        this.listed.foreign = true;
        changed();
      },
      changed: (pod) => {
        set(pod);
        changed();
      },
      removed: ({ metadata }) => {
        drop(metadata?.uid ?? '');
        changed();
      },
    };
  }

  /** Marks a node whose report has changed. */
  touch(name: string): void {
    this.dirty.add(name);
  }

  /** Tells the scheduler what has changed. What it could not take is told again. */
  async report(events: ClusterEvents): Promise<void> {
    if (!this.isListed) return;
    const changed = this.dirty;
    this.dirty = new Set();
    for (const name of changed) this.look(name);
    this.isReported = true;
    try {
      for (const name of changed) await this.reportGone(name, events);
      const changes = [...changed].flatMap((name) => this.changeOf(name) ?? []);
      if (changes.length > 0) await events.machines(changes.map(({ agent }) => agent));
      for (const { agent, text } of changes) this.reported.set(agent.agentId, text);
    } catch (cause) {
      for (const each of changed) this.dirty.add(each);
      throw cause;
    }
  }

  private look(name: string): void {
    const node = this.nodes.get(name);
    const isChosen = node !== undefined && this.matches(node);
    const machine = node && machineOfNode(node, this.foreign.get(name)?.values() ?? [], this.rules);
    // One that has lost its label may still run tasks, also where a former leader was told of it: it is there, and takes no more.
    if (!machine || !(isChosen || this.reported.has(name) || this.hasTasks(name))) this.shown.delete(name);
    else {
      const agent = this.agentOn(name);
      const closedBecause = isChosen
        ? (machine.closedBecause ?? (agent?.isReady === false ? 'its agent is not ready' : undefined))
        : 'not one that cluster.kubernetes.nodeSelector names';
      const chosen = {
        ...machine,
        ...(closedBecause !== undefined && { closedBecause }),
        ...(agent && { isDiskFull: agent.isDiskFull }),
      };
      const silentSince = isHeard(node) ? undefined : this.silentSince(name);
      this.shown.set(name, { machine: chosen, silentSince });
    }
  }

  /** One that was silent before it was looked at has been so for long: Kubernetes itself has waited for its kubelet. */
  private silentSince(name: string): number {
    const shown = this.shown.get(name);
    return shown ? (shown.silentSince ?? performance.now()) : performance.now() - silentAfterMillis;
  }

  private async reportGone(name: string, events: ClusterEvents): Promise<void> {
    if (this.shown.has(name) || !this.reported.has(name)) return;
    await events.machineDown(name, 'its node was removed from Kubernetes');
    this.reported.delete(name);
  }

  /** Unreported state of a node, with its text for comparison. One that is silent has not come up. */
  private changeOf(name: string): { agent: AgentMachines; text: string } | undefined {
    const shown = this.shown.get(name);
    if (!shown) return undefined;
    if (shown.silentSince !== undefined) return void this.reported.set(name, this.reported.get(name) ?? '');
    const text = JSON.stringify(shown.machine);
    if (this.reported.get(name) === text) return undefined;
    const silentForMillis = this.silentForMillis();
    return { agent: { agentId: name, machines: [{ ...shown.machine, silentForMillis }] }, text };
  }

  private matches({ metadata }: Node): boolean {
    return Object.entries(this.rules.nodeSelector).every(([key, value]) => metadata?.labels?.[key] === value);
  }
}
