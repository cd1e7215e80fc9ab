import { cooldownChange } from './cooldown.js';
import { isRelaunched, isUndelivered, type EndedTask, type RequestOfTask } from './ended-task.js';
import type { CooldownRules } from './cooldown.js';
import { failedRunsAfter } from './failed-runs.js';
import { allowsRetry, retryDelayMillis, retryPolicyOf } from './retry-policy.js';
import { skippedRuns } from './skipped-runs.js';
import { countEnd, type DeployCounts } from './statistics.js';
import { isAlwaysRunning, isRunnable, type TaskCleanupType } from '../model/enums.js';
import { isBesideSchedule } from '../pending-work/index.js';
import { type PendingRequest, waitsUntil } from '../model/task.js';

/** Consequences of the end of a task. */
export interface Completion {
  counts: DeployCounts;
  /** Entry for the pending queue. */
  enqueue?: PendingRequest;
  cooldown?: 'ENTER' | 'LEAVE';
  /** So many of its runs failed in a row that the request is paused. */
  pauses: boolean;
  /** The load balancer may still send traffic where it was. Of a request that is gone it cannot be told any more. */
  leavesLoadBalancer: boolean;
  next: NextStep['kind'];
}

/** `request` undefined: it was deleted meanwhile. */
export function completeTask(
  task: EndedTask,
  request: RequestOfTask | undefined,
  counts: DeployCounts,
  cooldown: CooldownRules,
  now: number,
): Completion {
  const requestType = request?.request.requestType ?? 'ON_DEMAND';
  const next: NextStep = request ? nextStep(task, request, now) : { kind: 'nothing' };
  const planned = request && (next.kind === 'goOn' || next.kind === 'retry') ? request : undefined;
  const skipped = planned ? skippedRuns(task, planned, now) : 0;
  // That its machine was silent was counted, and nothing has happened since.
  const isJudgedAlready = isUndelivered(task);
  const runsAgain = next.kind === 'relaunch' || next.kind === 'retry';
  const { failedRuns = 0 } = counts;
  const failed = request ? failedRunsAfter(task, request, runsAgain, failedRuns) : { failedRuns, pauses: false };
  return {
    counts: isJudgedAlready
      ? { ...counts, lastTaskState: task.state }
      : {
          ...countEnd(counts, task, requestType, sequentialRetries(task, next, counts), skipped),
          ...(failed.failedRuns !== failedRuns && { failedRuns: failed.failedRuns }),
        },
    // The end of the pause plans what comes next.
    enqueue: next.kind === 'nothing' || failed.pauses ? undefined : next.entry,
    pauses: failed.pauses,
    cooldown:
      request && !failed.pauses && !isJudgedAlready && isJudged(task, request, next)
        ? cooldownChange(task, request, counts, cooldown, now)
        : undefined,
    leavesLoadBalancer: request === undefined || request.request.loadBalanced === true,
    next: failed.pauses ? 'nothing' : next.kind,
  };
}

type NextStep =
  | { kind: 'nothing' }
  /** It was lost and goes on as it was. */
  | { kind: 'relaunch'; entry: PendingRequest }
  /** It failed and may try again. */
  | { kind: 'retry'; entry: PendingRequest }
  /** The request wants its next task. */
  | { kind: 'goOn'; entry: PendingRequest };

function nextStep(task: EndedTask, request: RequestOfTask, now: number): NextStep {
  if (!isRunnable(request.state)) return { kind: 'nothing' };
  const relaunched = relaunch(task, request, now);
  if (relaunched) return { kind: 'relaunch', entry: relaunched };
  const retried = retry(task, request, now);
  if (retried) return { kind: 'retry', entry: retried };
  // The schedule goes on by its own runs, beside those for times of the past.
  if (isBesideSchedule(task.pendingTask.pendingTaskId)) return { kind: 'nothing' };
  // The deploy in progress replaces its own tasks; tasks of former deploys are not wanted any more.
  if (!isOfActiveDeploy(task, request)) return { kind: 'nothing' };
  if (!isAlwaysRunning(request.request.requestType)) return { kind: 'nothing' };
  const { requestId, deployId } = task.taskId;
  return { kind: 'goOn', entry: { requestId, deployId, timestamp: now, pendingType: 'TASK_DONE' } };
}

