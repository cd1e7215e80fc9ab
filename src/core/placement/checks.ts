import type { MachineState } from '../model/enums.js';
import type { Demand, DemandShape } from './demand.js';
import { missingExtended } from './extended.js';
import type { FleetMachine } from './fleet.js';
import type { PlacementRules } from './snapshot.js';

/** Reasons why a task cannot go to a machine. */
export const rejectionReasons = [
  'SLAVE_UNKNOWN',
  'SLAVE_INACTIVE',
  'SLAVE_FROZEN',
  'SLAVE_DECOMMISSIONING',
  'HOST_INACTIVE',
  'RACK_INACTIVE',
  'RACK_FROZEN',
  'RACK_DECOMMISSIONING',
  'RACK_AFFINITY_NOT_MATCHING',
  'SLAVE_ATTRIBUTES_DO_NOT_MATCH',
  'SLAVE_ATTRIBUTE_MINIMUMS',
  'SLAVE_RETURNING',
  'SLAVE_CLOSED',
  'SLAVE_DISK_FULL',
  'SLAVE_WITHOUT_CONTAINERS',
  'NOT_ENOUGH_CPUS',
  'NOT_ENOUGH_MEMORY',
  'NOT_ENOUGH_DISK',
  'NOT_ENOUGH_PORTS',
  'NOT_ENOUGH_EXTENDED_RESOURCES',
  'TOO_MANY_TASKS',
  'TOO_MANY_TASKS_THIS_ROUND',
  'RACK_SATURATED',
  'SLAVE_SATURATED',
  'SLAVE_USAGE_UNKNOWN',
  'SLAVE_OVERLOADED',
] as const;
export type RejectionReason = (typeof rejectionReasons)[number];

export interface PlacementContext {
  rules: PlacementRules;
  /** Number of the round, for what counts per round. */
  round: number;
  attributesOf: (slaveId: string) => Readonly<Record<string, string>>;
}

type Check<Asked> = (asked: Asked, machine: FleetMachine, context: PlacementContext) => RejectionReason | undefined;

