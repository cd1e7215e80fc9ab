import { CommandSettings, type PodToPrepare, type PrepareAnswer } from '../../pod-agent/pod-agent-api.js';
import type { Log } from '../../platform/log.js';
import { messageOf } from '../../platform/files.js';
import { readSecrets } from '../../pod-agent/keys.js';
import type { Deploy } from '../../core/model/deploy.js';
import type { LaunchSpec } from '../../core/model/launch.js';
import type { RunNowRequest } from '../../core/model/request.js';
import { atATime } from '../../platform/async.js';
import type { KubernetesSettings } from '../../platform/settings/kubernetes-settings.js';
import {
  type AgentTaskList,
  type ClusterDriver,
  type ClusterEvents,
  type Epoch,
  type KillAnswer,
  type LaunchAnswer,
  type MachineSnapshot,
  type MachineUsage,
  type SandboxView,
  type ShellCommandAnswer,
  type ShellCommandOrder,
  MachineUnreachableError,
  StaleEpochError,
  type TaskCheck,
  type TaskCheckAnswer,
  type TaskSandbox,
  type TaskStatistics,
  type UnsupportedOption,
} from '../cluster-driver.js';
import { AgentUnreachable } from '../agent-answers.js';
import { KubernetesWatch } from './kubernetes-watch.js';
import { ApiRefused, KubernetesApi, killsAtOnce } from './kubernetes-api.js';
import { LeaderLease } from './leader-lease.js';
import { annotations, taskIdOf, tombstoneLabel } from './names.js';
import { type NodeAgent, NodeAgents } from './node-agents.js';
import { PodCalls } from './pod-calls.js';
import { PodLog } from './pod-log.js';
import { stateOfPod } from './statuses-of-pod.js';
import { refusalOfUser, unsupportedInRun, unsupportedOnKubernetes } from './supported.js';

/** An API server that takes longer to say its version is of no use now. */
const reachMillis = 2_000;

/** Time for which `start` waits for the first machines; after that they are waited for in the background. */
const firstContactMillis = 3_000;

/** A launch that has waited longer for its turn looks at the lease again, with all others that do. */
const lookupLastsMillis = 1_000;

/** Outcomes of launches of which nothing runs, nor ever will. */
const hasNoPod: ReadonlySet<string> = new Set(['REFUSED', 'NOT_ADMITTED', 'PORT_IN_USE', 'DISK_FULL']);

interface KubernetesDriverOptions {
  /** `cluster.kubernetes`. */
  settings: KubernetesSettings;
  /** `cluster.defaultRackId`. */
  defaultRackId: string;
  /** `cluster.local`, which says how commands are run in tasks, for the agents. Absent: there are none. */
  commands?: CommandSettings;
  log: Log;
  /** The scheduler's clock. */
  now: () => number;
}

/** Runs tasks as pods of a Kubernetes cluster, on the nodes that the scheduler chooses. */
export class KubernetesDriver implements ClusterDriver {
  readonly name = 'kubernetes';
  private readonly lease: LeaderLease;
  private readonly calls: PodCalls;
  /** All nodes together: thousands of tasks are launched at once, and the time of a call runs from its turn on. */
  private readonly launchesInTurn: ReturnType<typeof atATime>;
  /**
   * Queue of kills beside that of launches: what is to end does not wait until all has begun that waits for its launch.
   */
  private readonly killsInTurn: ReturnType<typeof atATime>;
  private watch: KubernetesWatch | undefined;
  /** End of everything that was stopped so far. */
  private ended: Promise<unknown> = Promise.resolve();

  /** undefined: nodes have none. */
  private readonly agents: NodeAgents | undefined;

  private constructor(
    private readonly api: KubernetesApi,
    private readonly options: KubernetesDriverOptions,
    secret: string | undefined,
  ) {
    const { settings } = options;
    const namespace = settings.namespace ?? api.namespace ?? 'default';
    this.lease = new LeaderLease(api, namespace, settings.installation);
    this.calls = new PodCalls(api, namespace, settings);
    const { installation, agents } = settings;
    const ofAgents = agents?.namespace ?? namespace;
    this.agents = secret === undefined ? undefined : new NodeAgents({ api, namespace: ofAgents, installation, secret });
    this.launchesInTurn = atATime(settings.callsAtOnce);
    this.killsInTurn = atATime(killsAtOnce(settings));
  }

  /** Throws when there is nothing that says how to reach a cluster; whether it answers is not looked at. */
  static async open(options: KubernetesDriverOptions): Promise<KubernetesDriver> {
    const { agents } = options.settings;
    // Agents take another one beside it.
    const [secret] = agents ? readSecrets(agents.secretFile, 'cluster.kubernetes.agents.secretFile') : [];
    return new KubernetesDriver(await KubernetesApi.open(options.settings), options, secret);
  }

  unsupportedInDeploy = (deploy: Deploy, group?: string): UnsupportedOption[] =>
    unsupportedOnKubernetes(deploy, this.options.settings, group);

