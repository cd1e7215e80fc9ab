import { isFailingFast } from '../../../src/core/completion/index.js';
import { promisedTypes } from '../../../src/core/model/enums.js';
import { groupBy } from '../../../src/core/group-by.js';
import { drain, type ActiveTask, type PendingWork } from '../../../src/core/pending-work/index.js';
import type { PendingRequest } from '../../../src/core/model/task.js';
import { cooldownRules, workRules } from '../../../src/scheduler/rules.js';
import { storedSlaves, type Model } from './model.js';
import type { TaskRow } from './tables.js';

/** Entries of the queue become pending tasks; each request and deploy on its own. */
export function drainQueue(model: Model): void {
  const { tables } = model;
  const entries = groupBy([...tables.queue], ([, entry]) => `${entry.requestId} ${entry.deployId}`);
  for (const waiting of entries.values()) drainDeploy(model, waiting);
}

function drainDeploy(model: Model, waiting: readonly [string, PendingRequest][]): void {
  const { tables, settings, anyOrder } = model;
  const now = model.now();
  const ordered = waiting.toSorted(([, a], [, b]) => a.timestamp - b.timestamp);
  const { requestId, deployId } = ordered[0]![1];
  const stored = tables.requests.get(requestId);
  const failures = tables.countsOf(`${requestId}-${deployId}`).failureEvents.map(({ timestamp }) => timestamp);
  const work: PendingWork = {
    request: stored && { ...stored, pendingDeploy: tables.pendingDeploys.get(requestId) },
    deployId,
    entries: ordered.map(([, entry]) => entry),
    tasks: tables.tasksOf(requestId).map((task) => activeTask(model, task)),
    pendingTaskIds: new Set(tables.pendingOf(requestId).map(({ pendingTaskId }) => pendingTaskId.id)),
    runWaits: tables
      .pendingOf(requestId)
      .some(({ pendingTaskId: id }) => id.deployId === deployId && promisedTypes.includes(id.pendingType)),
    failingFast: stored?.state === 'SYSTEM_COOLDOWN' && isFailingFast(failures, cooldownRules(settings), now),
  };
  const rules = workRules(settings, storedSlaves(model));
  const decision = anyOrder.decide(
    'drain',
    work,
    (rows, mixed) => ({ ...rows, tasks: mixed(rows.tasks) }),
    (rows) => drain(rows, rules, now),
  );
  ordered.forEach(([key], index) => {
    const { kind } = decision.outcomes[index]!;
    if (kind !== 'hold' && kind !== 'later') tables.queue.delete(key);
  });
  if (decision.replacesPendingTasks) {
    tables.dropPending(
      (task) => task.pendingTaskId.requestId === requestId && task.pendingTaskId.deployId === deployId,
    );
  }
  for (const task of decision.create) tables.pendingTasks.set(task.pendingTaskId.id, task);
  for (const cleanup of decision.cleanups) tables.order({ ...cleanup, timestamp: now });
  if (!stored) return;
  if (decision.leavesCooldown) tables.save({ ...stored, state: 'ACTIVE', changedAt: now });
  if (decision.finishes) tables.save({ ...stored, state: 'FINISHED', changedAt: now });
}

const activeTask = ({ tables }: Model, { taskId, slaveId, rackId }: TaskRow): ActiveTask => ({
  taskId,
  slaveId,
  rackId,
  cleaning: tables.cleanups.get(taskId.id)?.cleanupType,
  killed: tables.kills.has(taskId.id),
});
