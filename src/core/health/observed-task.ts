import type { Deploy } from '../model/deploy.js';
import type { TaskState } from '../model/enums.js';
import type { TaskHealthcheckResult, TaskId } from '../model/task.js';

/** A task as its health is judged: how far it came, and what its checks said. Times in epoch milliseconds. */
export interface ObservedTask {
  taskId: TaskId;
  /** Newest status; TASK_CLEANING never stands here. */
  state: TaskState;
  /** Text of the newest status, if it had one. */
  statusMessage?: string;
  /** When TASK_RUNNING was reached; absent: never. */
  runningAt?: number;
  /** Launched by an action that asked to skip health checks for its tasks. */
  launchedWithSkip: boolean;
  /** Its request skipped health checks when the task was launched or began to run; that stays so after the skip ends. */
  skippedByRequest: boolean;
  lastResult?: TaskHealthcheckResult;
  /** Stored results that are not refused connections, passed ones included. */
  checksCounted: number;
}

/** What the health of the tasks of one deploy depends on besides the tasks. */
export interface HealthContext {
  deploy: Deploy;
  /** The deploy is in progress. */
  deployPending: boolean;
  /** The request skips health checks now. */
  requestSkips: boolean;
  settings: HealthSettings;
}

/** The settings that fill in what a deploy leaves open. */
export interface HealthSettings {
  healthcheckIntervalSeconds: number;
  healthcheckTimeoutSeconds: number;
  startupTimeoutSeconds: number;
  startupIntervalSeconds: number;
  startupDelaySeconds?: number | undefined;
  /** Absent: any number of attempts. */
  healthcheckMaxRetries?: number | undefined;
  healthcheckFailureStatusCodes: readonly number[];
  considerTaskHealthyAfterRunningForSeconds: number;
  deployHealthyBySeconds: number;
  /** Operators switched health checks off: what runs counts as healthy after its time. */
  healthchecksDisabled?: boolean;
}

export const passed = (result: TaskHealthcheckResult): boolean =>
  result.errorMessage === undefined &&
  result.statusCode !== undefined &&
  result.statusCode >= 200 &&
  result.statusCode < 300;

/** Whether results of checks decide about the health of these tasks; otherwise the time they have been running does. */
export const checksDecide = (tasks: readonly ObservedTask[], context: HealthContext): boolean =>
  context.deploy.healthcheck !== undefined &&
  !(context.deployPending && context.deploy.skipHealthchecksOnDeploy === true) &&
  !context.requestSkips &&
  !context.settings.healthchecksDisabled &&
  !tasks.some((task) => task.launchedWithSkip);
