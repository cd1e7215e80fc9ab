import type { RejectionReason } from './checks.js';
import type { Demand } from './demand.js';
import type { FleetMachine, ResourceUnits } from './fleet.js';

/**
 * A resource of which machines have too little: the amount that a task asks for, the total of the largest machine, and
 * the most that one has free.
 */
export interface Shortage {
  asked: number;
  largest: number;
  free: number;
}

export type Shortages = ReadonlyMap<RejectionReason, Shortage>;

const amounts: Partial<Record<RejectionReason, keyof ResourceUnits>> = {
  NOT_ENOUGH_CPUS: 'cpus',
  NOT_ENOUGH_MEMORY: 'memory',
  NOT_ENOUGH_DISK: 'disk',
};

/** Units are thousandths. */
const inFull = (units: number): number => units / 1_000;

/** By the reason for which machines are too small, as they are now. */
export function shortagesOf({ shape }: Demand, refused: Iterable<readonly [FleetMachine, RejectionReason]>): Shortages {
  const found = new Map<RejectionReason, Shortage>();
  for (const [machine, reason] of refused) {
    const amounts = amountsOf(shape, machine, reason);
    if (!amounts) continue;
    const known = found.get(reason) ?? amounts;
    const { asked } = amounts;
    const largest = Math.max(known.largest, amounts.largest);
    found.set(reason, { asked, largest, free: Math.max(known.free, amounts.free) });
  }
  return found;
}

function amountsOf(
  { units, numPorts, literalPorts }: Demand['shape'],
  machine: FleetMachine,
  reason: RejectionReason,
): Shortage | undefined {
  const amount = amounts[reason];
  if (amount) {
    const free = Math.max(machine.free[amount], 0);
    return { asked: inFull(units[amount]), largest: inFull(machine.total[amount]), free: inFull(free) };
  }
  // Of ports that are asked for by their numbers, how many there are says nothing.
  if (reason !== 'NOT_ENOUGH_PORTS' || literalPorts.length > 0) return undefined;
  const largest = machine.view.portRanges.reduce((sum, { begin, end }) => sum + end - begin + 1, 0);
  return { asked: numPorts, largest, free: machine.ports.count };
}