const rejectedStates: Record<MachineState, 'INACTIVE' | 'FROZEN' | 'DECOMMISSIONING' | undefined> = {
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
const shapeChecks: readonly Check<DemandShape>[] = [
  (_shape, { view }) => {
    if (view.state === undefined) return 'SLAVE_UNKNOWN';
    const slave = rejectedStates[view.state];
    if (slave) return `SLAVE_${slave}`;
    if (view.hostIsInactive) return 'HOST_INACTIVE';
    const rack = rejectedStates[view.rackState];
    return rack && `RACK_${rack}`;
  },
  ({ rackAffinity }, { view }) =>
    rackAffinity.length > 0 && !rackAffinity.includes(view.rackId) ? 'RACK_AFFINITY_NOT_MATCHING' : undefined,
  (shape, machine) => (attributesMatch(shape, machine) ? undefined : 'SLAVE_ATTRIBUTES_DO_NOT_MATCH'),
  (_shape, { view }) => (view.isReturning ? 'SLAVE_RETURNING' : undefined),
  (_shape, { view }) => (view.closedBecause === undefined ? undefined : 'SLAVE_CLOSED'),
  (_shape, { view }) => (view.isDiskFull ? 'SLAVE_DISK_FULL' : undefined),
  ({ container }, { view }) => (container && view.runsContainers === false ? 'SLAVE_WITHOUT_CONTAINERS' : undefined),
  ({ units }, { free }) => (free.cpus >= units.cpus ? undefined : 'NOT_ENOUGH_CPUS'),
  ({ units }, { free }) => (free.memory >= units.memory ? undefined : 'NOT_ENOUGH_MEMORY'),
  ({ units }, { free }) => (units.disk === 0 || free.disk >= units.disk ? undefined : 'NOT_ENOUGH_DISK'),
  ({ numPorts, literalPorts }, machine) => {
    if (numPorts === 0 && literalPorts.length === 0) return undefined;
    return machine.ports.canTake(numPorts, literalPorts) ? undefined : 'NOT_ENOUGH_PORTS';
  },
  ({ units }, { free }) =>
    missingExtended(units.extended, free.extended) === undefined ? undefined : 'NOT_ENOUGH_EXTENDED_RESOURCES',
  (_shape, { freeTasks }) => (freeTasks > 0 ? undefined : 'TOO_MANY_TASKS'),
  (_shape, machine, { rules, round }) =>
    rules.maxTasksPerMachine > 0 && machine.placedIn(round) >= rules.maxTasksPerMachine
      ? 'TOO_MANY_TASKS_THIS_ROUND'
      : undefined,
];

/** Checks that depend on where the other tasks of the request stand, and on what they use. */
const spreadChecks: readonly Check<Demand>[] = [
  (task, machine, context) => (keepsMinimums(task, machine, context) ? undefined : 'SLAVE_ATTRIBUTE_MINIMUMS'),
  (task, machine, { rules }) =>
    task.rackSensitive && rackIsSaturated(task, machine.view.rackId, rules) ? 'RACK_SATURATED' : undefined,
  (task, machine, { rules }) => (slaveIsSaturated(task, machine.view.slaveId, rules) ? 'SLAVE_SATURATED' : undefined),
  (_task, machine) => (machine.isUnsampled ? 'SLAVE_USAGE_UNKNOWN' : undefined),
  ({ estimatedCpus }, machine) => (machine.isTooBusyFor(estimatedCpus) ? 'SLAVE_OVERLOADED' : undefined),
];

/** The first reason of the shape against this machine. */
export const shapeRejection = (shape: DemandShape, machine: FleetMachine, context: PlacementContext) =>
  first(shapeChecks, shape, machine, context);

/** The first reason of the request's other tasks against this machine. */
export const spreadRejection = (task: Demand, machine: FleetMachine, context: PlacementContext) =>
  first(spreadChecks, task, machine, context);

function first<Asked>(
  checks: readonly Check<Asked>[],
  asked: Asked,
  machine: FleetMachine,
  context: PlacementContext,
): RejectionReason | undefined {
  for (const check of checks) {
    const reason = check(asked, machine, context);
    if (reason) return reason;
  }
  return undefined;
}

/** Allowed pairs never exclude a machine: they open the ones that are reserved for them. */
function attributesMatch(shape: DemandShape, { view, reservedFor, preemptibleOnly }: FleetMachine): boolean {
  for (const [name, value] of reservedFor) {
    if (shape.required[name] !== value && shape.allowed[name] !== value) return false;
  }
  if (preemptibleOnly && !shape.preemptible) return false;
  for (const name in shape.required) if (view.attributes[name] !== shape.required[name]) return false;
  return true;
}

/** A machine without a wanted attribute may only take tasks that are not needed elsewhere for the minimum. */
function keepsMinimums(task: Demand, { view }: FleetMachine, { attributesOf }: PlacementContext): boolean {
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

/** Would one more task of this deploy make the racks uneven? */
function rackIsSaturated({ deploy, spread, instances }: Demand, rackId: string, rules: PlacementRules): boolean {
  const counts = spread.rackCounts(deploy.id);
  const here = counts.get(rackId) ?? 0;
  const racks = Math.max(rules.rackCount, 1);
  const perRack = instances / racks;
  if (counts.size < racks) return here >= Math.max(perRack, 1);
  const fewest = Math.min(...counts.values());
  return fewest < Math.floor(perRack) ? here >= Math.floor(perRack) : here >= perRack;
}

/** True if this slave has got its share of the request's tasks, by the request's placement strategy. */
function slaveIsSaturated(task: Demand, slaveId: string, rules: PlacementRules): boolean {
  switch (task.strategy) {
    case 'GREEDY':
      return false;
    case 'SEPARATE_BY_REQUEST':
      return task.spread.on(slaveId).length > 0;
    case 'OPTIMISTIC':
      return isAboveAverage(task, slaveId, rules.placementLeniency);
    case 'SEPARATE':
    case 'SEPARATE_BY_DEPLOY':
    case 'SPREAD_ALL_SLAVES':
      return isTakenByDeploy(task, slaveId);
  }
}

function isTakenByDeploy({ bounce, deploy, spread }: Demand, slaveId: string): boolean {
  const sameDeploy = spread.on(slaveId).filter(({ taskId }) => taskId.deployId === deploy.id);
  if (!bounce?.toSameHost || bounce.actionId === undefined) return sameDeploy.length > 0;
  // A replacement may stand beside the task it replaces, not beside another replacement.
  return sameDeploy.some((task) => task.pendingType === 'BOUNCE' && task.actionId === bounce.actionId);
}

function isAboveAverage({ deploy, spread }: Demand, slaveId: string, leniency: number): boolean {
  if (spread.active === 0) return false;
  const here = spread.on(slaveId).filter(({ taskId, cleaning }) => taskId.deployId === deploy.id && !cleaning).length;
  return here > (spread.active / spread.slaves.size) * (1 + spread.pending * leniency);
}
