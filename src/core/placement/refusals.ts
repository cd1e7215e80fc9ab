import type { RejectionReason } from './checks.js';
import type { FleetMachine } from './fleet-machine.js';

/** Machines that a shape cannot use any more in this round, and why: a round only fills machines. */
export class Refusals {
  private readonly reasons = new Map<FleetMachine, RejectionReason>();

  get size(): number {
    return this.reasons.size;
  }

  of(machine: FleetMachine): RejectionReason | undefined {
    return this.reasons.get(machine);
  }

  add(machine: FleetMachine, reason: RejectionReason): void {
    this.reasons.set(machine, reason);
  }

  /** How many machines for each reason. */
  counts(): Map<RejectionReason, number> {
    const counts = new Map<RejectionReason, number>();
    for (const reason of this.reasons.values()) counts.set(reason, (counts.get(reason) ?? 0) + 1);
    return counts;
  }
}
