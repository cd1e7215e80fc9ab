import type { ExtendedResources } from '../model/deploy.js';
import type { SlaveUsage } from '../model/usage.js';
import { sumOfExtended } from './extended.js';
import { PortPool } from './port-pool.js';
import type { MachineView, NeededResources, PlacementRules, PlacementSnapshot } from './snapshot.js';
import { type Amounts, isOverloaded, type MachineLoad, noAmounts, scoreMachine } from '../usage/index.js';

/** Thousandths, so that sums of fractions such as 0.1 cores come out even whatever their order. */
const toUnits = (amount: number): number => Math.round(amount * 1_000);

export interface ResourceUnits {
  cpus: number;
  memory: number;
  disk: number;
  /** Whole ones, not thousandths. */
  extended?: ExtendedResources;
}

export const unitsOf = ({ cpus, memoryMb, diskMb, extended }: Omit<NeededResources, 'numPorts'>): ResourceUnits => ({
  cpus: toUnits(cpus),
  memory: toUnits(memoryMb),
  disk: toUnits(diskMb),
  ...(extended && { extended }),
});

const weights = { cpus: 0.4, memory: 0.4, disk: 0.2 } as const;

/** A machine of a fleet: what is still free, and how good a place it is. */
export class FleetMachine {
  readonly free: ResourceUnits;
  readonly total: ResourceUnits;
  /** Number of further tasks that it may run. */
  freeTasks: number;
  private pool: PortPool | undefined;
  /** Pairs it is reserved for. */
  readonly reservedFor: readonly (readonly [string, string])[];
  readonly preemptibleOnly: boolean;
  /** Score of the machine, 0 to 1: by its use if that is known, else the share of its resources that is free. */
  score = 0;
  /** Resources placed since the view was taken. */
  private readonly added: Amounts = { ...noAmounts };
  private readonly load: MachineLoad | undefined;
  private lastRound = 0;
  private placedThen = 0;

  constructor(
    readonly view: MachineView,
    private readonly rules: FleetRules,
  ) {
    this.total = unitsOf(view);
    const used = unitsOf(view.used);
    this.free = {
      cpus: this.total.cpus - used.cpus,
      memory: this.total.memory - used.memory,
      disk: this.total.disk - used.disk,
      extended: sumOfExtended(this.total.extended, used.extended, -1),
    };
    this.freeTasks = view.maxTasks === undefined ? Infinity : view.maxTasks - (view.used.tasks ?? 0);
    this.reservedFor = Object.entries(rules.reservedAttributes).flatMap(([name, values]) => {
      const value = view.attributes[name];
      return value !== undefined && values.includes(value) ? [[name, value] as const] : [];
    });
    const special = Object.entries(rules.preemptibleOnlyAttributes);
    this.preemptibleOnly = special.length > 0 && special.every(([name, value]) => view.attributes[name] === value);
    this.load = rules.scoring && view.usage && this.loadNow(view, view.usage);
    this.updateScore();
  }

  /** The sample, with what is promised as it is now and not as it was. */
  private loadNow(
    { used, cpus, memoryMb, diskMb, probable = noAmounts }: MachineView,
    sample: SlaveUsage,
  ): MachineLoad {
    const promised = { cpusReserved: used.cpus, memoryMbReserved: used.memoryMb, diskMbReserved: used.diskMb };
    const totals = { cpusTotal: cpus, memoryMbTotal: memoryMb, diskMbTotal: diskMb };
    return { usage: { ...sample, ...promised, ...totals }, added: this.added, probable };
  }

  /** Nothing is known of its use, and such machines are left out. */
  get isUnsampled(): boolean {
    return this.rules.scoring?.omitForMissingUsage === true && !this.load;
  }

  /** Would it be too busy with a task that uses so many cores? */
  isTooBusyFor(cpus: number): boolean {
    const { scoring } = this.rules;
    if (!scoring || !this.load) return false;
    return this.score <= 0 || isOverloaded(this.load.usage, this.added.cpus, cpus, scoring);
  }

  /** Made when first asked for: most machines never are. */
  get ports(): PortPool {
    this.pool ??= new PortPool(this.view.portRanges, this.view.usedPorts);
    return this.pool;
  }

