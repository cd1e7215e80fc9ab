import { randomUUID } from 'node:crypto';
import {
  type LaunchDecision,
  type LaunchInput,
  type LaunchRules,
  planLaunch,
  taskRecord,
} from '../../core/launch/index.js';
import type { LaunchSpec } from '../../core/model/launch.js';
import type { Task } from '../../core/model/task.js';
import {
  type DeployToPlace,
  type MachineView,
  type PlacementOutcome,
  type PlacementRules,
  taskNeeds,
} from '../../core/placement/index.js';
import type { HeldTask } from '../../core/working-set/index.js';
import type { LaunchDocument } from '../../modules/tasks/launched-task.repository.js';

export type TaskPlacement = Extract<PlacementOutcome, { kind: 'place' }>;

/** A task with its place, ready to be written and sent. */
export interface PlannedTask extends LaunchDecision {
  place: MachineView;
  launch: LaunchSpec;
  /** The LaunchDocument as JSON text. */
  document: string;
  /** Version of the request that the decision was taken on. */
  requestVersion: number;
  /** See PlacementOutcome. */
  mostLive?: number;
}

export function planTask(
  { pending, request, machine, taskId, ports, mostLive }: TaskPlacement,
  { deploy }: DeployToPlace,
  requestVersion: number,
  rules: PlacementRules & { launch: LaunchRules },
): PlannedTask {
  const { own, needed } = taskNeeds(pending.resources, deploy, rules);
  const input: LaunchInput = { taskId, place: machine, request, deploy, pending, ports, own, needed };
  const launch = { ...planLaunch(input, rules.launch), launchId: randomUUID() };
  const document: LaunchDocument = { request, pendingTask: pending, launch };
  return {
    taskId,
    place: machine,
    request,
    deploy,
    pending,
    launch,
    document: JSON.stringify(document),
    requestVersion,
    mostLive,
  };
}

/** The task as the working set holds it. */
export const heldTask = ({ taskId: { id, deployId, requestId }, place, pending, launch }: PlannedTask): HeldTask => ({
  taskId: { id, deployId },
  requestId,
  slaveId: place.slaveId,
  rackId: place.rackId,
  pendingType: pending.pendingTaskId.pendingType,
  actionId: pending.actionId,
  cleaning: false,
  killed: false,
  cpus: launch.cpus,
  memoryMb: launch.memoryMb,
  diskMb: launch.diskMb,
  ...(launch.extended && { extended: launch.extended }),
  ports: launch.ports,
});

export const recordOf = (planned: PlannedTask, isWhole: boolean): Task => taskRecord(planned, planned.launch, isWhole);
