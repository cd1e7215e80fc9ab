import {
  type AgentTaskList,
  type ClusterDriver,
  type ClusterEvents,
  type Epoch,
  type KillAnswer,
  type LaunchAnswer,
  type MachineSnapshot,
  MachineUnreachableError,
  type MachineUsage,
  type ShellCommandAnswer,
  type ShellCommandOrder,
  StaleEpochError,
  type StatusUpdate,
  type TaskCheck,
  type TaskCheckAnswer,
  type TaskStatistics,
} from '../../../src/cluster/cluster-driver.js';
import type { LaunchSpec } from '../../../src/core/model/launch.js';
import { Network } from './network.js';
import type { SimulatedAgent } from './simulated-agent.js';
import type { SimulatedCluster } from './simulated-cluster.js';
import { simulatedStatistics, simulatedUsage } from './simulated-usage.js';

type AppliedUpdate = Parameters<ClusterDriver['start']>[2];

interface Session {
  epoch: Epoch;
  events: ClusterEvents;
  appliedUpdate: AppliedUpdate;
  /** By agent id: incarnation and number of what was delivered and stored. */
  after: Map<string, { incarnation: string; number: number }>;
}

/** One scheduler's view of a simulated cluster, through the faults that are switched on. */
export class SimulatedDriver implements ClusterDriver {
  readonly name = 'simulated';
  readonly listsEveryMachine: true | undefined;
  /** Answer to every check by a command, as a test says. */
  answerCheck: (check: TaskCheck) => TaskCheckAnswer = () => ({ outcome: 'ENDED', exitCode: 0, output: '' });
  /** Ids of the agents that have answered since the start. */
  private readonly heard = new Set<string>();
  private session: Session | undefined;
  /** Agents to introduce, and agents to pull from. A set keeps the order, so runs are repeatable. */
  private readonly changed = new Set<SimulatedAgent>();
  private readonly withNews = new Set<SimulatedAgent>();
  /** Agents whose updates are on their way beside the time. */
  private readonly pulling = new Set<SimulatedAgent>();
  private readonly gone: { slaveId: string; reason: string }[] = [];
  /** By agent: until when its updates are held up. */
  private readonly heldUp = new Map<SimulatedAgent, number>();
  private readonly network: Network;
  private delivering: Promise<void> = Promise.resolve();

  constructor(private readonly cluster: SimulatedCluster) {
    this.network = new Network(cluster);
    this.listsEveryMachine = cluster.listsEveryMachine ? true : undefined;
  }

  /** The scheduler's process stands still: its orders wait on the way, and it hears of nothing. */
  freeze(): void {
    this.network.hold();
  }

  /** It goes on where it stood: what it had sent arrives now, late, and so does what it has missed. */
  thaw(): void {
    this.network.release();
    for (const agent of this.cluster.agents.values()) this.machinesChanged(agent);
  }

  /** The process is dead. A call that it still gets is not answered by any machine. */
  die(): void {
    this.network.sever();
    this.session = undefined;
    this.cluster.forget(this);
  }

  async start(epoch: Epoch, events: ClusterEvents, appliedUpdate: AppliedUpdate): Promise<void> {
    for (const agent of this.reachable()) agent.hello(epoch);
    this.heard.clear();
    this.session = { epoch, events, appliedUpdate, after: new Map() };
    for (const agent of this.cluster.agents.values()) this.changed.add(agent);
    await this.deliver();
  }

  async stop(): Promise<void> {
    this.session = undefined;
    await this.delivering.catch(() => undefined);
    this.cluster.forget(this);
  }

  async whyUnreachable(): Promise<string | undefined> {
    return this.network.isOpen && this.reachable().length > 0 ? undefined : 'No simulated machine answers';
  }

  machines(): MachineSnapshot[] {
    return [...this.cluster.agents.values()]
      .filter(({ agentId }) => this.listsEveryMachine || this.heard.has(agentId))
      .flatMap((agent) => [...agent.machines.values()].map((machine) => this.withSilence(machine, agent)));
  }

