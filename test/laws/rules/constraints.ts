import type { SimulatedCluster } from '../../support/simulated-cluster/simulated-cluster.js';
import { isRunnable } from '../../../src/core/model/enums.js';
import { instancesOf, type Request } from '../../../src/core/model/request.js';
import type { SeenMachine, SeenRequest, SeenTask, Sight } from '../world/world.js';
import { LawBroken } from './law-broken.js';

/** Machines with this pair only take tasks that require or allow it. */
export const reservedAttributes = { reserved: ['yes'] };

type Constraint = (task: SeenTask, machine: SeenMachine, request: Request, sight: Sight, racks: number) => boolean;

/** Written down once more, without a look at how placement does it. */
const constraints: Record<string, Constraint> = {
  'the machine and its rack take tasks': (_task, machine) =>
    machine.state === 'ACTIVE' && machine.rackState === 'ACTIVE',
  'the machine is the one it was decided for': (task, machine) => task.incarnation === machine.incarnation,
  'required attributes': (_task, { attributes }, request) =>
    Object.entries(request.requiredSlaveAttributes ?? {}).every(([name, value]) => attributes[name] === value),
  'reserved machines': (_task, { attributes }, { requiredSlaveAttributes, allowedSlaveAttributes }) =>
    attributes['reserved'] !== 'yes' ||
    requiredSlaveAttributes?.['reserved'] === 'yes' ||
    allowedSlaveAttributes?.['reserved'] === 'yes',
  'rack affinity': (_task, { rackId }, { rackAffinity }) => !rackAffinity?.length || rackAffinity.includes(rackId),
  'even racks': (task, { rackId }, request, sight, racks) => {
    if (!request.rackSensitive) return true;
    const here = active(sight, task).filter(
      (other) =>
        other.taskId.deployId === task.taskId.deployId && other.rackId === rackId && !other.cleaning && !other.killed,
    );
    return here.length <= Math.max(1, Math.ceil(instancesOf(request) / Math.max(1, racks)));
  },
  'attribute minimums': (task, machine, request, sight) =>
    Object.entries(request.slaveAttributeMinimums ?? {}).every(([name, minimums]) =>
      Object.entries(minimums).every(([value, percent]) => {
        if (machine.attributes[name] === value) return true;
        const instances = instancesOf(request);
        const needed = Math.max(1, Math.floor((percent / 100) * instances));
        const without = active(sight, task).filter(
          ({ slaveId }) => sight.machines.get(slaveId)?.attributes[name] !== value,
        );
        return without.length <= instances - needed;
      }),
    ),
  'tasks apart from each other': (task, { slaveId }, request, sight) => {
    const beside = active(sight, task).filter((other) => other.slaveId === slaveId && other !== task);
    switch (request.slavePlacement) {
      case 'SEPARATE_BY_REQUEST':
        return beside.length === 0;
      case 'SEPARATE':
      case 'SEPARATE_BY_DEPLOY':
      case 'SPREAD_ALL_SLAVES': {
        const sameDeploy = beside.filter(({ taskId }) => taskId.deployId === task.taskId.deployId);
        const mayStandBeside = ({ pendingType }: SeenTask) =>
          pendingType === 'BOUNCE' && request.allowBounceToSameHost === true;
        // Of two that were written together the second may be the one that was allowed beside the first.
        const came = ({ taskId }: SeenTask) => taskId.startedAt;
        if (!mayStandBeside(task)) {
          return sameDeploy.every((other) => mayStandBeside(other) && came(other) >= came(task));
        }
        return !sameDeploy.some((other) => other.pendingType === 'BOUNCE' && other.actionId === task.actionId);
      }
      default:
        return true;
    }
  },
};

const active = (sight: Sight, { taskId }: SeenTask): SeenTask[] =>
  [...sight.tasks.values()].filter(
    (other) => other.taskId.requestId === taskId.requestId && other.endedAt === undefined,
  );

export const activeRacks = (sight: Sight): number =>
  new Set([...sight.machines.values()].filter(({ rackState }) => rackState === 'ACTIVE').map(({ rackId }) => rackId))
    .size;

/** States on which may have been decided besides the one that is committed now. */
export interface Before {
  /** The fewest that were active since the last look. */
  racks: number;
  /** Rows of machines at the last look; undefined: the decision was the only thing since then. */
  machines?: Sight['machines'];
}

/**
 * A constraint that held in the decision holds at the launch: of a task that was written just now. Machines may have been
 * seen anew since, and what a machine says of itself may be newer than its row; each may have been decided on.
 */
export function checkConstraints(task: SeenTask, sight: Sight, cluster: SimulatedCluster, before: Before): void {
  const seen: SeenRequest | undefined = sight.requests.get(task.taskId.requestId);
  const row = sight.machines.get(task.slaveId);
  if (!seen || !row) throw new LawBroken('A launch has a request and a machine', task.taskId.id);
  const newer = new Map([...sight.machines].map(([slaveId, machine]) => [slaveId, withNewer(machine, cluster)]));
  const fleets = [sight.machines, newer, ...(before.machines ? [before.machines] : [])];
  for (const [name, holds] of Object.entries(constraints)) {
    const held = fleets.some((machines) => {
      const machine = machines.get(task.slaveId);
      return machine && holds(task, machine, seen.request, { ...sight, machines }, before.racks);
    });
    if (held) continue;
    throw new LawBroken(`A constraint holds at the launch (${name})`, `${task.taskId.id} on ${JSON.stringify(row)}`);
  }
}

/** Its request gets new tasks, and its deploy is one that the request uses; single runs may be of a former one. */
export function checkWanted({ taskId }: SeenTask, sight: Sight): void {
  const { request, state, activeDeployId, pendingDeployId } = sight.requests.get(taskId.requestId)!;
  const isInUse = taskId.deployId === activeDeployId || taskId.deployId === pendingDeployId;
  if (isRunnable(state) && (isInUse || request.requestType === 'RUN_ONCE')) return;
  throw new LawBroken('Only what is wanted is launched', `${taskId.id} of a request that is ${state}`);
}

const withNewer = (row: SeenMachine, cluster: SimulatedCluster): SeenMachine => ({
  ...row,
  attributes: cluster.findAgent(row.slaveId)?.machines.get(row.slaveId)?.attributes ?? row.attributes,
});
