import { groupBy } from '../group-by.js';
import { storableText } from '../storable-text.js';
import type { RejectionReason } from './checks.js';
import type { Demand } from './demand.js';
import { missingExtended } from './extended.js';
import type { FleetMachine } from './fleet.js';
import type { MachineView } from './snapshot.js';

/**
 * A resource of which machines have too little: the amount that a task asks for, the total of the largest machine, and
 * the most that one has free.
 */
export interface Shortage {
  asked: number;
  largest: number;
  free: number;
  /** Name of the extended resource, where it is one. */
  resource?: string;
}

/** Machines that their cluster has closed. */
export interface Closure {
  /** Its reasons with the ids of the machines, the first few of them. */
  because: string;
}

export type Shortages = ReadonlyMap<RejectionReason, Shortage | Closure>;

const amounts: Partial<Record<RejectionReason, 'cpus' | 'memory' | 'disk'>> = {
  NOT_ENOUGH_CPUS: 'cpus',
  NOT_ENOUGH_MEMORY: 'memory',
  NOT_ENOUGH_DISK: 'disk',
};

/** Units are thousandths. */
const inFull = (units: number): number => units / 1_000;

/** By the reason for which machines are too small, as they are now. */
export function shortagesOf({ shape }: Demand, refused: Iterable<readonly [FleetMachine, RejectionReason]>): Shortages {
  const found = new Map<RejectionReason, Shortage>();
  const closed: MachineView[] = [];
  // Machines lack different resources: one figure would be wrong for some of them.
  const mixed = new Set<RejectionReason>();
  for (const [machine, reason] of refused) {
    if (reason === 'SLAVE_CLOSED') closed.push(machine.view);
    const amounts = amountsOf(shape, machine, reason);
    if (!amounts) continue;
    const known = found.get(reason) ?? amounts;
    if (known.resource !== amounts.resource) mixed.add(reason);
    const largest = Math.max(known.largest, amounts.largest);
    found.set(reason, { ...amounts, largest, free: Math.max(known.free, amounts.free) });
  }
  for (const reason of mixed) found.delete(reason);
  if (closed.length === 0) return found;
  return new Map<RejectionReason, Shortage | Closure>(found).set('SLAVE_CLOSED', { because: closureText(closed) });
}

const namedMachines = 5;
const longestReason = 200;

/** Such as "cordoned: node-1, node-2; not ready: node-3; and 4 more". */
function closureText(machines: readonly MachineView[]): string {
  const named = machines.toSorted((a, b) => (a.slaveId < b.slaveId ? -1 : 1)).slice(0, namedMachines);
  const byReason = groupBy(named, ({ closedBecause = '' }) => storableText(closedBecause, longestReason));
  const parts = [...byReason].map(([reason, of]) => `${reason}: ${of.map(({ slaveId }) => slaveId).join(', ')}`);
  const rest = machines.length - named.length;
  return [...parts, ...(rest > 0 ? [`and ${rest} more`] : [])].join('; ');
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
  if (reason === 'NOT_ENOUGH_EXTENDED_RESOURCES') {
    const resource = missingExtended(units.extended, machine.free.extended);
    if (resource === undefined) return undefined;
    const free = Math.max(machine.free.extended?.[resource] ?? 0, 0);
    return { asked: units.extended![resource]!, largest: machine.total.extended?.[resource] ?? 0, free, resource };
  }
  if (reason === 'TOO_MANY_TASKS')
    return { asked: 1, largest: machine.view.maxTasks ?? 0, free: Math.max(machine.freeTasks, 0) };
  // Of ports that are asked for by their numbers, how many there are says nothing.
  if (reason !== 'NOT_ENOUGH_PORTS' || literalPorts.length > 0) return undefined;
  const largest = machine.view.portRanges.reduce((sum, { begin, end }) => sum + end - begin + 1, 0);
  return { asked: numPorts, largest, free: machine.ports.count };
}
