import type { MachineState } from '../model/enums.js';
import type { Demand, Shape } from './demand.js';
import type { FleetMachine } from './fleet-machine.js';
import { rackIsSaturated, slaveIsSaturated } from './saturation.js';
import type { PlacementRules } from './snapshot.js';

/** Why a task cannot go to a machine. */
export const rejectionReasons = [
  'SLAVE_UNKNOWN',
  'SLAVE_INACTIVE',
  'SLAVE_FROZEN',
  'SLAVE_DECOMMISSIONING',
  'RACK_INACTIVE',
  'RACK_FROZEN',
  'RACK_DECOMMISSIONING',
  'RACK_AFFINITY_NOT_MATCHING',
  'SLAVE_ATTRIBUTES_DO_NOT_MATCH',
  'SLAVE_ATTRIBUTE_MINIMUMS',
  'NOT_ENOUGH_CPUS',
  'NOT_ENOUGH_MEMORY',
  'NOT_ENOUGH_DISK',
  'NOT_ENOUGH_PORTS',
  'TOO_MANY_TASKS_THIS_ROUND',
  'RACK_SATURATED',
  'SLAVE_SATURATED',
  'SLAVE_USAGE_UNKNOWN',
  'SLAVE_OVERLOADED',
] as const;
export type RejectionReason = (typeof rejectionReasons)[number];

export interface Surroundings {
  rules: PlacementRules;
  /** Number of the round, for what counts per round. */
  round: number;
  attributesOf: (slaveId: string) => Readonly<Record<string, string>>;
}

type Check<Asked> = (asked: Asked, machine: FleetMachine, around: Surroundings) => RejectionReason | undefined;

const standing: Record<MachineState, 'INACTIVE' | 'FROZEN' | 'DECOMMISSIONING' | undefined> = {
  ACTIVE: undefined,
  FROZEN: 'FROZEN',
  STARTING_DECOMMISSION: 'DECOMMISSIONING',
  DECOMMISSIONING: 'DECOMMISSIONING',
  DECOMMISSIONED: 'DECOMMISSIONING',
  DEAD: 'INACTIVE',
  MISSING_ON_STARTUP: 'INACTIVE',
};

/**
 * Checks that hold for every task of a shape and, while a round only fills machines, for the rest of the round. The
 * operator sees the first reason that holds, so a frozen slave says "frozen", not "too small".
 */
const shapeChecks: readonly Check<Shape>[] = [
  (_shape, { view }) => {
    if (view.state === undefined) return 'SLAVE_UNKNOWN';
    const slave = standing[view.state];
    if (slave) return `SLAVE_${slave}`;
    const rack = standing[view.rackState];
    return rack && `RACK_${rack}`;
  },
  ({ rackAffinity }, { view }) =>
    rackAffinity.length > 0 && !rackAffinity.includes(view.rackId) ? 'RACK_AFFINITY_NOT_MATCHING' : undefined,
  (shape, machine) => (attributesMatch(shape, machine) ? undefined : 'SLAVE_ATTRIBUTES_DO_NOT_MATCH'),
  ({ units }, { free }) => (free.cpus >= units.cpus ? undefined : 'NOT_ENOUGH_CPUS'),
  ({ units }, { free }) => (free.memory >= units.memory ? undefined : 'NOT_ENOUGH_MEMORY'),
  ({ units }, { free }) => (units.disk === 0 || free.disk >= units.disk ? undefined : 'NOT_ENOUGH_DISK'),
  ({ numPorts, literalPorts }, machine) => {
    if (numPorts === 0 && literalPorts.length === 0) return undefined;
    return machine.ports.canTake(numPorts, literalPorts) ? undefined : 'NOT_ENOUGH_PORTS';
  },
  (_shape, machine, { rules, round }) =>
    rules.maxTasksPerMachine > 0 && machine.placedIn(round) >= rules.maxTasksPerMachine
      ? 'TOO_MANY_TASKS_THIS_ROUND'
      : undefined,
];

/** Checks that depend on where the other tasks of the request stand, and on what they use. */
const spreadChecks: readonly Check<Demand>[] = [
  (task, machine, around) => (keepsMinimums(task, machine, around) ? undefined : 'SLAVE_ATTRIBUTE_MINIMUMS'),
  (task, machine, { rules }) =>
    task.request.rackSensitive && rackIsSaturated(task, machine.view.rackId, rules) ? 'RACK_SATURATED' : undefined,
  (task, machine, { rules }) => (slaveIsSaturated(task, machine.view.slaveId, rules) ? 'SLAVE_SATURATED' : undefined),
  (_task, machine) => (machine.isUnsampled ? 'SLAVE_USAGE_UNKNOWN' : undefined),
  ({ estimatedCpus }, machine) => (machine.isTooBusyFor(estimatedCpus) ? 'SLAVE_OVERLOADED' : undefined),
];

/** The first reason of the shape against this machine. */
export const shapeRejection = (shape: Shape, machine: FleetMachine, around: Surroundings) =>
  first(shapeChecks, shape, machine, around);

/** The first reason of the request's other tasks against this machine. */
export const spreadRejection = (task: Demand, machine: FleetMachine, around: Surroundings) =>
  first(spreadChecks, task, machine, around);

function first<Asked>(
  checks: readonly Check<Asked>[],
  asked: Asked,
  machine: FleetMachine,
  around: Surroundings,
): RejectionReason | undefined {
  for (const check of checks) {
    const reason = check(asked, machine, around);
    if (reason) return reason;
  }
  return undefined;
}

/** Allowed pairs never exclude a machine: they open the ones that are reserved for them. */
function attributesMatch(shape: Shape, { view, reservedFor, preemptibleOnly }: FleetMachine): boolean {
  for (const [name, value] of reservedFor) {
    if (shape.required[name] !== value && shape.allowed[name] !== value) return false;
  }
  if (preemptibleOnly && !shape.preemptible) return false;
  for (const name in shape.required) if (view.attributes[name] !== shape.required[name]) return false;
  return true;
}

/** A machine without a wanted attribute may only take tasks that are not needed elsewhere for the minimum. */
function keepsMinimums(task: Demand, { view }: FleetMachine, { attributesOf }: Surroundings): boolean {
  if (!task.request.slaveAttributeMinimums) return true;
  for (const [name, minimums] of Object.entries(task.request.slaveAttributeMinimums)) {
    for (const [value, percent] of Object.entries(minimums)) {
      if (view.attributes[name] === value) continue;
      const needed = Math.max(1, Math.floor((percent * task.instances) / 100));
      let without = 1;
      for (const [slaveId, tasks] of task.spread.slaves) {
        if (attributesOf(slaveId)[name] !== value) without += tasks.length;
      }
      if (task.instances - without < needed) return false;
    }
  }
  return true;
}
