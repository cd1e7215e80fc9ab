import { isRelaunched, type RequestOfTask } from './ended-task.js';
import { isInProgress } from '../load-balancer/index.js';
import { isAlwaysRunning, isRunnable, isTerminal, type TaskState } from '../model/enums.js';
import type { LoadBalancerUpdate } from '../model/load-balancer.js';
import type { PendingRequest, TaskId } from '../model/task.js';

/** A task as the scheduler knows it when one of its statuses arrives. */
export interface KnownTask {
  state: TaskState;
  incarnation: string;
  ended: boolean;
  /** It has ended, and its machine has begun anew since: signs of its life only came late. */
  isOfFormerLife?: boolean;
}

export interface ReportedStatus {
  state: TaskState;
  message?: string;
  /** Incarnation of the machine that reports; undefined: the scheduler itself, which reports for any incarnation. */
  incarnation?: string;
}

/** Changes that follow from a reported status. */
export type StatusChange =
  /** Repeated, late or from a former life of the machine. */
  | { kind: 'ignore' }
  /** The scheduler does not want it to run (any more). */
  | { kind: 'kill' }
  /** It was given up although its end was not seen, and its machine tells what became of it: see decideRecovery and isReportedEndValid. */
  | { kind: 'recover' }
  /** It is still starting, and the message says what it waits for by now. */
  | { kind: 'retell' }
  /** advances: the task is in that state now; a late TASK_STARTING is only recorded, if it is not yet. */
  | { kind: 'record'; advances: boolean; ends: boolean };

const progress: Partial<Record<TaskState, number>> = {
  TASK_LAUNCHED: 0,
  TASK_STAGING: 1,
  TASK_STARTING: 2,
  TASK_RUNNING: 3,
  TASK_KILLING: 4,
};
/** All ends are as far as a task can get, and the first one wins. */
const rank = (state: TaskState): number => progress[state] ?? 5;

/** States that only the scheduler itself writes. */
const internal: ReadonlySet<TaskState> = new Set<TaskState>(['TASK_LAUNCHED', 'TASK_CLEANING']);

/** Ends that the machine saw happen. A task that ended so never lives again; all other ends were concluded from an absence. */
const witnessed: ReadonlySet<TaskState> = new Set<TaskState>(['TASK_FINISHED', 'TASK_FAILED', 'TASK_KILLED']);

const signsOfLife: ReadonlySet<TaskState> = new Set<TaskState>(['TASK_STAGING', 'TASK_STARTING', 'TASK_RUNNING']);

/** `task` undefined: its row is not live (any more). Times are not compared: the states themselves have an order. */
export function statusChange(task: KnownTask | undefined, reported: ReportedStatus): StatusChange {
  const ends = isTerminal(reported.state);
  if (internal.has(reported.state)) return { kind: 'ignore' };
  if (task === undefined) return ends ? { kind: 'ignore' } : { kind: 'kill' };
  const isOfNow = reported.incarnation === undefined || reported.incarnation === task.incarnation;
  if (task.ended) {
    const mayReturn = isOfNow && !witnessed.has(task.state);
    if (ends) return mayReturn && isTruerEnd(task, reported) ? { kind: 'recover' } : { kind: 'ignore' };
    return mayReturn && !task.isOfFormerLife && signsOfLife.has(reported.state)
      ? { kind: 'recover' }
      : { kind: 'kill' };
  }
  if (!isOfNow) return { kind: 'ignore' };
  if (reported.state === task.state)
    return { kind: reported.state === 'TASK_STARTING' && reported.message ? 'retell' : 'ignore' };
  return { kind: 'record', advances: rank(reported.state) > rank(task.state), ends };
}

/** A machine's own report of an end outweighs the end that was concluded from its silence. */
const isTruerEnd = (task: KnownTask, { state, incarnation }: ReportedStatus): boolean =>
  incarnation !== undefined &&
  state !== task.state &&
  (witnessed.has(state) || (task.state === 'TASK_UNREACHABLE' && isTerminal(state)));

/** The task after a report that changed it so. */
export function afterChange<T extends KnownTask>(task: T, { state }: ReportedStatus, change: StatusChange): T {
  return change.kind === 'record' && change.advances ? { ...task, state, ended: change.ends } : task;
}

/** Reports of a machine, in one batch, about a task that was given up. */
export interface TaskReturn<R> {
  /** The first report that says what became of it. */
  first: R;
  /** The end that follows: it is over by now. */
  end?: R;
}

/**
 * Judges reports that came together in their order, each against the state that the one before made: a task that began
 * and ended while its machine was not heard comes back, and ends as it ended. undefined: it does not come back.
 */
export function returnOf<R extends ReportedStatus>(task: KnownTask, reports: readonly R[]): TaskReturn<R> | undefined {
  const index = reports.findIndex((report) => statusChange(task, report).kind === 'recover');
  const first = reports[index];
  if (!task.ended || !first) return undefined;
  let back: KnownTask = { ...task, ended: false, state: isTerminal(first.state) ? 'TASK_LAUNCHED' : first.state };
  for (const report of reports.slice(index)) {
    back = afterChange(back, report, statusChange(back, report));
    if (back.ended) return { first, end: report };
  }
  return { first };
}