  private withSilence(machine: MachineSnapshot, { unreachableSince }: SimulatedAgent): MachineSnapshot {
    if (!this.cluster.tellsSilence || unreachableSince === undefined) return machine;
    return { ...machine, silentForMillis: this.cluster.now() - unreachableSince };
  }

  async launch(batch: readonly LaunchSpec[], epoch: Epoch): Promise<LaunchAnswer[]> {
    return batch.map((spec) => this.network.launch(spec, epoch));
  }

  async kill(taskId: string, slaveId: string, graceMillis: number, epoch: Epoch): Promise<KillAnswer> {
    return this.network.kill(taskId, slaveId, graceMillis, epoch);
  }

  async withdraw(taskIds: readonly string[], slaveId: string, epoch: Epoch): Promise<string[]> {
    return this.network.withdraw(taskIds, slaveId, epoch);
  }

  async runCommand(order: ShellCommandOrder, slaveId: string, epoch: Epoch): Promise<ShellCommandAnswer> {
    return this.network.runCommand(order, slaveId, epoch);
  }

  async runCheck(check: TaskCheck, slaveId: string, epoch: Epoch): Promise<TaskCheckAnswer> {
    return this.network.runCheck(check, slaveId, epoch, this.answerCheck);
  }

  async reconcile(epoch: Epoch, agentIds?: ReadonlySet<string>): Promise<AgentTaskList[]> {
    if (!this.network.isOpen) return [];
    const asked = this.reachable().filter(({ agentId }) => !agentIds || agentIds.has(agentId));
    return asked.map((agent) => agent.list(epoch));
  }

  async sandbox(_taskId: string, slaveId: string): Promise<undefined> {
    this.mustReach(slaveId);
  }

  async statistics(taskId: string, slaveId: string): Promise<TaskStatistics | undefined> {
    const task = this.mustReach(slaveId).findRunning(taskId);
    return task && simulatedStatistics(task, this.cluster.now());
  }

  async machineUsage(slaveId: string): Promise<MachineUsage | undefined> {
    if (!this.cluster.findAgent(slaveId)) return undefined;
    const agent = this.mustReach(slaveId);
    const machine = agent.machines.get(slaveId)!;
    const tasks = agent.runningOn(slaveId);
    return { ...simulatedUsage(machine, tasks, this.cluster.now()), ...this.cluster.usages.get(slaveId) };
  }

  hasNews(agent: SimulatedAgent): void {
    if (this.session) this.withNews.add(agent);
  }

  machinesChanged(agent: SimulatedAgent): void {
    if (this.session) this.changed.add(agent);
  }

  machineIsGone(slaveId: string, reason: string): void {
    if (this.session) this.gone.push({ slaveId, reason });
  }

  /** Hands over what there is. One at a time, as the port demands. */
  deliver(): Promise<void> {
    // What could not be told keeps nothing from being told later.
    this.delivering = this.delivering.catch(() => undefined).then(() => this.deliverAll());
    return this.delivering;
  }

  private async deliverAll(): Promise<void> {
    if (!this.network.isOpen) return;
    for (const { slaveId, reason } of this.gone.splice(0)) await this.session?.events.machineDown(slaveId, reason);
    for (const agent of this.take(this.changed)) await this.introduce(agent);
    for (const agent of this.take(this.withNews)) {
      if (this.cluster.waitsForAgents) await this.pull(agent);
      else this.pullBeside(agent);
    }
  }

  /** As real agents do: each acknowledges before it goes on, and waits for no other. */
  private pullBeside(agent: SimulatedAgent): void {
    if (this.pulling.has(agent)) {
      this.withNews.add(agent);
      return;
    }
    this.pulling.add(agent);
    void this.pull(agent)
      .catch(() => this.retryLater(agent))
      .finally(() => this.pulling.delete(agent));
  }

