import { messageOf } from '../../agent/files.js';
import type { Log } from '../../agent/log.js';
import {
  MachineUnreachableError,
  StaleEpochError,
  type AgentTaskList,
  type ClusterDriver,
  type ClusterEvents,
  type Epoch,
  type KillAnswer,
  type LaunchAnswer,
  type LaunchSpec,
  type MachineSnapshot,
  type MachineUsage,
  type ShellCommandAnswer,
  type ShellCommandOrder,
  type TaskSandbox,
  type TaskStatistics,
} from '../cluster-driver.js';
import { AgentConnection, AgentUnreachable } from './agent-connection.js';
import { openSandbox } from './local-sandbox.js';
import { followAgent, type Seen } from './update-loop.js';
import { unsupportedByLocalDriver, unsupportedInRun } from './supported.js';

const launchMillis = 30_000;
/** The sandboxes of all tasks are measured for it. */
const usageMillis = 30_000;
/** How long `start` waits for a first answer; after that the agent is waited for in the background. */
const firstContactMillis = 3_000;

export interface LocalDriverOptions {
  /** `<data dir>/agent`, the folder of the agent to follow. */
  agentFolder: string;
  log: Log;
}

/** Runs tasks as processes of this machine, through the agent of one folder. The agent may come, go and come back. */
export class LocalDriver implements ClusterDriver {
  readonly name = 'local';
  readonly unsupportedInDeploy = unsupportedByLocalDriver;
  readonly unsupportedInRun = unsupportedInRun;
  private readonly agent: AgentConnection;
  private seen: Seen = { machines: new Map(), answeredAt: 0 };
  private watching: { stop: AbortController; ended: Promise<void> } | undefined;

  constructor(private readonly options: LocalDriverOptions) {
    this.agent = new AgentConnection(options.agentFolder);
  }

  async start(
    epoch: Epoch,
    events: ClusterEvents,
    appliedUpdate: Parameters<ClusterDriver['start']>[2],
  ): Promise<void> {
    if (this.watching) throw new Error('The local driver has been started already');
    this.seen = { machines: new Map(), answeredAt: 0 };
    const stop = new AbortController();
    let firstContact = (): void => undefined;
    const contacted = new Promise<void>((resolve) => (firstContact = resolve));
    const noticing: ClusterEvents = {
      machineUp: (machine) => events.machineUp(machine).then(firstContact),
      machineDown: (slaveId, reason) => events.machineDown(slaveId, reason),
      statusUpdates: (updates) => events.statusUpdates(updates),
      outranked: (cause) => events.outranked(cause),
    };
    const ended = followAgent(
      this.agent,
      { epoch, events: noticing, appliedUpdate },
      this.seen,
      this.options.log,
      stop.signal,
    );
    this.watching = { stop, ended };
    const patience = AbortSignal.timeout(firstContactMillis);
    await Promise.race([contacted, ended, new Promise((resolve) => patience.addEventListener('abort', resolve))]);
    if (this.seen.staleEpoch) throw this.seen.staleEpoch;
  }

  async stop(): Promise<void> {
    this.watching?.stop.abort();
    await this.watching?.ended;
    this.watching = undefined;
  }

  machines(): MachineSnapshot[] {
    return [...this.seen.machines.values()].map((machine) => ({ ...machine, seenAt: this.seen.answeredAt }));
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

  async runCommand(order: ShellCommandOrder, _slaveId: string, epoch: Epoch): Promise<ShellCommandAnswer> {
    try {
      return await this.agent.askAsLeader(epoch, (agent) => agent.runCommand({ order }));
    } catch (cause) {
      if (cause instanceof StaleEpochError) throw cause;
      return 'UNKNOWN';
    }
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

  sandbox(taskId: string, slaveId: string): Promise<TaskSandbox | undefined> {
    return orUnreachable(slaveId, openSandbox(this.agent, taskId));
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

async function orUnreachable<T>(slaveId: string, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    if (cause instanceof AgentUnreachable) throw new MachineUnreachableError(slaveId, { cause });
    throw cause;
  }
}
