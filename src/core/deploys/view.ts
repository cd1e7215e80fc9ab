import type { DeployBalance, DeployEnding } from './balance.js';
import type { HealthSettings, ObservedTask } from '../health/index.js';
import type { BalancerRecords } from '../load-balancer/index.js';
import type { Deploy, DeployFailure, DeployMarker, DeployProgress } from '../model/deploy.js';
import { type DeployState, isRunnable, isTerminal, type RequestState, type TaskCleanupType } from '../model/enums.js';
import type { GateRow } from '../model/gate.js';
import type { Request } from '../model/request.js';
import type { TaskId } from '../model/task.js';
import type { DeployOutcome } from './outcome.js';

export interface DeploySettings extends HealthSettings {
  defaultDeployStepWaitTimeMs: number;
  defaultDeployMaxTaskRetries: number;
  allowDeployOfPausedRequests: boolean;
}

/** A live task of the request whose deploy is in progress. */
export interface DeployTask extends ObservedTask {
  /** Type of its cleanup, also when the task has ended since. */
  cleanup?: TaskCleanupType;
  killed: boolean;
  /** REASON_... of its newest status. */
  statusReason?: string;
  /** What the load balancer was told of it; read where old tasks end first. */
  balancing?: BalancerRecords;
}

/** Everything one look at a deploy in progress needs. */
export interface DeploySnapshot {
  /** As stored; undefined when it was removed meanwhile. */
  request?: Request;
  /** MISSING: the request was removed. */
  requestState: RequestState | 'MISSING';
  /** Takes the place of the request when the deploy succeeds, and counts as the request until then. */
  updatedRequest?: Request;
  marker: DeployMarker;
  /** undefined: its data is gone. */
  deploy?: Deploy;
  /** WAITING, or CANCELING while the load balancer is asked to forget what it was told. */
  state: DeployState;
  /** Only of requests whose tasks roll out with their deploy. */
  progress?: DeployProgress;
  /** The deploy that serves until this one succeeds. */
  activeDeployId?: string;
  /** Its data, and the milliseconds that its tasks may take to end; looked at where old tasks end first. */
  activeDeploy?: Deploy;
  activeGraceMillis?: number;
  cancel?: { user?: string; requestedAt: number };
  /** The number of new tasks an operator asked for since the last look. */
  updateTargetInstances?: number;
  /** Last change of the load balancer in this deploy. */
  balance?: DeployBalance;
  /** It is decided that the deploy ends without success; the load balancer takes the old tasks back first. */
  ending?: DeployEnding;
  hasLoadBalancer: boolean;
  /** Names of the checks that accept a step of a canary deploy. */
  acceptanceChecks: readonly string[];
  /** Gates that were opened after its present step, of a deploy that has gates. */
  gates?: readonly GateRow[];
  /** All live tasks of the request, of this deploy and of others, ended ones included. */
  tasks: readonly DeployTask[];
  /** Pending tasks of this deploy, or at least one when an entry of the pending queue will make some. */
  queuedTasks: number;
  settings: DeploySettings;
}

/** The request as the deploy sees it. */
export const effectiveRequest = (view: DeploySnapshot): Request | undefined => view.updatedRequest ?? view.request;

const isNew = (view: DeploySnapshot, task: DeployTask): boolean => task.taskId.deployId === view.marker.deployId;
const isActive = (task: DeployTask): boolean => !isTerminal(task.state);

/** Running or about to, of this deploy. */
export const newActive = (view: DeploySnapshot): DeployTask[] =>
  view.tasks.filter((task) => isNew(view, task) && isActive(task));
/** Active tasks of any other deploy, cleaning ones included. */
export const otherActive = (view: DeploySnapshot): DeployTask[] =>
  view.tasks.filter((task) => !isNew(view, task) && isActive(task));
export const newEnded = (view: DeploySnapshot): DeployTask[] =>
  view.tasks.filter((task) => isNew(view, task) && !isActive(task));

/** Still counts: it was not ordered to go. */
export const isStaying = (task: DeployTask): boolean => task.cleanup === undefined && !task.killed;

/** The state of the request lets a deploy go on. */
export const mayDeploy = ({ requestState, settings }: DeploySnapshot): boolean =>
  requestState !== 'MISSING' &&
  (isRunnable(requestState) ||
    requestState === 'FINISHED' ||
    (requestState === 'PAUSED' && settings.allowDeployOfPausedRequests));

/** All old tasks but `keep`; those that have to go anyway first, then by instance number. */
export function oldTasksToRetire(view: DeploySnapshot, keep: number): TaskId[] {
  const old = otherActive(view).sort(
    (a, b) =>
      Number(isStaying(a)) - Number(isStaying(b)) ||
      a.taskId.instanceNo - b.taskId.instanceNo ||
      a.taskId.startedAt - b.taskId.startedAt,
  );
  return old.slice(0, Math.max(old.length - keep, 0)).map((task) => task.taskId);
}

/** Tasks of `taskIds` that run and may stay. */
export function oldTasksStaying(view: DeploySnapshot, taskIds: readonly TaskId[]): TaskId[] {
  const asked = new Set(taskIds.map(({ id }) => id));
  return otherActive(view)
    .filter((task) => isStaying(task) && asked.has(task.taskId.id))
    .map((task) => task.taskId);
}

export const succeeded = (message?: string): DeployOutcome => ({
  deployState: 'SUCCEEDED',
  message,
  deployFailures: [],
});

/**
 * A deploy that did not make it. A single failure that belongs to no task says all there is to say, so its text becomes
 * the message.
 */
export function unsuccessful(
  deployState: 'FAILED' | 'OVERDUE' | 'CANCELED' | 'FAILED_INTERNAL_STATE',
  message: string | undefined,
  failures: readonly DeployFailure[] = [],
): DeployOutcome {
  const [first] = failures;
  if (failures.length === 1 && first && !first.taskId) {
    return { deployState, message: first.message ?? message, deployFailures: [] };
  }
  return { deployState, message, deployFailures: [...failures] };
}

export function canceled({ cancel }: DeploySnapshot): DeployOutcome {
  const by = cancel?.user ? ` by ${cancel.user}` : '';
  const message = `Canceled${by} at ${new Date(cancel!.requestedAt).toISOString()}`;
  return { deployState: 'CANCELED', message, deployFailures: [] };
}