  private async introduce(agent: SimulatedAgent): Promise<void> {
    if (!this.session || !agent.reachable) return;
    if (!this.isAdmitted(agent, this.session.epoch)) return;
    const machines = [...agent.machines.values()];
    this.heard.add(agent.agentId);
    await this.session.events.machines([{ agentId: agent.agentId, machines }]);
    this.withNews.add(agent);
  }

  private async pull(agent: SimulatedAgent): Promise<void> {
    const { session } = this;
    if (!session || !agent.reachable || !this.isAdmitted(agent, session.epoch)) return;
    const after = await this.numberAfter(session, agent);
    const updates = agent.pull(after, session.epoch);
    if (updates.length === 0 || this.isHeldUp(agent)) return;
    if (this.network.happens('loseUpdates')) return this.retryLater(agent);
    const batch = this.network.happens('reorderUpdates') ? this.cluster.random.shuffled(updates) : updates;
    if (!(await this.handOver(session, batch))) {
      session.after.delete(agent.agentId);
      return this.retryLater(agent);
    }
    session.after.set(agent.agentId, { incarnation: agent.incarnation, number: updates.at(-1)!.number });
    agent.pull(updates.at(-1)!.number, session.epoch);
    if (this.network.happens('duplicateUpdates')) await this.handOver(session, batch);
  }

  /** False: it could not be stored, so it is delivered again. */
  private handOver(session: Session, updates: readonly StatusUpdate[]): Promise<boolean> {
    return session.events.statusUpdates(updates).then(
      () => true,
      () => false,
    );
  }

  private async numberAfter(session: Session, agent: SimulatedAgent): Promise<number> {
    const known = session.after.get(agent.agentId) ?? (await session.appliedUpdate(agent.agentId));
    return known?.incarnation === agent.incarnation ? known.number : 0;
  }

  private retryLater(agent: SimulatedAgent, millis = retryMillis): void {
    this.cluster.events.plan(this.cluster.now() + millis, () => this.hasNews(agent));
  }

  /** Updates of a slow machine, or on a slow way, come later; those that follow do not overtake them. */
  private isHeldUp(agent: SimulatedAgent): boolean {
    const until = this.heldUp.get(agent);
    const now = this.cluster.now();
    if (until !== undefined && until > now) return true;
    this.heldUp.delete(agent);
    if (until !== undefined) return false;
    const isDelayed = this.network.happens('delayUpdates');
    const delay = agent.latencyMillis + (isDelayed ? (this.cluster.faults.updateDelayMillis ?? updateDelayMillis) : 0);
    if (delay === 0) return false;
    this.heldUp.set(agent, now + delay);
    this.retryLater(agent, delay);
    return true;
  }

  /** An agent that has seen a newer leader is not ours any more. */
  private isAdmitted(agent: SimulatedAgent, epoch: Epoch): boolean {
    try {
      agent.hello(epoch);
      return true;
    } catch (cause) {
      if (!(cause instanceof StaleEpochError)) throw cause;
      this.session?.events.outranked(cause);
      return false;
    }
  }

  private take(agents: Set<SimulatedAgent>): SimulatedAgent[] {
    const taken = [...agents];
    agents.clear();
    return taken;
  }

  private reachable = (): SimulatedAgent[] => [...this.cluster.agents.values()].filter((agent) => agent.reachable);

  private reachableAgentOf(slaveId: string): SimulatedAgent | undefined {
    const agent = this.cluster.findAgent(slaveId);
    return agent?.reachable ? agent : undefined;
  }

  private mustReach(slaveId: string): SimulatedAgent {
    const agent = this.reachableAgentOf(slaveId);
    if (!agent) throw new MachineUnreachableError(slaveId);
    return agent;
  }
}

const retryMillis = 100;
const updateDelayMillis = 10_000;