  /** Number of tasks that the given round has placed here. */
  placedIn(round: number): number {
    return this.lastRound === round ? this.placedThen : 0;
  }

  countPlacement(round: number): void {
    this.placedThen = this.placedIn(round) + 1;
    this.lastRound = round;
  }

  /** Call through the fleet, which keeps its order. */
  subtract(needed: ResourceUnits, expected: Amounts): void {
    this.added.cpus += expected.cpus;
    this.added.memoryBytes += expected.memoryBytes;
    this.added.diskBytes += expected.diskBytes;
    this.free.cpus -= needed.cpus;
    this.free.memory -= needed.memory;
    this.free.disk -= needed.disk;
    this.freeTasks -= 1;
    if (needed.extended) this.free.extended = sumOfExtended(this.free.extended, needed.extended, -1);
    this.updateScore();
  }

  private updateScore(): void {
    this.score = this.load && this.rules.scoring ? scoreMachine(this.load, this.rules.scoring) : this.freeShare();
  }

  private freeShare(): number {
    let sum = 0;
    let weight = 0;
    for (const kind of ['cpus', 'memory', 'disk'] as const) {
      if (this.total[kind] <= 0) continue;
      sum += (weights[kind] * this.free[kind]) / this.total[kind];
      weight += weights[kind];
    }
    return weight === 0 ? 0 : sum / weight;
  }
}

/** Best first. Ties go to the smaller id: the same snapshot must give the same answer, whatever order the rows came in. */
const byScore = (a: FleetMachine, b: FleetMachine): number =>
  b.score - a.score || (a.view.slaveId < b.view.slaveId ? -1 : 1);

/** Rules that a fleet needs: machines set apart, and scores. */
export type FleetRules = Pick<PlacementRules, 'reservedAttributes' | 'preemptibleOnlyAttributes' | 'scoring'>;

/**
 * The machines, kept in the order in which they are the better place, while tasks come and go. A fleet outlives a round
 * of placement: its owner tells it of every task that starts or ends elsewhere.
 */
export class Fleet {
  /** Best first. */
  private readonly sorted: FleetMachine[];
  private readonly byId: Map<string, FleetMachine>;
  private rounds = 0;

  constructor(
    machines: readonly MachineView[],
    private readonly rules: FleetRules,
  ) {
    this.sorted = machines.map((view) => new FleetMachine(view, rules)).sort(byScore);
    this.byId = new Map(this.sorted.map((machine) => [machine.view.slaveId, machine]));
  }

  /** Number of a new round of placement. */
  beginRound(): number {
    return ++this.rounds;
  }

  /** Best first. */
  get machines(): readonly FleetMachine[] {
    return this.sorted;
  }

  find(slaveId: string): FleetMachine | undefined {
    return this.byId.get(slaveId);
  }

  /** In the place of the one with the same id, if there is one. */
  put(view: MachineView): void {
    this.remove(view.slaveId);
    const machine = new FleetMachine(view, this.rules);
    this.byId.set(view.slaveId, machine);
    this.sorted.splice(this.positionOf(machine), 0, machine);
  }

  remove(slaveId: string): void {
    const machine = this.byId.get(slaveId);
    if (!machine) return;
    this.sorted.splice(this.positionOf(machine), 1);
    this.byId.delete(slaveId);
  }

  /** `expected`: what the task may come to use. */
  take(machine: FleetMachine, units: ResourceUnits, expected: Amounts): void {
    this.sorted.splice(this.positionOf(machine), 1);
    machine.subtract(units, expected);
    this.sorted.splice(this.positionOf(machine), 0, machine);
  }

  /** Index of the machine in the order, or the index to insert it at. */
  private positionOf(machine: FleetMachine): number {
    let low = 0;
    let high = this.sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.sorted[middle]!;
      if (other !== machine && byScore(other, machine) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Snapshot with a fleet that outlives the round, and that the round fills. */
export interface FleetSnapshot extends Omit<PlacementSnapshot, 'machines' | 'requests'> {
  machines: Fleet;
  requests: Pick<PlacementSnapshot['requests'], 'get'>;
}
