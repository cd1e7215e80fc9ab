import type { Amounts } from '../usage/index.js';
import { byScore, FleetMachine, type Units } from './fleet-machine.js';
import type { MachineView, PlacementRules } from './snapshot.js';

/** What a fleet must know of the rules: which machines are set apart, and what they are worth. */
export type FleetRules = Pick<PlacementRules, 'reservedAttributes' | 'preemptibleOnlyAttributes' | 'scoring'>;

/**
 * The machines, kept in the order in which they are the better place, while tasks come and go. A fleet outlives a round
 * of placement: whoever keeps one tells it of every task that starts or ends elsewhere.
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
  take(machine: FleetMachine, units: Units, expected: Amounts): void {
    this.sorted.splice(this.positionOf(machine), 1);
    machine.subtract(units, expected);
    this.sorted.splice(this.positionOf(machine), 0, machine);
  }

  /** Where the machine stands in the order, or would have to stand. */
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