const retriesOf = ({ pendingTask }: EndedTask): number => pendingTask.retries ?? 0;

/** Retries of the run that ended last. A relaunch is none, and takes none away. For people: runs count their own. */
function sequentialRetries(task: EndedTask, { kind }: NextStep, { numSequentialRetries }: DeployCounts): number {
  if (kind === 'relaunch') return numSequentialRetries;
  return kind === 'retry' ? retriesOf(task) + 1 : 0;
}

/** True when the end says something about the request: its deploy is the active one, or the active one retries it. */
const isJudged = (task: EndedTask, request: RequestOfTask, { kind }: NextStep): boolean =>
  kind === 'retry' || (isRunnable(request.state) && isOfActiveDeploy(task, request));

const isOfActiveDeploy = ({ taskId }: EndedTask, { activeDeployId }: RequestOfTask): boolean =>
  taskId.deployId === activeDeployId;

/** A lost run goes on as it was: with the deploy in progress if that started it, and no earlier than it was to start. */
function relaunch(task: EndedTask, request: RequestOfTask, now: number): PendingRequest | undefined {
  if (!isRelaunched(task, request.request) || wasStoppedOnPurpose(task)) return undefined;
  const { deployId: own } = task.taskId;
  const deployId = own === request.pendingDeployId ? own : deployThatRunsAgain(task, request);
  if (deployId === undefined) return undefined;
  return { ...runAgain(task, deployId, now), runAt: waitsUntil(task.pendingTask.pendingTaskId) };
}

/** The active one; of a RUN_ONCE request each deploy has a run of its own, which no other deploy can make up for. */
const deployThatRunsAgain = ({ taskId }: EndedTask, { request, activeDeployId }: RequestOfTask): string | undefined =>
  request.requestType === 'RUN_ONCE' ? taskId.deployId : activeDeployId;

/**
 * A run that ended without success is tried again as often as the request allows. Each run carries its own count: others
 * that fail beside it, or succeed, neither use up its retries nor give it more.
 */
function retry(task: EndedTask, ofTask: RequestOfTask, now: number): PendingRequest | undefined {
  const { requestType } = ofTask.request;
  const policy = retryPolicyOf(ofTask.request);
  const deployId = deployThatRunsAgain(task, ofTask);
  if (task.state === 'TASK_FINISHED' || deployId === undefined) return undefined;
  const retries = retriesOf(task);
  if (retries >= policy.attempts || !allowsRetry(policy, task)) return undefined;
  // It may still run, and it comes back with its machine: there would be two of it.
  if (task.state === 'TASK_UNREACHABLE') return undefined;
  // The operator who ran the job out of turn sees that it failed; its next turn comes by itself.
  if (requestType === 'SCHEDULED' && task.pendingTask.pendingTaskId.pendingType === 'IMMEDIATE') return undefined;
  if (requestType === 'ON_DEMAND' && wasStoppedOnPurpose(task)) return undefined;
  if (task.cleanupType === 'REPLACED_BY_NEXT_RUN') return undefined;
  const delay = retryDelayMillis(policy, retries, task.taskId.id);
  return {
    ...runAgain(task, deployId, now),
    trigger: 'RETRY',
    attempt: retries + 2,
    retries: retries + 1,
    ...(delay > 0 && { runAt: task.endedAt + delay }),
  };
}

const stopsOnPurpose: ReadonlySet<TaskCleanupType> = new Set<TaskCleanupType>([
  'USER_REQUESTED',
  'USER_REQUESTED_TASK_BOUNCE',
  'USER_REQUESTED_DESTROY',
  'PAUSE',
  'REPLACED_BY_NEXT_RUN',
]);

function wasStoppedOnPurpose(task: EndedTask): boolean {
  const type = task.cleanupType;
  return type !== undefined && stopsOnPurpose.has(type);
}

/** Repeats a run with all its options. */
function runAgain({ taskId, pendingTask }: EndedTask, deployId: string, now: number): PendingRequest {
  const { pendingTaskId, buffered: _place, ...asked } = pendingTask;
  const pendingType = isBesideSchedule(pendingTaskId) ? pendingTaskId.pendingType : 'RETRY';
  return { ...asked, requestId: taskId.requestId, deployId, timestamp: now, pendingType };
}