/** Last of its states before the end of a task was concluded. */
export const stateBeforeEnd = (states: readonly TaskState[]): TaskState =>
  states
    .filter((state) => progress[state] !== undefined)
    .reduce((a, b) => (rank(b) > rank(a) ? b : a), 'TASK_LAUNCHED');

/** Memory and disk limits of a task, in MB. */
export interface TaskLimits {
  memoryMb: number;
  diskMb: number;
}

/** The text of a status: what was reported, or else which limit ended the task, if one did. */
export function statusText(
  { message, reason }: { message?: string; reason?: string },
  { memoryMb, diskMb }: TaskLimits,
): string | undefined {
  if (message) return message;
  if (reason === 'REASON_CONTAINER_LIMITATION_MEMORY') {
    const disk = diskMb > 0 ? ` and ${diskMb} MB of disk` : '';
    return `Memory limit exceeded: the task may use ${memoryMb} MB of memory${disk}`;
  }
  if (reason === 'REASON_CONTAINER_LIMITATION_DISK')
    return `Disk limit exceeded: the task may use ${diskMb} MB of disk`;
  return undefined;
}

/** A task that was given up and is alive. Its row is still live: what has moved to the history never comes back. */
export interface RecoveredTask {
  taskId: TaskId;
  /** The end that was concluded. */
  end: { state: TaskState; reason?: string };
  /** It had been told to go before it was given up. */
  hadToGo: boolean;
  /** Entries of its history, the end among them. */
  updates: number;
  /** Another task of its deploy runs, and is healthy, under its instance number by now. */
  isReplaced?: boolean;
  /** Its concurrency group has no room for it any more. */
  groupIsFull?: boolean;
  /** Last answer of the load balancer about its removal, when that had begun. */
  removal?: LoadBalancerUpdate;
}

type RefusedBecause =
  | 'REQUEST_GONE'
  | 'REQUEST_NOT_RUNNABLE'
  | 'DEPLOY_NOT_ACTIVE'
  | 'HAD_TO_GO'
  | 'NO_STATUS_BEFORE_ITS_END'
  /** Its run was requested once more when this one was given up. */
  | 'RUNS_AGAIN'
  /** Its replacement is in service, and this one was lost for long. */
  | 'REPLACED'
  /** As many other runs of its concurrency group are active as may be. */
  | 'GROUP_IS_FULL';

interface Recovery {
  /** Reason why it cannot continue and is killed; absent: it continues as if nothing had happened. */
  killedBecause?: RefusedBecause;
  /** It goes on, but the load balancer is just letting go of it: it has to go as soon as it is replaced. */
  hasToGo: boolean;
  /** Its place was perhaps taken meanwhile: the request's tasks are counted again. */
  enqueue?: PendingRequest;
}

/**
 * True when the end that a machine reports replaces the one that was concluded. That its launch never came counts only
 * where nothing was ever heard of the task. One that came back and could not go on was killed for that alone, which
 * says nothing about its deploy; and what runs again goes its own way.
 */
export function isReportedEndValid(
  end: TaskState,
  given: Pick<RecoveredTask, 'end' | 'hadToGo'> & { hasBegun: boolean },
  request: RequestOfTask | undefined,
): boolean {
  if (end === 'TASK_DROPPED' && given.hasBegun) return false;
  if (end === 'TASK_KILLED' && !given.hadToGo) return false;
  return request === undefined || !isRelaunched(given.end, request.request);
}

/** Decides about a task that was thought dead and is alive. `request` undefined: it was deleted in the meantime. */
export function decideRecovery(task: RecoveredTask, request: RequestOfTask | undefined, now: number): Recovery {
  const killedBecause = whyNot(task, request);
  const hasToGo = killedBecause === undefined && task.removal !== undefined && isInProgress(task.removal);
  if (!request) return { killedBecause, hasToGo };
  // A job that is not repeated would start once more when it is counted while its task is being killed.
  const isCounted = killedBecause === undefined || isAlwaysRunning(request.request.requestType);
  const { requestId, deployId } = task.taskId;
  const entry: PendingRequest = { requestId, deployId, timestamp: now, pendingType: 'TASK_RECOVERED' };
  return { killedBecause, hasToGo, enqueue: isCounted ? entry : undefined };
}

function whyNot(task: RecoveredTask, request: RequestOfTask | undefined): RefusedBecause | undefined {
  if (!request) return 'REQUEST_GONE';
  if (!isRunnable(request.state)) return 'REQUEST_NOT_RUNNABLE';
  const { requestType } = request.request;
  // Runs of these are left to end by themselves when another deploy takes over: see the end of a deploy.
  const outlivesItsDeploy = requestType === 'ON_DEMAND' || requestType === 'RUN_ONCE';
  if (!outlivesItsDeploy && request.activeDeployId !== task.taskId.deployId) return 'DEPLOY_NOT_ACTIVE';
  if (task.hadToGo) return 'HAD_TO_GO';
  if (task.updates < 2) return 'NO_STATUS_BEFORE_ITS_END';
  if (isRelaunched(task.end, request.request)) return 'RUNS_AGAIN';
  // Runs of these may all have the same number.
  if (task.isReplaced && !outlivesItsDeploy) return 'REPLACED';
  return task.groupIsFull ? 'GROUP_IS_FULL' : undefined;
}
