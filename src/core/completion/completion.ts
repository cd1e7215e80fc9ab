import { isAlwaysRunning, isRunnable, type RequestState, type TaskState } from '../model/enums.js';
import type { Request } from '../model/request.js';
import type { PendingRequest, PendingTask, TaskId } from '../model/task.js';
import type { CooldownRules } from '../cooldown/index.js';
import { cooldownChange } from './cooldown-change.js';
import { relaunch, retry } from './retries.js';
import { countEnd, type DeployCounts } from './statistics.js';

/** A task whose end was just recorded for the first time. */
export interface EndedTask {
  taskId: TaskId;
  state: TaskState;
  endedAt: number;
  message?: string;
  reason?: string;
  /** Text of its TASK_CLEANING update, when it had to go. */
  cleaningText?: string;
  /** What it was launched for. */
  pendingTask: PendingTask;
}

export interface RequestOfTask {
  request: Request;
  state: RequestState;
  activeDeployId?: string;
  pendingDeployId?: string;
}

/** What the end of a task leads to. */
export interface Completion {
  counts: DeployCounts;
  /** Entry for the pending queue. */
  enqueue?: PendingRequest;
  cooldown?: 'ENTER' | 'LEAVE';
  /** The load balancer may still send traffic where it was. Of a request that is gone nobody can tell any more. */
  leavesLoadBalancer: boolean;
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
  const next: NextStep = request ? nextStep(task, request, counts, now) : { kind: 'nothing' };
  return {
    counts: countEnd(counts, task, requestType, sequentialRetries(next, counts)),
    enqueue: next.kind === 'nothing' ? undefined : next.entry,
    cooldown:
      request && isJudged(task, request, next) ? cooldownChange(task, request, counts, cooldown, now) : undefined,
    leavesLoadBalancer: request === undefined || request.request.loadBalanced === true,
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

function nextStep(task: EndedTask, request: RequestOfTask, counts: DeployCounts, now: number): NextStep {
  if (!isRunnable(request.state)) return { kind: 'nothing' };
  const relaunched = relaunch(task, request, now);
  if (relaunched) return { kind: 'relaunch', entry: relaunched };
  const retried = retry(task, request, counts, now);
  if (retried) return { kind: 'retry', entry: retried };
  // The deploy in progress replaces its own tasks; tasks of former deploys are not wanted any more.
  if (!isOfActiveDeploy(task, request)) return { kind: 'nothing' };
  if (!isAlwaysRunning(request.request.requestType)) return { kind: 'nothing' };
  const { requestId, deployId } = task.taskId;
  return { kind: 'goOn', entry: { requestId, deployId, timestamp: now, pendingType: 'TASK_DONE' } };
}

/** Retries in a row. A relaunch is none, and ends no row either. */
function sequentialRetries({ kind }: NextStep, { numSequentialRetries }: DeployCounts): number {
  if (kind === 'relaunch') return numSequentialRetries;
  return kind === 'retry' ? numSequentialRetries + 1 : 0;
}

/** Whether its end says something about the request: its deploy is in charge, or it is tried again by the one that is. */
const isJudged = (task: EndedTask, request: RequestOfTask, { kind }: NextStep): boolean =>
  kind === 'retry' || (isRunnable(request.state) && isOfActiveDeploy(task, request));

const isOfActiveDeploy = ({ taskId }: EndedTask, { activeDeployId }: RequestOfTask): boolean =>
  taskId.deployId === activeDeployId;