  unsupportedInRun = (run: RunNowRequest): UnsupportedOption[] => unsupportedInRun(run, this.options.settings);

  refusedUser = async (user: string): Promise<string | undefined> => refusalOfUser(user, this.options.settings);

  async start(epoch: Epoch, events: ClusterEvents): Promise<void> {
    const former = this.stop();
    const { settings, defaultRackId, log, now } = this.options;
    const { api, lease, calls, agents } = this;
    let began = (): void => undefined;
    const first = new Promise<void>((resolve) => (began = resolve));
    const parts = { api, lease, calls, agents, epoch, events, settings, defaultRackId, log, now };
    const watch = new KubernetesWatch(parts, began, former);
    this.watch = watch;
    const patience = AbortSignal.timeout(firstContactMillis);
    const waited = new Promise((resolve) => patience.addEventListener('abort', resolve));
    await Promise.race([first, watch.whenEnded(), waited]);
    if (watch.staleEpoch) throw watch.staleEpoch;
  }

  async stop(): Promise<void> {
    const { watch } = this;
    this.watch = undefined;
    this.ended = Promise.all([this.ended, watch?.stop()]);
    await this.ended;
  }

  async whyUnreachable(): Promise<string | undefined> {
    try {
      await this.api.call('/version', { signal: AbortSignal.timeout(reachMillis) });
      return undefined;
    } catch (cause) {
      if (!(cause instanceof ApiRefused)) return messageOf(cause);
      // Another instance may have credentials that it takes.
      return cause.status === 401 ? `${this.api.address} does not take our credentials: ${cause.message}` : undefined;
    }
  }

  /** Closes its connections. A driver that was closed is not started again. */
  async close(): Promise<void> {
    await this.stop();
    await this.agents?.close();
    await this.api.close();
  }

  machines = (): MachineSnapshot[] => this.watch?.nodes.machines() ?? [];

  get listsEveryMachine(): boolean {
    return this.watch?.nodes.isReported ?? false;
  }

  /** As cordons of nodes, which say whose they are. Each that cannot be set or taken back is tried again with the next call. */
  async hold(slaveIds: ReadonlySet<string>, epoch: Epoch): Promise<void> {
    const { nodes } = this.watch ?? {};
    const changes = nodes?.isReported ? nodes.toHold(slaveIds) : [];
    if (changes.length === 0) return;
    await this.lease.check(epoch);
    const { installation } = this.options.settings;
    const failures = await Promise.all(
      changes.map(({ name, isHeld }) =>
        this.killsInTurn(async () => {
          const metadata = { annotations: { [annotations.cordoned]: isHeld ? installation : null } };
          const body = { metadata, spec: { unschedulable: isHeld || null } };
          try {
            await this.api.call(`/api/v1/nodes/${name}`, { method: 'PATCH', body });
            return undefined;
          } catch (cause) {
            return `node ${name} cannot be ${isHeld ? 'cordoned' : 'uncordoned'}: ${messageOf(cause)}`;
          }
        }),
      ),
    );
    const failure = failures.find((each) => each !== undefined);
    if (failure !== undefined) throw new Error(failure);
  }

  async launch(batch: readonly LaunchSpec[], epoch: Epoch): Promise<LaunchAnswer[]> {
    if (batch.length === 0) return [];
    const nodes = this.watch?.nodes;
    const unknown = ({ taskId }: LaunchSpec, reason: string): LaunchAnswer => ({ taskId, outcome: 'UNKNOWN', reason });
    try {
      await this.lease.check(epoch);
    } catch (cause) {
      if (cause instanceof StaleEpochError) throw cause;
      return batch.map((spec) => unknown(spec, messageOf(cause)));
    }
    if (!nodes?.isListed) return batch.map((spec) => unknown(spec, 'The nodes are not known yet'));
    return Promise.all(
      batch.map((spec) =>
        this.launchesInTurn(async () => {
          try {
            await this.lease.check(epoch, lookupLastsMillis);
            const answer = await this.calls.launch(spec, {
              incarnation: nodes.incarnationOf(spec.slaveId),
              portsInUse: nodes.portsInUse(spec.slaveId),
              ...(this.agents && { prepare: (pod) => this.prepare(pod, spec.slaveId, epoch) }),
            });
            if (hasNoPod.has(answer.outcome)) this.watch?.noPod(spec);
            return answer;
          } catch (cause) {
            if (cause instanceof StaleEpochError) throw cause;
            return unknown(spec, messageOf(cause));
          }
        }),
      ),
    );
  }

  /** Throws AgentUnreachable or StaleEpochError. */
  private async prepare(pod: PodToPrepare, slaveId: string, epoch: Epoch): Promise<PrepareAnswer> {
    const agent = this.agents!.of(slaveId);
    if (!agent) throw new AgentUnreachable(`No agent runs on node '${slaveId}' yet`);
    return agent.prepare(pod, epoch);
  }

