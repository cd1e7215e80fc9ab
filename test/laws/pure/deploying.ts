import { finishDeploy, nextDeployStep, type DeployTask, type DeploySnapshot } from '../../../src/core/deploys/index.js';
import type { PendingType } from '../../../src/core/model/enums.js';
import type { StoredPendingDeploy } from '../../../src/modules/deploys/deploy.repository.js';
import { cleaningType, watched } from './cleaning.js';
import type { Model } from './model.js';
import { moveToHistory } from './status.js';
import type { TaskRow } from './tables.js';

/** Every deploy in progress makes one step. */
export function stepDeploys(model: Model): void {
  for (const requestId of [...model.tables.pendingDeploys.keys()].toSorted()) stepDeploy(model, requestId);
}

function stepDeploy(model: Model, requestId: string): void {
  const { tables, anyOrder } = model;
  const now = model.now();
  const pending = tables.pendingDeploys.get(requestId)!;
  const view = deployView(model, pending);
  const step = anyOrder.decide(
    'deploy',
    view,
    (rows, mixed) => ({ ...rows, tasks: mixed(rows.tasks) }),
    (rows) => nextDeployStep(rows, now),
  );
  const enqueue = (deployId: string, pendingType: PendingType = 'NEXT_DEPLOY_STEP') =>
    tables.enqueue({ requestId, deployId, timestamp: now, pendingType });
  switch (step.kind) {
    case 'wait':
      if (step.scheduleMissing) enqueue(pending.deployId);
      return;
    case 'proceed':
      tables.save(tables.requests.get(requestId)!);
      tables.pendingDeploys.set(requestId, { ...pending, state: 'WAITING', progress: step.progress });
      if (step.schedule.includes('NEW')) enqueue(pending.deployId);
      if (step.schedule.includes('OLD') && view.activeDeployId) enqueue(view.activeDeployId);
      for (const taskId of step.retire) tables.order({ taskId, cleanupType: 'DEPLOY_STEP_FINISHED', timestamp: now });
      return;
    case 'finish':
      finish(model, view, step.outcome);
  }
}

function finish(model: Model, view: DeploySnapshot, outcome: Parameters<typeof finishDeploy>[1]): void {
  const { tables } = model;
  const now = model.now();
  const { requestId, deployId } = view.marker;
  const around = { pendingTaskCount: tables.pendingOf(requestId).length, newRunId: () => `run of ${deployId}` };
  const plan = finishDeploy(view, outcome, around, now);
  const stored = tables.requests.get(requestId);
  if (stored && plan.request) {
    const { document, state, activeDeployId, endBounce } = plan.request;
    tables.save({
      ...stored,
      request: document,
      state,
      changedAt: now,
      activeDeployId,
      pendingDeployId: undefined,
      bouncing: stored.bouncing && !endBounce,
    });
  }
  tables.pendingDeploys.delete(requestId);
  if (plan.dropOtherPendingTasks) {
    tables.dropPending(
      (task) => task.pendingTaskId.requestId === requestId && task.pendingTaskId.deployId !== deployId,
    );
  }
  for (const cleanup of plan.cleanups) tables.order(cleanup, true);
  for (const entry of plan.pendingRequests) tables.enqueue(entry);
  moveToHistory(model);
}

function deployView({ tables, settings }: Model, pending: StoredPendingDeploy): DeploySnapshot {
  const { requestId, deployId } = pending;
  const stored = tables.requests.get(requestId);
  const isOfDeploy = (key: { requestId: string; deployId: string }) =>
    key.requestId === requestId && key.deployId === deployId;
  const isQueued = [...tables.queue.values()].some(isOfDeploy);
  const waiting = tables.pendingOf(requestId).filter(({ pendingTaskId }) => isOfDeploy(pendingTaskId)).length;
  return {
    request: stored?.request,
    requestState: stored?.state ?? 'MISSING',
    updatedRequest: pending.updatedRequest,
    marker: { requestId, deployId, timestamp: 0 },
    deploy: tables.deploys.get(`${requestId}-${deployId}`),
    state: pending.state,
    progress: pending.progress,
    hasLoadBalancer: false,
    acceptanceChecks: [],
    activeDeployId: stored?.activeDeployId,
    activeDeploy: tables.deploys.get(`${requestId}-${stored?.activeDeployId}`),
    activeGraceMillis: settings.hardKillAfterMillis,
    cancel: pending.cancel,
    tasks: tables.tasksOf(requestId, true).map((task): DeployTask => deployTask(tables, task)),
    queuedTasks: isQueued ? Number.POSITIVE_INFINITY : waiting,
    settings,
  };
}

const deployTask = (tables: Model['tables'], task: TaskRow): DeployTask => ({
  ...watched(task),
  cleanup:
    tables.cleanups.get(task.taskId.id)?.cleanupType ?? (task.endedAt === undefined ? undefined : cleaningType(task)),
  killed: tables.kills.has(task.taskId.id),
  statusReason: task.updates.find(({ state }) => state === task.state)?.reason,
});
