import type {
  CommandSettings,
  LeaderPodAgent,
  PodToPrepare,
  PrepareAnswer,
  TrustedPodAgent,
} from '../../pod-agent/pod-agent-api.js';
import { PodAgentConnection } from '../../pod-agent/pod-agent-client.js';
import { answerFrom, checkAnswer, ifFound, orUnreachable, unlessStale } from '../agent-answers.js';
import { openAgentSandbox } from '../agent-sandbox.js';
import {
  type Epoch,
  type MachineUsage,
  type SandboxView,
  type ShellCommandAnswer,
  type ShellCommandOrder,
  StaleEpochError,
  type TaskCheck,
  type TaskCheckAnswer,
  type TaskSandbox,
  type TaskStatistics,
} from '../cluster-driver.js';
import { listAll } from './follow-list.js';
import type { KubernetesApi } from './kubernetes-api.js';
import { agentLabel } from './names.js';
import { isReady, millisOf, type Pod } from './objects.js';

/** Until the answer of a call that names no time of its own. */
export const agentCallMillis = 5_000;
/** The directories of all tasks are measured for it. */
const usageMillis = 30_000;
/** So long one that was looked up is taken for where it was. */
const lookupLastsMillis = 5_000;
/** So long a connection that is not used is kept by an instance that does not lead. */
const unusedMillis = 60_000;
/** Name of the port of its container. */
const portName = 'agent';

/** Address of the agent of a node, from its pod. */
export interface AgentAddress {
  node: string;
  host: string;
  port: number;
  /** It has begun, and is not told to end. */
  isReady: boolean;
}

/** undefined: it is no agent, or has no address yet. A port of its node is where it is reached from outside of the cluster, too. */
export function placeOf(pod: Pod): AgentAddress | undefined {
  const { spec: { nodeName, containers = [] } = {}, status: { hostIP, podIP, phase } = {}, metadata } = pod;
  const port = containers.flatMap(({ ports = [] }) => ports).find(({ name }) => name === portName);
  const host = port?.hostPort ? hostIP : podIP;
  if (!port || !nodeName || !host || phase !== 'Running') return undefined;
  const isHere = isReady(pod) && metadata?.deletionTimestamp === undefined;
  return { node: nodeName, host, port: port.hostPort ?? port.containerPort, isReady: isHere };
}

interface Options {
  api: KubernetesApi;
  /** Namespace of the agents, which may be another than that of the tasks. */
  namespace: string;
  installation: string;
  /** Secret that schedulers and agents share. */
  secret: string;
}

/**
 * The agents of the nodes, which are pods of a DaemonSet. While pods are followed they tell where the agents are; an instance that
 * does not lead asks for the one that it needs.
 */
export class NodeAgents {
  /** By node, then by the uid of the pod. */
  private readonly pods = new Map<string, Map<string, Pod>>();
  private readonly nodeOfPod = new Map<string, string>();
  private readonly connections = new Map<string, NodeAgent>();
  private readonly lookedUp = new Map<string, { until: number; place: Promise<AgentAddress | undefined> }>();
  /** Pods are followed now. */
  private isFollowed = false;

  constructor(private readonly options: Options) {}

  /** undefined: none runs on the node. Throws ApiUnreachable or ApiRefused. */
  async find(node: string): Promise<NodeAgent | undefined> {
    if (this.isFollowed) return this.of(node);
    const now = performance.now();
    let known = this.lookedUp.get(node);
    if (!known || known.until < now) {
      this.forgetUnused(now);
      known = { until: now + lookupLastsMillis, place: this.lookUp(node) };
      known.place.catch(() => this.lookedUp.delete(node));
      this.lookedUp.set(node, known);
    }
    const place = await known.place;
    return place && this.connectionTo(place);
  }

  /** Finds the agent of a node among the followed pods. */
  of(node: string): NodeAgent | undefined {
    const place = best([...(this.pods.get(node)?.values() ?? [])]);
    return place && this.connectionTo(place);
  }

  /** Tasks can be started with it. */
  isReady = (node: string): boolean => best([...(this.pods.get(node)?.values() ?? [])])?.isReady ?? false;

  nodes = (): string[] => [...this.pods.keys()];

  /** While its agent is replaced it may have none. */
  hasPod = (node: string): boolean => this.pods.has(node);

  /** Forgets connections to these nodes. Calls under way go on: a connection closes itself when it is idle. */
  forget(isGone: (node: string) => boolean): void {
    for (const node of this.connections.keys()) if (isGone(node)) this.connections.delete(node);
  }

  /** The pods of others, all of them. */
  replaced(pods: readonly Pod[]): void {
    this.pods.clear();
    this.nodeOfPod.clear();
    for (const pod of pods) this.changed(pod);
    this.isFollowed = true;
  }

  changed(pod: Pod): void {
    const { uid = '', labels, namespace: place } = pod.metadata ?? {};
    const { installation, namespace } = this.options;
    const node = pod.spec?.nodeName;
    if (labels?.[agentLabel] !== installation || place !== namespace || !node) return;
    if (!this.pods.has(node)) this.pods.set(node, new Map());
    this.pods.get(node)!.set(uid, pod);
    this.nodeOfPod.set(uid, node);
  }