  async kill(taskId: string, slaveId: string, graceMillis: number, epoch: Epoch): Promise<KillAnswer> {
    try {
      return await this.killsInTurn(async () => {
        await this.lease.check(epoch);
        if (this.watch?.pods.isOver(this.calls.nameOf(taskId))) return 'GONE';
        const answer = await this.calls.kill(taskId, graceMillis);
        if (answer === 'GONE') this.watch?.noPod({ taskId, slaveId });
        return answer;
      });
    } catch (cause) {
      if (cause instanceof StaleEpochError) throw cause;
      this.options.log.warn(`Task '${taskId}' cannot be killed now: ${messageOf(cause)}`);
      return 'UNKNOWN';
    }
  }

  async withdraw(taskIds: readonly string[], _slaveId: string, epoch: Epoch): Promise<string[]> {
    const withdrawn: string[] = [];
    try {
      for (const taskId of taskIds) {
        await this.lease.check(epoch);
        const isOver = this.watch?.pods.isOver(this.calls.nameOf(taskId));
        if (!isOver && (await this.calls.withdraw(taskId))) withdrawn.push(taskId);
      }
    } catch (cause) {
      if (cause instanceof StaleEpochError) throw cause;
      this.options.log.warn(`Launches cannot be withdrawn now: ${messageOf(cause)}`);
    }
    return withdrawn;
  }

  /** Without agents nothing on the nodes would run it. */
  async runCommand(order: ShellCommandOrder, slaveId: string, epoch: Epoch): Promise<ShellCommandAnswer> {
    await this.lease.check(epoch);
    if (!this.agents) return 'GONE';
    const settings = CommandSettings.parse(this.options.commands ?? {});
    return (await this.agents.of(slaveId)?.runCommand(order, settings, epoch)) ?? 'UNKNOWN';
  }

  /** The agent knows the highest epoch that it has heard of: many checks a second ask nothing of the API server. */
  async runCheck(check: TaskCheck, slaveId: string, epoch: Epoch): Promise<TaskCheckAnswer> {
    const agent = this.agents?.of(slaveId);
    if (agent) return agent.runCheck(check, epoch);
    // A driver that leads no more knows no agents.
    await this.lease.check(epoch);
    return { outcome: 'UNKNOWN', reason: `No agent runs on node '${slaveId}' now` };
  }

  /** Lists nodes whose kubelets are heard: the tasks of the others are not known. */
  async reconcile(epoch: Epoch, agentIds?: ReadonlySet<string>): Promise<AgentTaskList[]> {
    try {
      await this.lease.check(epoch);
      const nodes = this.watch?.nodes;
      if (!nodes?.isListed) return [];
      const lists = new Map<string, AgentTaskList>();
      for (const { agentId, incarnation } of nodes.machines())
        if (nodes.isHeard(agentId) && (!agentIds || agentIds.has(agentId)))
          lists.set(agentId, { agentId, incarnation, asOfUpdate: 0, tasks: [] });
      for (const pod of await this.calls.list()) {
        const taskId = taskIdOf(this.options.settings.installation, pod.metadata);
        const isTombstone = pod.metadata?.labels?.[tombstoneLabel] !== undefined;
        if (taskId !== undefined && !isTombstone)
          lists.get(pod.spec?.nodeName ?? '')?.tasks.push({ taskId, state: stateOfPod(pod) });
      }
      return [...lists.values()];
    } catch (cause) {
      if (cause instanceof StaleEpochError || cause instanceof ApiRefused) throw cause;
      return [];
    }
  }

  /** A task whose node has no agent, or had none at its start, has only its output. */
  async sandbox(taskId: string, slaveId: string, view: SandboxView = 'ALL'): Promise<TaskSandbox | undefined> {
    const agent = await this.agentOf(slaveId);
    const files = await agent?.sandbox(taskId, view);
    if (files) return files;
    const output = await this.output(taskId, slaveId);
    // They are there, when its agent is.
    if (!output && this.agents && !agent) throw new MachineUnreachableError(slaveId);
    return output;
  }

  private async output(taskId: string, slaveId: string): Promise<TaskSandbox | undefined> {
    try {
      const pod = await this.calls.ofTask(taskId);
      return pod && new PodLog(this.api, this.calls.collection, pod, slaveId);
    } catch (cause) {
      throw new MachineUnreachableError(slaveId, { cause });
    }
  }

  statistics = async (taskId: string, slaveId: string): Promise<TaskStatistics | undefined> =>
    (await this.agentOf(slaveId))?.statistics(taskId);

  machineUsage = async (slaveId: string): Promise<MachineUsage | undefined> => (await this.agentOf(slaveId))?.usage();

  /** undefined: none is on the node, or no node has one. */
  private async agentOf(slaveId: string): Promise<NodeAgent | undefined> {
    try {
      return await this.agents?.find(slaveId);
    } catch (cause) {
      throw new MachineUnreachableError(slaveId, { cause });
    }
  }
}
