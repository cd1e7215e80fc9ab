import { literalHostPorts } from '../launch/index.js';
import { deployKeyText, hasContainer, type Deploy } from '../model/deploy.js';
import { isLongRunning, type SlavePlacement } from '../model/enums.js';
import { instancesOf, type Request } from '../model/request.js';
import type { PendingTask } from '../model/task.js';
import type { RequestUtilization } from '../model/usage.js';
import type { RequestSpread } from './request-spread.js';
import { type ResourceUnits, unitsOf } from './fleet.js';
import { type DeployToPlace, type PlacementRules, taskNeeds } from './snapshot.js';
import {
  type Amounts,
  amountsOf,
  largestUsage,
  type ResourceBias,
  biasOfRequest,
  probableUsage,
} from '../usage/index.js';

/** Requirements of a task for a machine, independent of other tasks there. Tasks of many requests may share one. */
export interface DemandShape {
  units: ResourceUnits;
  numPorts: number;
  literalPorts: readonly number[];
  /** Only machines that run containers can take it. */
  container: boolean;
  rackAffinity: readonly string[];
  required: Readonly<Record<string, string>>;
  allowed: Readonly<Record<string, string>>;
  preemptible: boolean;
}

/** Requirements of a pending task for a machine. Pending tasks with equal requirements share one. */
export interface Demand {
  request: Request;
  deploy: Deploy;
  spread: RequestSpread;
  shape: DemandShape;
  instances: number;
  strategy: SlavePlacement;
  rackSensitive: boolean;
  /** Set for a bounce: may stand beside the task it replaces. */
  bounce?: { actionId?: string; toSameHost: boolean };
  /** Machines that hold an allowed pair, or suit what its tasks use, are worth more, unless any machine will do. */
  prefers: boolean;
  /** Resource that its tasks use much of; absent: not known. */
  bias?: ResourceBias;
  /** Cores that it will probably use, and the most that it may come to use. */
  estimatedCpus: number;
  expected: Amounts;
}

export function makeDemand(
  pending: PendingTask,
  request: Request,
  deployView: DeployToPlace,
  spread: RequestSpread,
  rules: PlacementRules,
  utilization?: RequestUtilization,
): Demand {
  const strategy = rules.override?.slavePlacement ?? request.slavePlacement ?? rules.defaultPlacement;
  const rackSensitive = request.rackSensitive === true && rules.override?.ignoresRackSensitivity !== true;
  const shape = makeShape(pending, request, deployView, rules);
  const bias = rules.preference && biasOfRequest(utilization, rules.preference);
  const { cpus, memory, disk } = shape.units;
  const asked = amountsOf({ cpus: cpus / 1_000, memoryMb: memory / 1_000, diskMb: disk / 1_000 });
  const particular = strategy !== 'GREEDY' || rackSensitive;
  return {
    request,
    deploy: deployView.deploy,
    spread,
    shape,
    instances: instancesOf(request),
    strategy,
    rackSensitive,
    bounce:
      pending.pendingTaskId.pendingType === 'BOUNCE'
        ? {
            actionId: pending.actionId,
            toSameHost: request.allowBounceToSameHost ?? rules.allowBounceToSameHost,
          }
        : undefined,
    prefers: particular && (bias !== undefined || Object.keys(shape.allowed).length > 0),
    bias,
    estimatedCpus: probableUsage(utilization, asked).cpus,
    expected: largestUsage(utilization, asked),
  };
}

function makeShape(
  pending: PendingTask,
  request: Request,
  { deploy, averageRuntimeMillis }: DeployToPlace,
  rules: PlacementRules,
): DemandShape {
  const { own, needed } = taskNeeds(pending.resources, deploy, rules);
  return {
    units: unitsOf(needed),
    numPorts: own.numPorts,
    literalPorts: deploy.containerInfo ? literalHostPorts(deploy.containerInfo, own.numPorts) : [],
    container: hasContainer(deploy),
    rackAffinity: request.rackAffinity ?? [],
    required: overridden(pending.requiredSlaveAttributeOverrides, request.requiredSlaveAttributes),
    allowed: overridden(pending.allowedSlaveAttributeOverrides, request.allowedSlaveAttributes),
    preemptible:
      isLongRunning(request.requestType) ||
      (averageRuntimeMillis !== undefined && averageRuntimeMillis < rules.preemptibleMaxRuntimeMillis),
  };
}

/** Equal keys: equal demands, as long as request and deploy are the same. */
export function demandKey(pending: PendingTask): string {
  const { pendingType } = pending.pendingTaskId;
  const { resources, requiredSlaveAttributeOverrides: required, allowedSlaveAttributeOverrides: allowed } = pending;
  // Most ask for nothing of their own, and keys are made for each task of each round.
  const own = resources || required || allowed ? JSON.stringify([resources, required, allowed]) : '';
  const bounce = pendingType === 'BOUNCE' ? `bounce ${pending.actionId ?? ''}` : '';
  return `${deployKeyText(pending.pendingTaskId)} ${bounce} ${own}`;
}

/** Equal keys: equal shapes. */
export const shapeKey = (shape: DemandShape): string => JSON.stringify(shape);

const overridden = (
  override: Record<string, string> | undefined,
  own: Record<string, string> | undefined,
): Record<string, string> => (override && Object.keys(override).length > 0 ? override : (own ?? {}));

/** From 0 to 1; the higher, the sooner it is placed. */
export const priorityLevel = (request: Request, { priority }: Pick<PlacementRules, 'priority'>): number =>
  request.taskPriorityLevel ?? priority.levelOfType[request.requestType] ?? priority.defaultLevel;

interface Group<T> {
  /** Weight of its heaviest task. */
  weight: number;
  requestId: string;
  items: { item: T; weight: number }[];
}

/**
 * Heaviest first, request by request: a task weighs more the longer it is due and the higher its priority. Requests
 * follow each other by their heaviest task; ties go to the smaller id.
 */
export function byWeight<T extends { pending: PendingTask; request: Request }>(
  items: readonly T[],
  rules: PlacementRules,
  now: number,
): T[] {
  const groups = new Map<string, Group<T>>();
  for (const item of items) {
    const { nextRunAt, requestId } = item.pending.pendingTaskId;
    const level = priorityLevel(item.request, rules) ** rules.priority.weightFactor;
    const weight = Math.max(now - nextRunAt, 1) * level;
    const group = groups.get(requestId) ?? { weight, requestId, items: [] };
    group.weight = Math.max(group.weight, weight);
    group.items.push({ item, weight });
    groups.set(requestId, group);
  }
  const ordered = [...groups.values()].sort((a, b) => b.weight - a.weight || (a.requestId < b.requestId ? -1 : 1));
  return ordered.flatMap((group) =>
    group.items.sort((a, b) => b.weight - a.weight || (idOf(a) < idOf(b) ? -1 : 1)).map(({ item }) => item),
  );
}

const idOf = ({ item }: { item: { pending: PendingTask } }): string => item.pending.pendingTaskId.id;
