import { isAlwaysRunning, isLongRunning, isRunnable, type RequestState, type TaskState } from '../model/enums.js';
import type { Request } from '../model/request.js';
import type { PendingRequest, PendingTask, TaskId } from '../model/task.js';
import { isFailingFast, type CooldownRules } from '../cooldown/index.js';
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
}

/** Runs that were lost with their machine are run again as they were. */
const relaunchReasons: ReadonlySet<string> = new Set([
  'REASON_INVALID_OFFERS',
  'REASON_AGENT_REMOVED',
  'REASON_AGENT_RESTARTED',
  'REASON_AGENT_UNKNOWN',
  'REASON_MASTER_DISCONNECTED',
  'REASON_AGENT_DISCONNECTED',
]);

/** `request` undefined: it was deleted meanwhile. */
export function completeTask(
  task: EndedTask,
  request: RequestOfTask | undefined,
  counts: DeployCounts,
  cooldown: CooldownRules,
  now: number,
): Completion {
  const requestType = request?.request.requestType ?? 'ON_DEMAND';
  const next = request && nextEntry(task, request, counts, now);
  const sequentialRetries = next?.isRetry
    ? counts.numSequentialRetries + 1
    : next?.isRelaunch
      ? counts.numSequentialRetries
      : 0;
  return {
    counts: countEnd(counts, task, requestType, sequentialRetries),
    enqueue: next?.entry,
    cooldown: request && next?.judged ? cooldownChange(task, request, counts, cooldown, now) : undefined,
  };
}

interface NextEntry {
  entry?: PendingRequest;
  isRetry?: boolean;
  isRelaunch?: boolean;
  /** Its deploy is in charge, so that its end says something about the request. */
  judged: boolean;
}

function nextEntry(task: EndedTask, request: RequestOfTask, counts: DeployCounts, now: number): NextEntry {
  if (!isRunnable(request.state)) return { judged: false };
  const deployId = request.activeDeployId;
  const ofActiveDeploy = deployId === task.taskId.deployId;
  const { requestType } = request.request;
  const relaunch = relaunchEntry(task, request, now);
  if (relaunch) return { entry: relaunch, isRelaunch: true, judged: ofActiveDeploy };
  const retries = deployId !== undefined && mayRetry(task, request.request, counts);
  // The deploy in progress replaces its own tasks; tasks of former deploys are not wanted any more.
  if (!ofActiveDeploy && !retries) return { judged: false };
  if (retries) return { entry: runAgain(task, deployId, now), isRetry: true, judged: true };
  if (!isAlwaysRunning(requestType)) return { judged: true };
  const { requestId } = task.taskId;
  return {
    entry: { requestId, deployId: task.taskId.deployId, timestamp: now, pendingType: 'TASK_DONE' },
    judged: true,
  };
}

/** A lost run goes on as it was: of its own deploy while that is in use, and no earlier than it was to start. */
function relaunchEntry(task: EndedTask, request: RequestOfTask, now: number): PendingRequest | undefined {
  const isLost = task.state === 'TASK_LOST' && relaunchReasons.has(task.reason ?? '');
  if (!isLost || isLongRunning(request.request.requestType) || wasStoppedOnPurpose(task)) return undefined;
  const { deployId: own } = task.taskId;
  const deployId = own === request.pendingDeployId ? own : request.activeDeployId;
  if (deployId === undefined) return undefined;
  return { ...runAgain(task, deployId, now), runAt: task.pendingTask.pendingTaskId.nextRunAt };
}

function mayRetry(task: EndedTask, request: Request, counts: DeployCounts): boolean {
  if (task.state === 'TASK_FINISHED') return false;
  if (request.numRetriesOnFailure === undefined) return false;
  if (counts.numSequentialRetries >= request.numRetriesOnFailure) return false;
  const { requestType } = request;
  if (requestType === 'SCHEDULED' && task.pendingTask.pendingTaskId.pendingType === 'IMMEDIATE') return false;
  return !(requestType === 'ON_DEMAND' && wasStoppedOnPurpose(task));
}

const wasStoppedOnPurpose = ({ cleaningText = '' }: EndedTask): boolean =>
  cleaningText.includes('USER_REQUESTED') || cleaningText.includes('PAUSE');

/** The same run once more, with everything that was asked for it. */
function runAgain({ taskId, pendingTask }: EndedTask, deployId: string, now: number): PendingRequest {
  const { pendingTaskId: _, ...asked } = pendingTask;
  return { ...asked, requestId: taskId.requestId, deployId, timestamp: now, pendingType: 'RETRY' };
}

function cooldownChange(
  task: EndedTask,
  { request, state }: RequestOfTask,
  counts: DeployCounts,
  rules: CooldownRules,
  now: number,
): 'ENTER' | 'LEAVE' | undefined {
  const succeeded = task.state === 'TASK_FINISHED';
  if (state === 'SYSTEM_COOLDOWN') return succeeded && !isLongRunning(request.requestType) ? 'LEAVE' : undefined;
  if (state !== 'ACTIVE' || !isAlwaysRunning(request.requestType)) return undefined;
  if (succeeded || task.state === 'TASK_KILLED' || task.reason === 'REASON_INVALID_OFFERS') return undefined;
  const failures = [...counts.failureEvents.map((event) => event.timestamp), task.endedAt];
  return isFailingFast(failures, rules, now) ? 'ENTER' : undefined;
}