  removed({ metadata: { uid = '' } = {} }: Pod): void {
    const node = this.nodeOfPod.get(uid);
    if (node === undefined) return;
    this.nodeOfPod.delete(uid);
    const left = this.pods.get(node)!;
    left.delete(uid);
    if (left.size === 0) this.pods.delete(node);
  }

  /** They are not followed any more. */
  unfollow(): void {
    this.isFollowed = false;
    this.pods.clear();
    this.nodeOfPod.clear();
  }

  async close(): Promise<void> {
    await Promise.all([...this.connections.values()].map((connection) => connection.close()));
    this.connections.clear();
  }

  /** Nothing tells an instance that does not lead which nodes are gone. */
  private forgetUnused(now: number): void {
    for (const [node, { until }] of this.lookedUp) if (until < now) this.lookedUp.delete(node);
    this.forget((node) => this.connections.get(node)!.usedAt + unusedMillis < now);
  }

  private async lookUp(node: string): Promise<AgentAddress | undefined> {
    const { api, namespace, installation } = this.options;
    const query = { labelSelector: `${agentLabel}=${installation}`, fieldSelector: `spec.nodeName=${node}` };
    return best((await listAll<Pod>(api, `/api/v1/namespaces/${namespace}/pods`, query)).items);
  }

  private connectionTo({ node, host, port }: AgentAddress): NodeAgent {
    const known = this.connections.get(node);
    const isSame = known?.host === host && known.port === port;
    if (!isSame) void known?.close();
    const agent = isSame ? known : new NodeAgent(node, host, port, this.options.secret);
    agent.usedAt = performance.now();
    this.connections.set(node, agent);
    return agent;
  }
}

/** While one replaces another there are two. */
function best(pods: readonly Pod[]): AgentAddress | undefined {
  const places = pods.toSorted((a, b) => millisOfBirth(b) - millisOfBirth(a)).flatMap((pod) => placeOf(pod) ?? []);
  return places.find((place) => place.isReady) ?? places[0];
}

const millisOfBirth = ({ metadata }: Pod): number => millisOf(metadata?.creationTimestamp) ?? 0;

/** Calls to the agent of one node. */
export class NodeAgent {
  /** By the monotonic clock. */
  usedAt = 0;
  private readonly connection: PodAgentConnection;
  private readonly where: string;

  constructor(
    readonly node: string,
    readonly host: string,
    readonly port: number,
    secret: string,
  ) {
    this.where = `${host}:${port} on ${node}`;
    this.connection = new PodAgentConnection({ host, port, node, secret, callMillis: agentCallMillis });
  }

  /** Throws AgentUnreachable or StaleEpochError. */
  prepare(pod: PodToPrepare, epoch: Epoch): Promise<PrepareAnswer> {
    return this.askAsLeader(epoch, (api) => api.prepare({ pod }));
  }

  /** Throws StaleEpochError. */
  async runCommand(order: ShellCommandOrder, settings: CommandSettings, epoch: Epoch): Promise<ShellCommandAnswer> {
    try {
      return await this.askAsLeader(epoch, (api) => api.runCommand({ order, settings }));
    } catch (cause) {
      if (cause instanceof StaleEpochError) throw cause;
      return 'UNKNOWN';
    }
  }

  /** Throws StaleEpochError. */
  runCheck(check: TaskCheck, epoch: Epoch): Promise<TaskCheckAnswer> {
    return checkAnswer(check, (patience) => this.askAsLeader(epoch, (api) => api.check({ check }, patience)));
  }

  /** undefined: it has no files of this task. Throws MachineUnreachableError, as all that follows. */
  sandbox(taskId: string, view: SandboxView): Promise<TaskSandbox | undefined> {
    return openAgentSandbox((question) => this.find((api) => question(api.task({ taskId }))), view);
  }

  /** undefined: the task does not run. */
  statistics(taskId: string): Promise<TaskStatistics | undefined> {
    return this.find((api) => api.task({ taskId }).statistics());
  }

  usage(): Promise<MachineUsage | undefined> {
    return this.find((api) => api.usage({}, { timeoutMs: usageMillis }));
  }

  /** Throws StaleEpochError when the agent has seen a higher epoch. */
  askAsLeader<T>(epoch: Epoch, question: (agent: LeaderPodAgent) => Promise<T>): Promise<T> {
    return unlessStale(
      epoch,
      this.ask((agent) => question(agent.leader({ epoch }))),
    );
  }

  close(): Promise<void> {
    return this.connection.close();
  }

  /** Throws AgentUnreachable or AgentRefused. */
  private ask<T>(question: (agent: TrustedPodAgent) => Promise<T>): Promise<T> {
    return answerFrom(this.where, question(this.connection.agent));
  }

  /** undefined: there is no such thing. */
  private find<T>(question: (agent: TrustedPodAgent) => Promise<T>): Promise<T | undefined> {
    return orUnreachable(this.node, ifFound(this.ask(question)));
  }
}
