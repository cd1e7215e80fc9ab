import {
  deployHealthTimeoutMillis,
  healthcheckTimings,
  type HealthcheckTimings,
  healthyAfterRunningMillis,
  type HealthSettings,
} from './timings.js';
import type { Deploy, DeployFailure } from '../model/deploy.js';
import { isMainOver, type TaskState } from '../model/enums.js';
import type { Request } from '../model/request.js';
import type { TaskHealthcheckResult, TaskId } from '../model/task.js';

/** A task as its health is judged: how far it came, and what its checks said. Times in epoch milliseconds. */
export interface ObservedTask {
  taskId: TaskId;
  /** Newest status; TASK_CLEANING never stands here. */
  state: TaskState;
  /** Text of the newest status, if it had one. */
  statusMessage?: string;
  /** From when its limits run, where a clock that was ahead started it. */
  countsSince?: number;
  /** Time of TASK_RUNNING; absent: never. */
  runningAt?: number;
  /** Launched by an action that asked to skip health checks for its tasks. */
  launchedWithSkip: boolean;
  /** Its request skipped health checks when the task was launched or began to run; that stays so after the skip ends. */
  skippedByRequest: boolean;
  lastResult?: TaskHealthcheckResult;
  /** Stored results that are not refused connections, passed ones included. */
  checksCounted: number;
  /** It was healthy, and fails its liveness checks since. Deploys do not ask: their own checks decide. */
  isSick?: boolean;
}

/** Inputs of the health of a deploy's tasks besides the tasks. */
export interface HealthContext {
  deploy: Deploy;
  /** The deploy is in progress. */
  deployPending: boolean;
  /** The request skips health checks now. */
  requestSkips: boolean;
  settings: HealthSettings;
}

/** The one way to put it together, so that lists of tasks, checks, deploys and cleanups agree. */
export const healthContext = (
  deploy: Deploy,
  request: Pick<Request, 'skipHealthchecks'> | undefined,
  deployPending: boolean,
  settings: HealthSettings,
): HealthContext => ({ deploy, deployPending, requestSkips: request?.skipHealthchecks === true, settings });

/** From when its limits run. */
export const countsSince = (task: ObservedTask): number => task.countsSince ?? task.taskId.startedAt;

export const passed = (result: TaskHealthcheckResult): boolean =>
  result.errorMessage === undefined &&
  result.statusCode !== undefined &&
  result.statusCode >= 200 &&
  result.statusCode < 300;

/** True when results of checks decide about the health of these tasks; otherwise the time they have been running does. */
export const checksDecide = (tasks: readonly ObservedTask[], context: HealthContext): boolean =>
  context.deploy.healthcheck !== undefined &&
  !(context.deployPending && context.deploy.skipHealthchecksOnDeploy === true) &&
  !context.requestSkips &&
  !context.settings.healthchecksDisabled &&
  !tasks.some((task) => task.launchedWithSkip);

type HealthVerdict = 'HEALTHY' | 'WAITING' | 'UNHEALTHY';

/**
 * The verdict on a set of tasks of one deploy that must be healthy together. One unhealthy task decides, then one that
 * has to be waited for; the order of the tasks never does.
 */
export function judgeTasks(tasks: readonly ObservedTask[], context: HealthContext, now: number): HealthVerdict {
  const judge = judgeOf(tasks, context);
  const verdicts = tasks.map((task) => judge(task, context, now));
  if (verdicts.includes('UNHEALTHY')) return 'UNHEALTHY';
  return verdicts.includes('WAITING') ? 'WAITING' : 'HEALTHY';
}

const judgeOf = (tasks: readonly ObservedTask[], context: HealthContext) =>
  checksDecide(tasks, context) ? judgeByChecks : judgeByRunningTime;

/** The verdict on one task, whatever the others of its deploy do. */
export const judgeTask = (task: ObservedTask, context: HealthContext, now: number): HealthVerdict =>
  judgeTasks([task], context, now);

/** Healthy, and not sick since: it does its work, and replaces others. Deploys ask judgeTask. */
export const isWell = (task: ObservedTask, context: HealthContext, now: number): boolean =>
  !task.isSick && judgeTask(task, context, now) === 'HEALTHY';

function judgeByRunningTime(task: ObservedTask, { deploy, settings }: HealthContext, now: number): HealthVerdict {
  if (isMainOver(task.state)) return 'UNHEALTHY';
  if (task.runningAt === undefined) return 'WAITING';
  const enough = healthyAfterRunningMillis(deploy, settings);
  return enough < 1 || now - task.runningAt >= enough ? 'HEALTHY' : 'WAITING';
}

function judgeByChecks(task: ObservedTask, context: HealthContext, now: number): HealthVerdict {
  if (isMainOver(task.state)) return 'UNHEALTHY';
  if (task.runningAt === undefined) return 'WAITING';
  if (isExcused(task, context)) return 'HEALTHY';
  if (!task.lastResult) return 'WAITING';
  if (passed(task.lastResult)) return 'HEALTHY';
  return checkFailure(task, context, now) ? 'UNHEALTHY' : 'WAITING';
}

/** Counts as healthy as soon as it runs: it is not asked, or the executor checks it by itself before it reports running. */
export const isExcused = (task: ObservedTask, { deploy }: HealthContext): boolean =>
  deploy.skipHealthchecksOnDeploy === true ||
  task.skippedByRequest ||
  deploy.healthcheck?.healthcheckResultFilePath !== undefined;

