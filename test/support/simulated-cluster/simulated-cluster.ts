import type { Epoch, MachineSnapshot, MachineUsage } from '../../../src/cluster/cluster-driver.js';
import type { TaskState } from '../../../src/core/model/enums.js';
import type { LaunchSpec } from '../../../src/core/model/launch.js';
import { EventQueue } from './event-queue.js';
import { Random } from './random.js';
import type { Faults, LaunchScript, MessageFault } from './script.js';
import { SimulatedAgent, type World } from './simulated-agent.js';
import { SimulatedDriver } from './simulated-driver.js';

export interface SimulatedClusterOptions {
  /** Seed of chance: with one seed the same calls give the same course of events. */
  seed?: number;
  /** Epoch millis at which the virtual clock stands at first. */
  startAt?: number;
  machines?: number;
  /** Number of machines that one agent presents. */
  machinesPerAgent?: number;
  /** True if drivers know of machines whose agents have not answered them. Default true. */
  listsEveryMachine?: boolean;
  /** True if drivers tell for how long an agent has been out of reach, as that of a real agent does. Default false. */
  tellsSilence?: boolean;
  /** Updates are handed over at most this often while time passes. Default 0: at their very moment. */
  deliverEveryMillis?: number;
  /** False: time goes on while updates are stored, and those of several agents are stored side by side. For benchmarks. Default true. */
  waitsForAgents?: boolean;
  faults?: Faults;
}

/** A task that began on its machine. */
export interface TaskStart {
  /** Virtual time. */
  at: number;
  /** Epoch of the leader whose message started it. */
  epoch: Epoch;
}

/** Misfortunes so far: faults of messages, of machines, and orders of leaders that no longer lead. */
export type Incident = MessageFault | 'refusedOrder' | 'unreachable' | 'slow' | 'newFolder' | 'vanished' | 'taskEnded';

/**
 * Thousands of machines in memory on a clock of their own, for tests and benchmarks. Nothing happens, and nothing is
 * delivered, but by `advance` (and by what a driver is asked to do at once).
 */
export class SimulatedCluster {
  readonly events = new EventQueue();
  readonly random: Random;
  faults: Faults;
  readonly agents = new Map<string, SimulatedAgent>();
  /** Number of starts of each task; more than one must never be. */
  readonly starts = new Map<string, number>();
  /** By slave id: figures in place of those that follow from its tasks. */
  readonly usages = new Map<string, Partial<MachineUsage>>();
  /** The last start of each task. */
  readonly startOf = new Map<string, TaskStart>();
  /** Number of misfortunes of each kind. */
  readonly incidents = new Map<Incident, number>();
  /** Machines that vanished, as they last described themselves. */
  private readonly vanished = new Map<string, MachineSnapshot>();
  /** By slave id. */
  private readonly agentIds = new Map<string, string>();
  private clock: number;
  private script: LaunchScript = () => ({});
  private readonly drivers = new Set<SimulatedDriver>();
  readonly listsEveryMachine: boolean;
  readonly tellsSilence: boolean;
  readonly waitsForAgents: boolean;
  private readonly machinesPerAgent: number;
  private readonly deliverEveryMillis: number;
  private deliveredAt = 0;
  private agentsMade = 0;
  private incarnations = 0;

  constructor({
    seed = 1,
    startAt = 1_700_000_000_000,
    machines = 1,
    machinesPerAgent = 1,
    listsEveryMachine = true,
    tellsSilence = false,
    deliverEveryMillis = 0,
    waitsForAgents = true,
    faults = {},
  }: SimulatedClusterOptions = {}) {
    this.random = new Random(seed);
    this.clock = startAt;
    this.faults = faults;
    this.machinesPerAgent = machinesPerAgent;
    this.listsEveryMachine = listsEveryMachine;
    this.tellsSilence = tellsSilence;
    this.waitsForAgents = waitsForAgents;
    this.deliverEveryMillis = deliverEveryMillis;
    for (let number = 1; number <= machines; number++) this.addMachine({ slaveId: `slave-${number}` });
  }

  /** Epoch milliseconds, whole as those of the product's clock. */
  now = (): number => Math.floor(this.clock);

  /** Every driver sees the same machines, as schedulers do that follow each other. */
  driver(): SimulatedDriver {
    const driver = new SimulatedDriver(this);
    this.drivers.add(driver);
    return driver;
  }

  /** Sets the behaviour of tasks launched from now on. */
  onLaunch(script: LaunchScript): void {
    this.script = script;
  }

  addMachine(machine: Partial<MachineSnapshot> & { slaveId: string }): void {
    const agent = this.agentWithRoom();
    agent.machines.set(machine.slaveId, {
      hostname: machine.slaveId,
      rackId: 'DEFAULT',
      attributes: {},
      cpus: 16,
      memoryMb: 65_536,
      diskMb: 1_000_000,
      portRanges: [{ begin: 31_000, end: 31_999 }],
      portsInUse: [],
      silentForMillis: 0,
      ...machine,
      agentId: agent.agentId,
      incarnation: agent.incarnation,
    });
    this.agentIds.set(machine.slaveId, agent.agentId);
    this.tellMachines(agent);
  }

