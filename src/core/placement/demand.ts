import { isLongRunning, type SlavePlacement } from '../model/enums.js';
import type { Deploy } from '../model/deploy.js';
import type { Request } from '../model/request.js';
import type { PendingTask } from '../model/task.js';
import { unitsOf, type Units } from './machine.js';
import { executorResources, taskResources, type DeployView, type PlacementRules } from './snapshot.js';
import type { RequestSpread } from './spread.js';

/** What a pending task asks of a machine. Pending tasks that ask for the same share one. */
export interface Demand {
  request: Request;
  deploy: Deploy;
  spread: RequestSpread;
  units: Units;
  numPorts: number;
  literalPorts: readonly number[];
  instances: number;
  required: Readonly<Record<string, string>>;
  allowed: Readonly<Record<string, string>>;
  preemptible: boolean;
  strategy: SlavePlacement;
  /** Set for a bounce: may stand beside the task it replaces. */
  bounce?: { actionId?: string; toSameHost: boolean };
  /** Machines that hold an allowed pair are worth more, unless any machine will do. */
  prefers: boolean;
}

export function makeDemand(
  pending: PendingTask,
  request: Request,
  { deploy, averageRuntimeMillis }: DeployView,
  spread: RequestSpread,
  rules: PlacementRules,
): Demand {
  const own = taskResources(pending.resources, deploy, rules);
  const executor = executorResources(deploy, rules);
  const strategy = request.slavePlacement ?? rules.defaultPlacement;
  const allowed = overridden(pending.allowedSlaveAttributeOverrides, request.allowedSlaveAttributes);
  return {
    request,
    deploy,
    spread,
    units: unitsOf({
      cpus: own.cpus + executor.cpus,
      memoryMb: own.memoryMb + executor.memoryMb,
      diskMb: own.diskMb + executor.diskMb,
    }),
    numPorts: own.numPorts,
    literalPorts: literalHostPorts(deploy),
    instances: request.instances ?? 1,
    required: overridden(pending.requiredSlaveAttributeOverrides, request.requiredSlaveAttributes),
    allowed,
    preemptible:
      isLongRunning(request.requestType) ||
      (averageRuntimeMillis !== undefined && averageRuntimeMillis < rules.preemptibleMaxRuntimeMillis),
    strategy,
    bounce:
      pending.pendingTaskId.pendingType === 'BOUNCE'
        ? {
            actionId: pending.actionId,
            toSameHost: request.allowBounceToSameHost ?? rules.allowBounceToSameHost,
          }
        : undefined,
    prefers: (strategy !== 'GREEDY' || request.rackSensitive === true) && Object.keys(allowed).length > 0,
  };
}

/** Equal keys: equal demands, as long as request and deploy are the same. */
export const demandKey = (pending: PendingTask): string => {
  const { requestId, deployId, pendingType } = pending.pendingTaskId;
  return JSON.stringify([
    requestId,
    deployId,
    pending.resources,
    pending.requiredSlaveAttributeOverrides,
    pending.allowedSlaveAttributeOverrides,
    pendingType === 'BOUNCE' ? (pending.actionId ?? true) : false,
  ]);
};

const overridden = (
  override: Record<string, string> | undefined,
  own: Record<string, string> | undefined,
): Record<string, string> => (override && Object.keys(override).length > 0 ? override : (own ?? {}));

const literalHostPorts = (deploy: Deploy): number[] => [
  ...new Set(
    (deploy.containerInfo?.docker?.portMappings ?? [])
      .filter((mapping) => (mapping.hostPortType ?? 'LITERAL') === 'LITERAL')
      .map((mapping) => mapping.hostPort),
  ),
];