/** Reason why no further check can save a task whose last check failed; undefined: another check may. */
type CheckFailure = 'FAILURE_STATUS_CODE' | 'STARTUP_TIMEOUT' | 'RETRIES_USED_UP' | 'TOTAL_TIMEOUT';

export function checkFailure(task: ObservedTask, context: HealthContext, now: number): CheckFailure | undefined {
  const { lastResult, runningAt } = task;
  const options = context.deploy.healthcheck;
  if (!options || !lastResult || runningAt === undefined || passed(lastResult)) return undefined;
  const timings = healthcheckTimings(options, context.settings, context.deploy.healthcheckMaxTotalTimeoutSeconds);
  const runningMillis = now - runningAt;
  if (isFailureStatus(lastResult.statusCode, timings)) return 'FAILURE_STATUS_CODE';
  if (lastResult.startup && runningMillis > timings.startupTimeoutMillis) return 'STARTUP_TIMEOUT';
  if (timings.maxRetries !== undefined && task.checksCounted > timings.maxRetries) return 'RETRIES_USED_UP';
  return context.deployPending && runningMillis > timings.totalMillis ? 'TOTAL_TIMEOUT' : undefined;
}

const isFailureStatus = (statusCode: number | undefined, timings: HealthcheckTimings): boolean =>
  statusCode !== undefined && timings.failureStatusCodes.includes(statusCode);

/** Failure of a task whose deploy failed or ran out of time; undefined: this task is not the cause. */
export function explainFailure(task: ObservedTask, context: HealthContext, now: number): DeployFailure | undefined {
  if (judgeTask(task, context, now) === 'HEALTHY') return undefined;
  const { taskId, lastResult } = task;
  if (isMainOver(task.state)) return explainEnd(task);
  if (task.runningAt === undefined) {
    const message = `Task never reached TASK_RUNNING, its last status is ${task.state}`;
    return { reason: 'TASK_NEVER_ENTERED_RUNNING', taskId, message };
  }
  if (checksDecide([task], context) && lastResult) {
    const failure = checkFailure(task, context, now);
    if (failure) return failedChecks(task, explainCheck[failure](task, context, now));
  }
  return explainSlowness(task, context, now);
}

/**
 * Failures of tasks that must be healthy together. A healthy one is never named, however long the others keep it
 * waiting.
 */
export function explainFailures(tasks: readonly ObservedTask[], context: HealthContext, now: number): DeployFailure[] {
  const judge = judgeOf(tasks, context);
  const sick = tasks.filter((task) => judge(task, context, now) !== 'HEALTHY');
  return sick.flatMap((task) => explainFailure(task, context, now) ?? []);
}

function explainEnd({ taskId, state, statusMessage }: ObservedTask): DeployFailure {
  if (state !== 'TASK_FINISHED') {
    const message = statusMessage ?? `Task ended as ${state} before its deploy was healthy`;
    return { reason: 'TASK_FAILED_ON_STARTUP', taskId, message };
  }
  const said = statusMessage ? `: ${statusMessage}` : '';
  return { reason: 'TASK_EXPECTED_RUNNING_FINISHED', taskId, message: `Task should keep running but finished${said}` };
}

/** It ran, and no check condemned it: then it is named only when it had more time than a healthy one needs. */
function explainSlowness(task: ObservedTask, context: HealthContext, now: number): DeployFailure | undefined {
  const { deploy, settings } = context;
  const byChecks = checksDecide([task], context) && deploy.healthcheck;
  const allowed = byChecks
    ? healthcheckTimings(byChecks, settings, deploy.healthcheckMaxTotalTimeoutSeconds).totalMillis
    : deployHealthTimeoutMillis(deploy, settings);
  if (now - task.runningAt! <= allowed) return undefined;
  return failedChecks(task, `Task ran for ${runningTime(task, now)} without becoming healthy (${lastAnswer(task)})`);
}

const explainCheck: Record<CheckFailure, (task: ObservedTask, context: HealthContext, now: number) => string> = {
  FAILURE_STATUS_CODE: (task) =>
    `Instance ${task.taskId.instanceNo} answered its health check with status ${task.lastResult!.statusCode}, which fails it at once`,
  STARTUP_TIMEOUT: (task, _context, now) =>
    `Instance ${task.taskId.instanceNo} still refused connections after running for ${runningTime(task, now)}`,
  RETRIES_USED_UP: (task, { deploy, settings }) =>
    `Instance ${task.taskId.instanceNo} failed ${healthcheckTimings(deploy.healthcheck!, settings).maxRetries! + 1} health check attempts (${lastAnswer(task)})`,
  TOTAL_TIMEOUT: (task, _context, now) =>
    `Instance ${task.taskId.instanceNo} failed its health checks for ${runningTime(task, now)} (${lastAnswer(task)})`,
};

const failedChecks = ({ taskId }: ObservedTask, message: string): DeployFailure => ({
  reason: 'TASK_FAILED_HEALTH_CHECKS',
  taskId,
  message,
});

const runningTime = (task: ObservedTask, now: number): string => `${Math.round((now - task.runningAt!) / 1000)} s`;

function lastAnswer({ lastResult }: ObservedTask): string {
  if (!lastResult) return 'no health check result';
  if (lastResult.statusCode !== undefined) return `last status ${lastResult.statusCode}`;
  return `last error: ${lastResult.errorMessage ?? 'none'}`;
}
