import type { HealthSettings, ObservedTask } from '../health/index.js';
import type { Deploy, DeployMarker, DeployProgress, DeployResult } from '../model/deploy.js';
import { isTerminal, type DeployState, type RequestState, type TaskCleanupType } from '../model/enums.js';
import type { Request } from '../model/request.js';
import type { DeployBalance, DeployEnding } from './balance.js';

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
}

/** Everything one look at a deploy in progress needs. */
export interface DeployView {
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
  cancel?: { user?: string; requestedAt: number };
  /** The number of new tasks somebody asked for since the last look. */
  updateTargetInstances?: number;
  /** What the load balancer was asked for last in this deploy. */
  balance?: DeployBalance;
  /** It is decided that the deploy ends without success; the load balancer takes the old tasks back first. */
  ending?: DeployEnding;
  hasLoadBalancer: boolean;
  /** Names of the checks that accept a step of a canary deploy. */
  acceptanceChecks: readonly string[];
  /** All live tasks of the request, of this deploy and of others, ended ones included. */
  tasks: readonly DeployTask[];
  /** Pending tasks of this deploy, or at least one when an entry of the pending queue will make some. */
  queuedTasks: number;
  settings: DeploySettings;
}

/** The request as the deploy sees it. */
export const effectiveRequest = (view: DeployView): Request | undefined => view.updatedRequest ?? view.request;
export const instancesOf = (request: Request | undefined): number => request?.instances ?? 1;

const isNew = (view: DeployView, task: DeployTask): boolean => task.taskId.deployId === view.marker.deployId;
const isActive = (task: DeployTask): boolean => !isTerminal(task.state);

/** Running or about to, of this deploy. */
export const newActive = (view: DeployView): DeployTask[] =>
  view.tasks.filter((task) => isNew(view, task) && isActive(task));
/** Of any other deploy, cleaning ones included. */
export const otherActive = (view: DeployView): DeployTask[] =>
  view.tasks.filter((task) => !isNew(view, task) && isActive(task));
export const newEnded = (view: DeployView): DeployTask[] =>
  view.tasks.filter((task) => isNew(view, task) && !isActive(task));

/** Still counts on: nobody has ordered it to go. */
export const isStaying = (task: DeployTask): boolean => task.cleanup === undefined && !task.killed;

/** How a deploy ended. */
export type DeployOutcome = Pick<DeployResult, 'deployState' | 'message' | 'deployFailures'>;
