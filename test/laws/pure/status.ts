import type { StatusUpdate } from '../../../src/cluster/cluster-driver.js';
import { completeTask, mayRunAfter, statusChange } from '../../../src/core/completion/index.js';
import { isTerminal } from '../../../src/core/model/enums.js';
import type { Report } from '../../../src/scheduler/status/report.js';
import { cooldownRules } from '../../../src/scheduler/rules.js';
import type { Model } from './model.js';
import type { TaskRow } from './tables.js';
import { cleaningType } from './cleaning.js';

/** Updates of one agent, each applied once. Answers the tasks that run although they are not wanted. */
export function applyUpdates(model: Model, updates: readonly StatusUpdate[]): Report[] {
  const [first] = updates;
  if (!first) return [];
  const cursor = model.tables.cursors.get(first.agentId);
  const fresh = updates
    .filter(({ incarnation, number }) => cursor?.incarnation !== incarnation || number > cursor.number)
    .toSorted((a, b) => a.number - b.number);
  const last = fresh.at(-1);
  if (last) model.tables.cursors.set(first.agentId, { incarnation: last.incarnation, number: last.number });
  return applyReports(model, fresh);
}

export function applyReports(model: Model, reports: readonly Report[]): Report[] {
  return reports.filter((report) => {
    const task = model.tables.tasks.get(report.taskId);
    const known = task && {
      ...task,
      ended: task.endedAt !== undefined,
      isOfFormerLife:
        task.endedAt !== undefined && model.tables.machines.get(task.slaveId)?.machine.incarnation !== task.incarnation,
      recorded: new Set(task.updates.map(({ state }) => state)),
    };
    const change = statusChange(known, report);
    if (task && known) task.mayRun = mayRunAfter(known, report);
    if (change.kind === 'record' && task) record(model, task, report, change);
    return change.kind === 'kill';
  });
}

function record(
  model: Model,
  task: TaskRow,
  { state, timestamp, message, reason }: Report,
  change: { advances: boolean; ends: boolean },
): void {
  task.updates.push({ state, at: timestamp, message, reason });
  if (change.advances) task.state = state;
  if (state === 'TASK_RUNNING') task.runningAt = timestamp;
  if (!change.ends) return;
  task.endedAt = timestamp;
  complete(model, task, message, reason);
  model.tables.cleanups.delete(task.taskId.id);
  model.tables.kills.delete(task.taskId.id);
  moveToHistory(model);
}

function complete(model: Model, task: TaskRow, message?: string, reason?: string): void {
  const { tables, settings } = model;
  const { taskId, state, pendingTask } = task;
  const key = `${taskId.requestId}-${taskId.deployId}`;
  const stored = tables.requests.get(taskId.requestId);
  const ended = {
    taskId,
    state,
    endedAt: task.endedAt!,
    message,
    reason,
    hadToGo: task.updates.some((update) => update.state === 'TASK_CLEANING'),
    cleanupType: cleaningType(task),
    pendingTask,
  };
  const now = model.now();
  const { counts, enqueue, cooldown } = completeTask(ended, stored, tables.countsOf(key), cooldownRules(settings), now);
  tables.saveCounts(key, counts);
  if (enqueue) tables.enqueue(enqueue);
  if (stored && cooldown) {
    tables.save({ ...stored, state: cooldown === 'ENTER' ? 'SYSTEM_COOLDOWN' : 'ACTIVE', changedAt: now });
  }
}

/** A deploy in progress still looks at its ended tasks. */
export function moveToHistory({ tables }: Model): void {
  for (const [id, task] of tables.tasks) {
    if (!isTerminal(task.state) || task.endedAt === undefined) continue;
    const { requestId, deployId } = task.taskId;
    if (tables.pendingDeploys.get(requestId)?.deployId === deployId) continue;
    if (task.mayRun && isOldFirstInUse(tables, task)) continue;
    tables.tasks.delete(id);
    tables.ended.push(task);
  }
}

/** What may still run counts for deploys that end old tasks first. */
function isOldFirstInUse(tables: Model['tables'], { taskId: { requestId, deployId } }: TaskRow): boolean {
  const used = [
    deployId,
    tables.requests.get(requestId)?.activeDeployId,
    tables.pendingDeploys.get(requestId)?.deployId,
  ];
  return used.some((id) => tables.deploys.get(`${requestId}-${id}`)?.deployStrategy === 'OLD_FIRST');
}

/** What was given up on a machine that began anew does not run any more. */
export function confirmGone(model: Model, slaveId: string, incarnation: string): void {
  for (const task of model.tables.tasks.values())
    if (task.slaveId === slaveId && task.incarnation !== incarnation) task.mayRun = false;
  moveToHistory(model);
}

/** The scheduler's own conclusion about tasks of a machine that is not what it was. */
export const lost = (task: TaskRow, timestamp: number, reason: string): Report => ({
  taskId: task.taskId.id,
  slaveId: task.slaveId,
  timestamp,
  state: 'TASK_LOST',
  reason,
});
