import { PortPool } from './port-pool.js';
import type { MachineView, NeededResources, PlacementRules } from './snapshot.js';

/** Thousandths, so that sums of fractions such as 0.1 cores come out even whatever their order. */
const toUnits = (amount: number): number => Math.round(amount * 1_000);

export interface Units {
  cpus: number;
  memory: number;
  disk: number;
}

export const unitsOf = ({ cpus, memoryMb, diskMb }: Omit<NeededResources, 'numPorts'>): Units => ({
  cpus: toUnits(cpus),
  memory: toUnits(memoryMb),
  disk: toUnits(diskMb),
});

const weights = { cpus: 0.4, memory: 0.4, disk: 0.2 } as const;

/** A machine of a fleet: what is still free, and how good a place it is. */
export class FleetMachine {
  readonly free: Units;
  private readonly total: Units;
  private pool: PortPool | undefined;
  /** Pairs it is reserved for. */
  readonly reservedFor: readonly (readonly [string, string])[];
  readonly preemptibleOnly: boolean;
  /** Share of its resources that is free, 0 to 1: the emptiest machine is the best place. */
  score = 0;
  private lastRound = 0;
  private placedThen = 0;

  constructor(
    readonly view: MachineView,
    rules: Pick<PlacementRules, 'reservedAttributes' | 'preemptibleOnlyAttributes'>,
  ) {
    this.total = unitsOf(view);
    const used = unitsOf(view.used);
    this.free = {
      cpus: this.total.cpus - used.cpus,
      memory: this.total.memory - used.memory,
      disk: this.total.disk - used.disk,
    };
    this.reservedFor = Object.entries(rules.reservedAttributes).flatMap(([name, values]) => {
      const value = view.attributes[name];
      return value !== undefined && values.includes(value) ? [[name, value] as const] : [];
    });
    const special = Object.entries(rules.preemptibleOnlyAttributes);
    this.preemptibleOnly = special.length > 0 && special.every(([name, value]) => view.attributes[name] === value);
    this.updateScore();
  }

  /** Made when first asked for: most machines never are. */
  get ports(): PortPool {
    this.pool ??= new PortPool(this.view.portRanges, this.view.usedPorts);
    return this.pool;
  }

  /** How many tasks the given round has put here. */
  placedIn(round: number): number {
    return this.lastRound === round ? this.placedThen : 0;
  }

  countPlacement(round: number): void {
    this.placedThen = this.placedIn(round) + 1;
    this.lastRound = round;
  }

  /** Call through the fleet, which keeps its order. */
  subtract(needed: Units): void {
    this.free.cpus -= needed.cpus;
    this.free.memory -= needed.memory;
    this.free.disk -= needed.disk;
    this.updateScore();
  }

  private updateScore(): void {
    let sum = 0;
    let weight = 0;
    for (const kind of ['cpus', 'memory', 'disk'] as const) {
      if (this.total[kind] <= 0) continue;
      sum += (weights[kind] * this.free[kind]) / this.total[kind];
      weight += weights[kind];
    }
    this.score = weight === 0 ? 0 : sum / weight;
  }
}

/** Best first. Ties go to the smaller id: the same snapshot must give the same answer, whatever order the rows came in. */
export const byScore = (a: FleetMachine, b: FleetMachine): number =>
  b.score - a.score || (a.view.slaveId < b.view.slaveId ? -1 : 1);
