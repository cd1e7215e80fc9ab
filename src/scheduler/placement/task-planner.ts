import { planLaunch, taskRecord, type LaunchInput, type LaunchRules } from '../../core/launch/index.js';
import {
  executorResources,
  taskResources,
  type DeployView,
  type PlacementOutcome,
  type PlacementRules,
} from '../../core/placement/index.js';
import type { HeldTask } from '../../core/working-set/index.js';
import type { PlannedTask } from './placement-writer.service.js';

export type Placed = Extract<PlacementOutcome, { kind: 'place' }>;

/** What is written and sent for a task that got a machine. */
export function planTask(
  { pending, request, machine, taskId, ports }: Placed,
  { deploy }: DeployView,
  requestVersion: number,
  rules: PlacementRules & { launch: LaunchRules },
): PlannedTask {
  const own = taskResources(pending.resources, deploy, rules);
  const executor = executorResources(deploy, rules);
  const needed = {
    cpus: own.cpus + executor.cpus,
    memoryMb: own.memoryMb + executor.memoryMb,
    diskMb: own.diskMb + executor.diskMb,
  };
  const input: LaunchInput = { taskId, place: machine, request, deploy, pending, ports, own, needed };
  const launch = planLaunch(input, rules.launch);
  const task = taskRecord(input, launch);
  return { task, launch, document: JSON.stringify({ task, launch }), host: machine.hostname, requestVersion };
}

/** The task as the working set holds it. */
export const heldTask = ({ task, launch }: PlannedTask): HeldTask => {
  const { pendingTaskId, actionId } = task.taskRequest.pendingTask;
  const { id, deployId, requestId } = task.taskId;
  return {
    taskId: { id, deployId },
    requestId,
    slaveId: launch.slaveId,
    rackId: task.rackId,
    pendingType: pendingTaskId.pendingType,
    actionId,
    cleaning: false,
    killed: false,
    cpus: launch.cpus,
    memoryMb: launch.memoryMb,
    diskMb: launch.diskMb,
    ports: launch.ports,
  };
};
