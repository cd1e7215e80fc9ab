import { isTerminal } from '../model/enums.js';
import { checksDecide, passed, type HealthContext, type ObservedTask } from './observed-task.js';
import { healthcheckTimings, healthyAfterRunningMillis, type HealthcheckTimings } from './timings.js';

export type HealthVerdict = 'HEALTHY' | 'WAITING' | 'UNHEALTHY';

/**
 * The verdict on a set of tasks of one deploy that must be healthy together. One unhealthy task decides, then one that
 * has to be waited for; the order of the tasks never does.
 */
export function judgeTasks(tasks: readonly ObservedTask[], context: HealthContext, now: number): HealthVerdict {
  const judge = checksDecide(tasks, context) ? judgeByChecks : judgeByRunningTime;
  const verdicts = tasks.map((task) => judge(task, context, now));
  if (verdicts.includes('UNHEALTHY')) return 'UNHEALTHY';
  return verdicts.includes('WAITING') ? 'WAITING' : 'HEALTHY';
}

/** The verdict on one task, whatever the others of its deploy do. */
export const judgeTask = (task: ObservedTask, context: HealthContext, now: number): HealthVerdict =>
  judgeTasks([task], context, now);

function judgeByRunningTime(task: ObservedTask, { deploy, settings }: HealthContext, now: number): HealthVerdict {
  if (isTerminal(task.state)) return 'UNHEALTHY';
  if (task.runningAt === undefined) return 'WAITING';
  const enough = healthyAfterRunningMillis(deploy, settings);
  return enough < 1 || now - task.runningAt >= enough ? 'HEALTHY' : 'WAITING';
}

function judgeByChecks(task: ObservedTask, context: HealthContext, now: number): HealthVerdict {
  if (isTerminal(task.state)) return 'UNHEALTHY';
  if (task.runningAt === undefined) return 'WAITING';
  if (isExcused(task, context)) return 'HEALTHY';
  if (!task.lastResult) return 'WAITING';
  if (passed(task.lastResult)) return 'HEALTHY';
  return checkFailure(task, context, now) ? 'UNHEALTHY' : 'WAITING';
}

/** Counts as healthy as soon as it runs: nobody asks it, or the executor checks it by itself before it reports running. */
export const isExcused = (task: ObservedTask, { deploy }: HealthContext): boolean =>
  deploy.skipHealthchecksOnDeploy === true ||
  task.skippedByRequest ||
  deploy.healthcheck?.healthcheckResultFilePath !== undefined;

/** Why no further check can save a task whose last check failed; undefined: another check may. */
export type CheckFailure = 'FAILURE_STATUS_CODE' | 'STARTUP_TIMEOUT' | 'RETRIES_USED_UP' | 'TOTAL_TIMEOUT';

export function checkFailure(task: ObservedTask, context: HealthContext, now: number): CheckFailure | undefined {
  const { lastResult, runningAt } = task;
  const options = context.deploy.healthcheck;
  if (!options || !lastResult || runningAt === undefined || passed(lastResult)) return undefined;
  const timings = healthcheckTimings(options, context.settings);
  const runningMillis = now - runningAt;
  if (isFailureStatus(lastResult.statusCode, timings)) return 'FAILURE_STATUS_CODE';
  if (lastResult.startup && runningMillis > timings.startupTimeoutMillis) return 'STARTUP_TIMEOUT';
  if (timings.maxRetries !== undefined && task.checksCounted > timings.maxRetries) return 'RETRIES_USED_UP';
  return context.deployPending && runningMillis > timings.totalMillis ? 'TOTAL_TIMEOUT' : undefined;
}

const isFailureStatus = (statusCode: number | undefined, timings: HealthcheckTimings): boolean =>
  statusCode !== undefined && timings.failureStatusCodes.includes(statusCode);
