import {
  killGraceMillis,
  cleanupTypeInText,
  decideKills,
  decideRequestCleanup,
  deploysInUse,
  isBounce,
  type CleanupTask,
  type CleanupView,
} from '../../../src/core/cleanup/index.js';
import type { TaskCleanupType } from '../../../src/core/model/enums.js';
import type { RequestCleanup } from '../../../src/core/model/request.js';
import type { TaskCleanup } from '../../../src/core/model/task.js';
import type { Model } from './model.js';
import type { TaskRow } from './tables.js';

/** Orders for requests and for tasks are carried out as far as they may be now. */
export function clean(model: Model): void {
  const { tables } = model;
  const ids = new Set([
    ...[...tables.requestCleanups.values()].map(({ requestId }) => requestId),
    ...[...tables.cleanups.values()].map(({ taskId }) => taskId.requestId),
    ...[...tables.requests.values()].filter(({ bouncing }) => bouncing).map(({ request }) => request.id),
  ]);
  for (const id of [...ids].toSorted()) cleanRequest(model, id);
  repeatKills(model);
}

function cleanRequest(model: Model, requestId: string): void {
  const { tables } = model;
  for (const order of tables.requestCleanupsOf(requestId)) if (carryOut(model, order) === 'GONE') return;
  cleanTasks(model, requestId);
  const stored = tables.requests.get(requestId);
  if (stored?.bouncing && !isBouncing(model, requestId)) tables.save({ ...stored, bouncing: false });
}

const orderKey = ({ requestId, cleanupType }: RequestCleanup): string => `${requestId} ${cleanupType}`;

function carryOut(model: Model, order: RequestCleanup): 'GONE' | 'STAYS' {
  const { tables, settings } = model;
  const { requestId } = order;
  const now = model.now();
  const stored = tables.requests.get(requestId);
  const step = decideRequestCleanup(
    order,
    {
      requestState: stored?.state,
      deploysInUse: stored && deploysInUse(stored),
      deploying: tables.pendingDeploys.has(requestId),
      tasks: tables.tasksOf(requestId).map(({ taskId, state }) => ({
        taskId,
        state,
        cleanupType: tables.cleanups.get(taskId.id)?.cleanupType,
        killedFor: tables.kills.get(taskId.id)?.cleanupType,
      })),
      settings,
    },
    now,
  );
  switch (step.kind) {
    case 'wait':
      return 'STAYS';
    case 'drop':
      tables.requestCleanups.delete(orderKey(order));
      return 'STAYS';
    case 'remove':
      removeRequest(model, requestId);
      return 'GONE';
    case 'clean':
      if (step.dropPendingTasks) tables.dropPending(({ pendingTaskId }) => pendingTaskId.requestId === requestId);
      for (const cleanup of step.cleanups) tables.order(cleanup, step.overwrite);
      if (step.done) tables.requestCleanups.delete(orderKey(order));
      return 'STAYS';
    case 'bounce':
      for (const cleanup of step.cleanups) tables.order(cleanup);
      tables.enqueue(step.queue);
      tables.requestCleanups.delete(orderKey(order));
      return 'STAYS';
  }
}

function removeRequest({ tables }: Model, requestId: string): void {
  for (const [key, entry] of tables.queue) if (entry.requestId === requestId) tables.queue.delete(key);
  tables.dropPending(({ pendingTaskId }) => pendingTaskId.requestId === requestId);
  for (const order of tables.requestCleanupsOf(requestId)) tables.requestCleanups.delete(orderKey(order));
  tables.requests.delete(requestId);
}

function cleanTasks(model: Model, requestId: string): void {
  const { tables, anyOrder } = model;
  if (![...tables.cleanups.values()].some(({ taskId }) => taskId.requestId === requestId)) return;
  const now = model.now();
  const decisions = anyOrder.decide(
    'cleanup',
    cleanupView(model, requestId),
    (view, mixed) => ({ ...view, tasks: mixed(view.tasks) }),
    (view) => decideKills(view, now).toSorted((a, b) => (a.cleanup.taskId.id < b.cleanup.taskId.id ? -1 : 1)),
  );
  for (const { kind, cleanup } of decisions) {
    if (kind === 'kill') kill(model, cleanup);
    if (kind !== 'wait') tables.cleanups.delete(cleanup.taskId.id);
  }
}

function cleanupView({ tables, settings }: Model, requestId: string): CleanupView {
  const stored = tables.requests.get(requestId);
  const tasks = tables.tasksOf(requestId, true);
  const inUse = [stored?.activeDeployId, stored?.pendingDeployId].filter((id) => id !== undefined);
  const ids = new Set([...tasks.map(({ taskId }) => taskId.deployId), ...inUse]);
  return {
    request: stored?.request,
    requestState: stored?.state,
    activeDeployId: stored?.activeDeployId,
    pendingDeployId: stored?.pendingDeployId,
    deploys: new Map([...ids].map((id) => [id, tables.deploys.get(`${requestId}-${id}`)!])),
    tasks: tasks.map((task): CleanupTask => ({
      ...watched(task),
      cleanup: tables.cleanups.get(task.taskId.id),
      mayRun: task.mayRun,
      killed: tables.kills.has(task.taskId.id),
    })),
    settings,
  };
}

/** Simulated tasks have no health checks: how far they came is all there is to see. */
export const watched = ({ taskId, state, runningAt }: TaskRow) => ({
  taskId,
  state,
  runningAt,
  launchedWithSkip: false,
  skippedByRequest: false,
  checksCounted: 0,
});

function kill({ tables, settings, now }: Model, { taskId, cleanupType }: TaskCleanup): void {
  const former = tables.kills.get(taskId.id);
  const grace = killGraceMillis(cleanupType, undefined, {
    killGraceMillis: settings.hardKillAfterMillis,
  });
  tables.kills.set(taskId.id, {
    taskId: taskId.id,
    cleanupType,
    killedAt: now(),
    graceMillis: Math.min(grace, former?.graceMillis ?? grace),
    sent: false,
  });
}

function repeatKills({ tables, settings, now }: Model): void {
  const before = now() - settings.askDriverToKillTasksAgainAfterMillis;
  for (const [id, order] of tables.kills) {
    if (order.killedAt < before) tables.kills.set(id, { ...order, killedAt: now(), sent: false });
  }
}

/** True if tasks still have to go because of a bounce, or an order for one waits. */
function isBouncing({ tables }: Model, requestId: string): boolean {
  const waits = tables.requestCleanupsOf(requestId).some(({ cleanupType }) => cleanupType.endsWith('BOUNCE'));
  return waits || tables.tasksOf(requestId).some((task) => hasToGo(tables, task) && isBounce(cleaningType(task)));
}

const hasToGo = ({ cleanups, kills }: Model['tables'], { taskId }: TaskRow): boolean =>
  cleanups.has(taskId.id) || kills.has(taskId.id);

export const cleaningType = ({ updates }: TaskRow): TaskCleanupType | undefined =>
  cleanupTypeInText(updates.find(({ state }) => state === 'TASK_CLEANING')?.message);
