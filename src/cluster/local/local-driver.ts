import type { Log } from '../../platform/log.js';
import { messageOf } from '../../platform/files.js';
import { literalHostPorts } from '../../core/launch/index.js';
import { type Deploy, hasContainer } from '../../core/model/deploy.js';
import type { LaunchSpec } from '../../core/model/launch.js';
import type { RunNowRequest } from '../../core/model/request.js';
import type { ContainerSettings } from '../../platform/settings/container-settings.js';
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
  StaleEpochError,
  type TaskCheck,
  type TaskCheckAnswer,
  type TaskSandbox,
  type TaskStatistics,
  type UnsupportedOption,
} from '../cluster-driver.js';
import { AgentRefused, AgentUnreachable, checkAnswer, orUnreachable } from '../agent-answers.js';
import { type AgentTask, openAgentSandbox } from '../agent-sandbox.js';
import { AgentConnection } from './agent-connection.js';
import { unsupportedByLocalDriver, unsupportedInRun } from './supported.js';
import { followAgent, type AgentState } from './update-loop.js';

const launchMillis = 30_000;

/** The sandboxes of all tasks are measured for it. */
const usageMillis = 30_000;

/** A caller waits for it, and accounts may be those of a directory service. */
const userMillis = 3_000;

/** An agent that takes longer to answer the smallest question is of no use now. */
const reachMillis = 2_000;

/** Time for which `start` waits for a first answer; after that the agent is waited for in the background. */
const firstContactMillis = 3_000;

interface LocalDriverOptions {
  /** `<data dir>/agent`, the directory of the agent to follow. */
  agentDirectory: string;
  log: Log;
  /** The scheduler's clock. */
  now: () => number;
  /** `cluster.local.allowedArtifactPaths`. */
  allowedArtifactPaths?: readonly string[];
  /** True when `cluster.local.artifactStore` is set. */
  hasArtifactStore?: boolean;
  /** `cluster.local.containers`. */
  containers?: ContainerSettings;
}