  /** Changes what a machine says of itself. */
  changeMachine(slaveId: string, change: Partial<MachineSnapshot>): void {
    const agent = this.agentOf(slaveId);
    agent.machines.set(slaveId, { ...agent.machines.get(slaveId)!, ...change });
    this.tellMachines(agent);
  }

  /** Calls to the machine fail and nothing comes from it; its tasks run on. With `reachable` true it is back. */
  setReachable(slaveId: string, reachable: boolean): void {
    const agent = this.agentOf(slaveId);
    if (!reachable && agent.reachable) this.count('unreachable');
    agent.unreachableSince = reachable ? undefined : (agent.unreachableSince ?? this.now());
    if (reachable) this.tellMachines(agent);
  }

  /** Messages to the machine, and its updates, take this long from now on. 0: none is late any more. */
  setLatency(slaveId: string, millis: number): void {
    if (millis > 0) this.count('slow');
    this.agentOf(slaveId).latencyMillis = millis;
  }

  /** The machine vanishes for good, with all that ran there. */
  removeMachine(slaveId: string, reason = 'removed'): void {
    const agent = this.agentOf(slaveId);
    this.count('vanished');
    this.vanished.set(slaveId, agent.machines.get(slaveId)!);
    agent.machines.delete(slaveId);
    this.agentIds.delete(slaveId);
    for (const spec of agent.runningTasks().filter((task) => task.slaveId === slaveId)) agent.forget(spec.taskId);
    if (agent.machines.size === 0) this.agents.delete(agent.agentId);
    for (const driver of this.drivers) driver.machineIsGone(slaveId, reason);
  }

  /** A machine that vanished is back, empty, with a new folder. */
  restoreMachine(slaveId: string): void {
    const machine = this.vanished.get(slaveId);
    if (!machine) throw new Error(`The simulated machine '${slaveId}' has not vanished`);
    this.vanished.delete(slaveId);
    this.addMachine(machine);
  }

  /** Machines that are there, reachable or not. */
  get machineIds(): string[] {
    return [...this.agentIds.keys()];
  }

  get vanishedIds(): string[] {
    return [...this.vanished.keys()];
  }

  /** The agent of the machine begins anew with an empty folder: what ran there is gone. */
  reincarnate(slaveId: string): void {
    const agent = this.agentOf(slaveId);
    this.count('newFolder');
    agent.reincarnate(this.nextIncarnation());
    this.tellMachines(agent);
  }

  /** Ends a task. Throws when it does not run. */
  finish(taskId: string, state: TaskState = 'TASK_FINISHED', message?: string, reason?: string): void {
    const ended = [...this.agents.values()].some((agent) => agent.finish(taskId, state, message, reason));
    if (!ended) throw new Error(`No simulated task '${taskId}' runs`);
    this.count('taskEnded');
  }

  runningTasks(): LaunchSpec[] {
    return [...this.agents.values()].flatMap((agent) => agent.runningTasks());
  }

  /** Lets time pass. Resolves when everything due until then has happened and its updates have been delivered. */
  async advance(millis: number): Promise<void> {
    const until = this.clock + millis;
    for (;;) {
      if (this.clock - this.deliveredAt >= this.deliverEveryMillis) await this.deliver();
      if (this.events.nextAt > until) break;
      this.clock = Math.max(this.clock, this.events.nextAt);
      while (this.events.nextAt <= this.clock) this.events.runNext();
    }
    this.clock = until;
    await this.deliver();
  }

  findAgent(slaveId: string): SimulatedAgent | undefined {
    const agentId = this.agentIds.get(slaveId);
    return agentId === undefined ? undefined : this.agents.get(agentId);
  }

  private agentOf(slaveId: string): SimulatedAgent {
    const agent = this.findAgent(slaveId);
    if (!agent) throw new Error(`No simulated machine '${slaveId}'`);
    return agent;
  }

  count(incident: Incident): void {
    this.incidents.set(incident, (this.incidents.get(incident) ?? 0) + 1);
  }

  forget(driver: SimulatedDriver): void {
    this.drivers.delete(driver);
  }

  private async deliver(): Promise<void> {
    this.deliveredAt = this.clock;
    for (const driver of this.drivers) await driver.deliver();
  }

  private tellMachines(agent: SimulatedAgent): void {
    for (const driver of this.drivers) driver.machinesChanged(agent);
  }

  private agentWithRoom(): SimulatedAgent {
    const last = this.agents.get(`agent-${this.agentsMade}`);
    if (last && last.machines.size < this.machinesPerAgent) return last;
    const agent = new SimulatedAgent(`agent-${++this.agentsMade}`, this.nextIncarnation(), this.world());
    this.agents.set(agent.agentId, agent);
    return agent;
  }

  private world(): World {
    return {
      now: this.now,
      events: this.events,
      script: (spec) => this.script(spec),
      hasNews: (agent) => {
        for (const driver of this.drivers) driver.hasNews(agent);
      },
      started: ({ taskId }, epoch) => {
        this.starts.set(taskId, (this.starts.get(taskId) ?? 0) + 1);
        this.startOf.set(taskId, { at: this.clock, epoch });
      },
    };
  }

  private nextIncarnation = (): string => `incarnation-${++this.incarnations}`;
}
