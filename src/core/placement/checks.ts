import type { MachineState } from '../model/enums.js';
import type { Demand } from './demand.js';
import type { RoundMachine } from './machine.js';
import { rackIsSaturated, slaveIsSaturated } from './saturation.js';
import type { PlacementRules } from './snapshot.js';

/** Why a task cannot go to a machine. */
export type RejectionReason =
  | 'SLAVE_UNKNOWN'
  | 'SLAVE_INACTIVE'
  | 'SLAVE_FROZEN'
  | 'SLAVE_DECOMMISSIONING'
  | 'RACK_INACTIVE'
  | 'RACK_FROZEN'
  | 'RACK_DECOMMISSIONING'
  | 'RACK_AFFINITY_NOT_MATCHING'
  | 'SLAVE_ATTRIBUTES_DO_NOT_MATCH'
  | 'SLAVE_ATTRIBUTE_MINIMUMS'
  | 'NOT_ENOUGH_CPUS'
  | 'NOT_ENOUGH_MEMORY'
  | 'NOT_ENOUGH_DISK'
  | 'NOT_ENOUGH_PORTS'
  | 'TOO_MANY_TASKS_THIS_ROUND'
  | 'RACK_SATURATED'
  | 'SLAVE_SATURATED';

export interface Surroundings {
  rules: PlacementRules;
  attributesOf: (slaveId: string) => Readonly<Record<string, string>>;
}

type Check = (task: Demand, machine: RoundMachine, around: Surroundings) => RejectionReason | undefined;

const standing: Record<MachineState, 'INACTIVE' | 'FROZEN' | 'DECOMMISSIONING' | undefined> = {
  ACTIVE: undefined,
  FROZEN: 'FROZEN',
  STARTING_DECOMMISSION: 'DECOMMISSIONING',
  DECOMMISSIONING: 'DECOMMISSIONING',
  DECOMMISSIONED: 'DECOMMISSIONING',
  DEAD: 'INACTIVE',
  MISSING_ON_STARTUP: 'INACTIVE',
};

/** The operator sees the first reason that holds, so a frozen slave says "frozen", not "too small". */
const checks: readonly Check[] = [
  (_task, { view }) => {
    if (view.state === undefined) return 'SLAVE_UNKNOWN';
    const slave = standing[view.state];
    if (slave) return `SLAVE_${slave}`;
    const rack = standing[view.rackState];
    return rack && `RACK_${rack}`;
  },
  ({ request }, { view }) =>
    request.rackAffinity?.length && !request.rackAffinity.includes(view.rackId)
      ? 'RACK_AFFINITY_NOT_MATCHING'
      : undefined,
  (task, machine) => (attributesMatch(task, machine) ? undefined : 'SLAVE_ATTRIBUTES_DO_NOT_MATCH'),
  (task, machine) => (machine.free.cpus >= task.units.cpus ? undefined : 'NOT_ENOUGH_CPUS'),
  (task, machine) => (machine.free.memory >= task.units.memory ? undefined : 'NOT_ENOUGH_MEMORY'),
  (task, machine) => (task.units.disk === 0 || machine.free.disk >= task.units.disk ? undefined : 'NOT_ENOUGH_DISK'),
  (task, machine) => {
    if (task.numPorts === 0 && task.literalPorts.length === 0) return undefined;
    return machine.ports.canTake(task.numPorts, task.literalPorts) ? undefined : 'NOT_ENOUGH_PORTS';
  },
  (_task, machine, { rules }) =>
    rules.maxTasksPerMachine > 0 && machine.placedInRound >= rules.maxTasksPerMachine
      ? 'TOO_MANY_TASKS_THIS_ROUND'
      : undefined,
  (task, machine, around) => (keepsMinimums(task, machine, around) ? undefined : 'SLAVE_ATTRIBUTE_MINIMUMS'),
  (task, machine, { rules }) =>
    task.request.rackSensitive && rackIsSaturated(task, machine.view.rackId, rules) ? 'RACK_SATURATED' : undefined,
  (task, machine, { rules }) => (slaveIsSaturated(task, machine.view.slaveId, rules) ? 'SLAVE_SATURATED' : undefined),
];

/** The first reason against this machine; undefined when the task may go there. */
export function firstRejection(task: Demand, machine: RoundMachine, around: Surroundings): RejectionReason | undefined {
  for (const check of checks) {
    const reason = check(task, machine, around);
    if (reason) return reason;
  }
  return undefined;
}

/** Allowed pairs never exclude a machine: they open the ones that are reserved for them. */
function attributesMatch(task: Demand, { view, reservedFor, preemptibleOnly }: RoundMachine): boolean {
  for (const [name, value] of reservedFor) {
    if (task.required[name] !== value && task.allowed[name] !== value) return false;
  }
  if (preemptibleOnly && !task.preemptible) return false;
  for (const name in task.required) if (view.attributes[name] !== task.required[name]) return false;
  return true;
}

/** A machine without a wanted attribute may only take tasks that are not needed elsewhere for the minimum. */
function keepsMinimums(task: Demand, { view }: RoundMachine, { attributesOf }: Surroundings): boolean {
  for (const [name, minimums] of Object.entries(task.request.slaveAttributeMinimums ?? {})) {
    for (const [value, percent] of Object.entries(minimums)) {
      if (view.attributes[name] === value) continue;
      const needed = Math.max(1, Math.floor((percent / 100) * task.instances));
      let without = 1;
      for (const [slaveId, tasks] of task.spread.slaves) {
        if (attributesOf(slaveId)[name] !== value) without += tasks.length;
      }
      if (task.instances - without < needed) return false;
    }
  }
  return true;
}