/** Runs tasks as processes of this machine, through the agent of one directory. The agent may come, go and come back. */
export class LocalDriver implements ClusterDriver {
  readonly name = 'local';
  private readonly agent: AgentConnection;
  private agentState: AgentState = { machines: [] };
  private watching: AbortController | undefined;
  /** End of everything that was begun so far. */
  private ended: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: LocalDriverOptions) {
    this.agent = new AgentConnection(options.agentDirectory);
  }

  unsupportedInDeploy = (deploy: Deploy): UnsupportedOption[] =>
    unsupportedByLocalDriver(
      deploy,
      this.options.allowedArtifactPaths,
      this.options.hasArtifactStore,
      this.options.containers,
    );

  unsupportedInRun = (run: RunNowRequest, deploy?: Deploy): UnsupportedOption[] =>
    unsupportedInRun(run, this.options.allowedArtifactPaths, deploy && hasContainer(deploy));

  async start(
    epoch: Epoch,
    events: ClusterEvents,
    appliedUpdate: Parameters<ClusterDriver['start']>[2],
  ): Promise<void> {
    const formerEnded = this.stop();
    const agentState: AgentState = { machines: [] };
    const stop = new AbortController();
    this.agentState = agentState;
    this.watching = stop;
    let firstContact = (): void => undefined;
    const contacted = new Promise<void>((resolve) => (firstContact = resolve));
    const noticing: ClusterEvents = {
      machines: (agents) => events.machines(agents).then(firstContact),
      machineDown: (slaveId, reason) => events.machineDown(slaveId, reason),
      statusUpdates: (updates) => events.statusUpdates(updates),
      outranked: (cause) => events.outranked(cause),
    };
    const { now, log } = this.options;
    const following = { epoch, events: noticing, appliedUpdate, now };
    const ended = formerEnded.then(() => followAgent(this.agent, following, agentState, log, stop.signal));
    this.ended = ended;
    const patience = AbortSignal.timeout(firstContactMillis);
    await Promise.race([contacted, ended, new Promise((resolve) => patience.addEventListener('abort', resolve))]);
    if (agentState.staleEpoch) throw agentState.staleEpoch;
  }

  async stop(): Promise<void> {
    this.watching?.abort();
    await this.ended;
  }

  async whyUnreachable(): Promise<string | undefined> {
    try {
      await this.agent.ask((agent) => agent.machines({}, { timeoutMs: reachMillis }));
      return undefined;
    } catch (cause) {
      return messageOf(cause);
    }
  }

  /** The agent decides, here as at the launch. One that cannot be asked refuses the launch. */
  async refusedUser(user: string): Promise<string | undefined> {
    try {
      return (await this.agent.ask((agent) => agent.refusedUser({ user }, { timeoutMs: userMillis }))).refusal;
    } catch {
      return undefined;
    }
  }

  /** Asks the agent, from whichever instance. One that cannot be asked, or is still looking, may have an engine. */
  async refusedContainers(deploy?: Deploy): Promise<string | undefined> {
    if (this.options.containers?.required === false) return undefined;
    try {
      const { machines } = await this.agent.ask((agent) => agent.machines({}, { timeoutMs: userMillis }));
      const isCertain =
        machines.length > 0 && machines.every(({ containersRefusal }) => containersRefusal !== undefined);
      if (!isCertain) return deploy && portsThatNoneHas(deploy, machines);
      const reasons = [...new Set(machines.flatMap(({ containersRefusal }) => containersRefusal ?? []))];
      return (
        `no machine has an engine for containers that works (${reasons.join('; ')}); ` +
        'with the setting cluster.local.containers.required: false the deploy would wait for one'
      );
    } catch {
      return undefined;
    }
  }

  machines(): MachineSnapshot[] {
    const { machines, answeredAt } = this.agentState;
    if (answeredAt === undefined) return [];
    const silentForMillis = performance.now() - answeredAt;
    return machines.map((machine) => ({ ...machine, silentForMillis }));
  }

  async launch(batch: readonly LaunchSpec[], epoch: Epoch): Promise<LaunchAnswer[]> {
    if (batch.length === 0) return [];
    const patience = { timeoutMs: launchMillis };
    try {
      return await this.agent.askAsLeader(epoch, (agent) => agent.launch({ launches: [...batch] }, patience));
    } catch (cause) {
      if (cause instanceof StaleEpochError) throw cause;
      return batch.map((spec) => unknown(spec, messageOf(cause)));
    }
  }

  async kill(taskId: string, _slaveId: string, graceMillis: number, epoch: Epoch): Promise<KillAnswer> {
    try {
      return await this.agent.askAsLeader(epoch, (agent) => agent.kill({ taskId, graceMillis }));
    } catch (cause) {
      if (cause instanceof StaleEpochError) throw cause;
      return 'UNKNOWN';
    }
  }

  async withdraw(taskIds: readonly string[], _slaveId: string, epoch: Epoch): Promise<string[]> {
    try {
      return await this.agent.askAsLeader(epoch, (agent) => agent.withdraw({ taskIds: [...taskIds] }));
    } catch (cause) {
      // Asked again; one of an older version cannot do it at all.
      if (cause instanceof AgentUnreachable || cause instanceof AgentRefused) return [];
      throw cause;
    }
  }

  async runCommand(order: ShellCommandOrder, _slaveId: string, epoch: Epoch): Promise<ShellCommandAnswer> {
    try {
      return await this.agent.askAsLeader(epoch, (agent) => agent.runCommand({ order }));
    } catch (cause) {
      if (cause instanceof StaleEpochError) throw cause;
      return 'UNKNOWN';
    }
  }

  runCheck(check: TaskCheck, _slaveId: string, epoch: Epoch): Promise<TaskCheckAnswer> {
    return checkAnswer(check, (patience) => this.agent.askAsLeader(epoch, (agent) => agent.check({ check }, patience)));
  }

  async reconcile(epoch: Epoch, agentIds?: ReadonlySet<string>): Promise<AgentTaskList[]> {
    // There is one agent; while it has not been heard of, it may be the one that is asked for.
    const known = this.machines()[0]?.agentId;
    if (agentIds && known !== undefined && !agentIds.has(known)) return [];
    try {
      // After this no launch of an older epoch can get in behind the list.
      await this.agent.askAsLeader(epoch, (agent) => agent.hello());
      return [await this.agent.askAsLeader(epoch, (agent) => agent.tasks())];
    } catch (cause) {
      if (cause instanceof AgentUnreachable) return [];
      throw cause;
    }
  }

  sandbox(taskId: string, slaveId: string, view: SandboxView = 'ALL'): Promise<TaskSandbox | undefined> {
    const find = <T>(question: (task: AgentTask) => Promise<T>) =>
      orUnreachable(
        slaveId,
        this.agent.find((agent) => question(agent.task({ taskId }))),
      );
    return openAgentSandbox(find, view);
  }

  statistics(taskId: string, slaveId: string): Promise<TaskStatistics | undefined> {
    return orUnreachable(
      slaveId,
      this.agent.find((agent) => agent.task({ taskId }).statistics()),
    );
  }

  machineUsage(slaveId: string): Promise<MachineUsage | undefined> {
    return orUnreachable(
      slaveId,
      this.agent.find((agent) => agent.usage({ slaveId }, { timeoutMs: usageMillis })),
    );
  }
}

const unknown = ({ taskId }: LaunchSpec, reason: string): LaunchAnswer => ({ taskId, outcome: 'UNKNOWN', reason });

/** Ports of the machine that a deploy says literally are not given to it: a machine has to have them in its ranges. */
function portsThatNoneHas(
  { containerInfo, resources }: Deploy,
  machines: readonly Pick<MachineSnapshot, 'portRanges'>[],
): string | undefined {
  const ports = containerInfo ? literalHostPorts(containerInfo, resources?.numPorts ?? 0) : [];
  const has = ({ portRanges }: Pick<MachineSnapshot, 'portRanges'>) =>
    ports.every((port) => portRanges.some(({ begin, end }) => begin <= port && port <= end));
  if (ports.length === 0 || machines.length === 0 || machines.some(has)) return undefined;
  return (
    `no machine has the ports ${ports.join(', ')} among those that tasks may get (cluster.local.slaves[].ports); ` +
    'with the setting cluster.local.containers.required: false the deploy would wait for one'
  );
}
