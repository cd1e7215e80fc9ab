import { decideRequestCleanup } from '../cleanup/index.js';
import type { RequestState } from '../model/enums.js';
import type { Request } from '../model/request.js';
import type { PendingRequest } from '../model/task.js';
import { drain, type WaitingRequest, type WorkRules } from '../pending-work/index.js';
import { shrink, stateAfterUpdate } from '../requests/changes.js';
import { asActive, type PlannedStep, type PlannedStop, type PlanTask } from './fit.js';

/** Another number of instances, and what it would find. */
export interface ScaleToPlan {
  /** As stored, with the deploys that count. */
  waiting: WaitingRequest;
  /** With the new number of instances. */
  next: Request;
  /** A bounce comes along. */
  bounce?: { incremental: boolean };
  /** Active tasks of the request. */
  tasks: readonly PlanTask[];
  /** The cooldown condition holds. */
  failingFast: boolean;
  rules: WorkRules;
}

/** Tasks that a scale starts, and those that it removes. */
export function planScale(planned: ScaleToPlan, now: number): PlannedStep {
  const { waiting, next, bounce } = planned;
  const deployId = waiting.activeDeployId ?? waiting.pendingDeploy?.deployId;
  const step: PlannedStep = { start: [], stop: surplus(planned) };
  if (deployId === undefined) return step;
  const scaled = { ...waiting, request: next, state: stateAfterUpdate(waiting.state, true) };
  const entry: PendingRequest = { requestId: next.id, deployId, timestamp: now, pendingType: 'UPDATED_REQUEST' };
  if (!bounce) return follow(planned, scaled, entry, step, now);
  const bounced = bounceOf(planned, scaled.state, { ...entry, incremental: bounce.incremental }, now);
  step.stop.push(...bounced.filter(({ taskId }) => !isIn(step.stop, taskId.id)));
  return follow(planned, scaled, { ...entry, pendingType: 'BOUNCE' }, step, now);
}

const isIn = (stops: readonly PlannedStop[], id: string): boolean => stops.some(({ taskId }) => taskId.id === id);

/** Tasks that have to go already keep the reason they have. */
function surplus({ waiting, next, tasks, rules }: ScaleToPlan): PlannedStop[] {
  const active = tasks.filter(({ taskId }) => taskId.deployId === waiting.activeDeployId);
  const cleanups = shrink(waiting.request, next, active.map(asActive), rules);
  return cleanups.map(({ taskId, cleanupType }) => ({ taskId, cleanupType }));
}

function bounceOf(
  { tasks }: ScaleToPlan,
  requestState: RequestState,
  { requestId, deployId, incremental }: PendingRequest & { incremental: boolean },
  now: number,
): PlannedStop[] {
  const cleanupType = incremental ? 'INCREMENTAL_BOUNCE' : 'BOUNCE';
  const view = { requestState, deploying: false, tasks, settings: { defaultValueForKillTasksOfPausedRequests: true } };
  const bounce = decideRequestCleanup({ requestId, deployId, cleanupType, timestamp: now }, view, now);
  if (bounce.kind !== 'bounce') return [];
  const cleaning = new Set(tasks.filter(({ cleanup }) => cleanup !== undefined).map(({ taskId }) => taskId.id));
  return bounce.cleanups
    .filter(({ taskId }) => !cleaning.has(taskId.id))
    .map(({ taskId, cleanupType: type }) => ({ taskId, cleanupType: type }));
}

/** Applies the decision of the queue about the entry that the scale creates. */
function follow(
  { tasks, failingFast, rules }: ScaleToPlan,
  request: WaitingRequest,
  entry: PendingRequest,
  step: PlannedStep,
  now: number,
): PlannedStep {
  const types = new Map(step.stop.map(({ taskId, cleanupType }) => [taskId.id, cleanupType]));
  const left = tasks.map((task) => asActive({ ...task, cleanup: types.get(task.taskId.id) ?? task.cleanup }));
  const { deployId } = entry;
  const work = {
    request,
    deployId,
    entries: [entry],
    tasks: left,
    pendingTaskIds: new Set<string>(),
    runWaits: false,
    failingFast,
  };
  const { create, cleanups } = drain(work, rules, now);
  const stop = [...step.stop, ...cleanups.map(({ taskId, cleanupType }) => ({ taskId, cleanupType }))];
  return { start: create, stop };
}
