import type { MachineSnapshot } from '../../../src/cluster/cluster-driver.js';
import { isDecommissioning, judgeStateChange, nextMachineStep } from '../../../src/core/machines/machine-life.js';
import type { MachineState } from '../../../src/core/model/enums.js';
import type { Model } from './model.js';
import type { TaskRow } from './tables.js';

/** State of a machine that is there again. */
function stateWhenSeen(state: MachineState | undefined): MachineState {
  const step = nextMachineStep(state, { kind: 'seen', hostIsInactive: false });
  return step.kind === 'enter' ? step.state : state!;
}

/** A machine appeared or changed. */
export function seen({ tables }: Model, machine: MachineSnapshot): void {
  const { slaveId, rackId } = machine;
  tables.racks.set(rackId, stateWhenSeen(tables.racks.get(rackId)));
  tables.machines.set(slaveId, { machine: { ...machine }, state: stateWhenSeen(tables.machines.get(slaveId)?.state) });
}

/** Confirmed gone, and its rack with it when no other machine there is active. */
export function gone({ tables }: Model, slaveId: string): void {
  const row = tables.machines.get(slaveId);
  if (!row) return;
  tables.machines.set(slaveId, { ...row, state: 'DEAD' });
  const { rackId } = row.machine;
  const others = [...tables.machines.values()].filter(({ machine }) => machine.rackId === rackId);
  if (!others.some(({ state }) => state === 'ACTIVE')) tables.racks.set(rackId, 'DEAD');
}

/** False: it may not go there. */
export function changeMachine(model: Model, slaveId: string, to: MachineState): boolean {
  const { tables } = model;
  const row = tables.machines.get(slaveId);
  if (!row || judgeStateChange(row.state, to) !== 'CHANGED') return false;
  tables.machines.set(slaveId, { ...row, state: to });
  if (isDecommissioning(row.state) && to === 'ACTIVE') keepTasks(model, slaveId);
  return true;
}

/**
 * Orders of a decommission that was cancelled are taken back, unless the task is being killed or is replaced already.
 * Placements decided before are decided again: they may be of replacements that are not needed now.
 */
function keepTasks({ tables, now }: Model, slaveId: string): void {
  const kept = tasksOn(tables, slaveId).filter(
    (task) =>
      tables.cleanups.get(task.taskId.id)?.cleanupType === 'DECOMISSIONING' &&
      !tables.kills.has(task.taskId.id) &&
      !isReplaced(tables, task),
  );
  for (const { taskId } of kept) tables.cleanups.delete(taskId.id);
  // Each deploy on its own: tasks of a deploy in progress may be among them.
  for (const { taskId } of kept) {
    const { requestId, deployId } = taskId;
    tables.enqueue({ requestId, deployId, timestamp: now(), pendingType: 'DECOMISSIONED_SLAVE_OR_RACK' });
  }
  for (const requestId of new Set(kept.map(({ taskId }) => taskId.requestId))) {
    const stored = tables.requests.get(requestId);
    if (stored) tables.save(stored);
  }
}

const isReplaced = (tables: Model['tables'], { taskId }: TaskRow): boolean =>
  tables
    .tasksOf(taskId.requestId)
    .some(
      (other) =>
        other.taskId.deployId === taskId.deployId &&
        other.taskId.instanceNo === taskId.instanceNo &&
        !tables.cleanups.has(other.taskId.id) &&
        !tables.kills.has(other.taskId.id),
    );

/** Replacements are asked for. */
function replace(tables: Model['tables'], tasks: readonly TaskRow[], now: number): void {
  for (const requestId of new Set(tasks.map(({ taskId }) => taskId.requestId))) {
    const stored = tables.requests.get(requestId);
    const deployId = stored?.activeDeployId ?? stored?.pendingDeployId;
    if (deployId === undefined) continue;
    tables.enqueue({ requestId, deployId, timestamp: now, pendingType: 'DECOMISSIONED_SLAVE_OR_RACK' });
  }
}

/** Tasks leave the machines that are being emptied. */
export function decommission({ tables, now }: Model): void {
  for (const [slaveId, row] of tables.machines) {
    const tasks = tasksOn(tables, slaveId);
    if (row.state === 'DECOMMISSIONING' && tasks.length === 0) {
      tables.machines.set(slaveId, { ...row, state: 'DECOMMISSIONED' });
    }
    if (row.state !== 'STARTING_DECOMMISSION') continue;
    tables.machines.set(slaveId, { ...row, state: tasks.length > 0 ? 'DECOMMISSIONING' : 'DECOMMISSIONED' });
    for (const { taskId } of tasks) tables.order({ taskId, cleanupType: 'DECOMISSIONING', timestamp: now() });
    replace(tables, tasks, now());
  }
}

export const tasksOn = (tables: Model['tables'], slaveId: string): TaskRow[] =>
  [...tables.tasks.values()].filter((task) => task.slaveId === slaveId && task.endedAt === undefined);
