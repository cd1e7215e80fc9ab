import { isTerminal } from '../model/enums.js';
import type { DeployFailure } from '../model/deploy.js';
import { checkFailure, type CheckFailure } from './judge.js';
import { checksDecide, passed, type HealthContext, type ObservedTask } from './observed-task.js';
import { deployHealthTimeoutMillis, healthcheckTimings } from './timings.js';

/** What is wrong with a task of a deploy that failed or ran out of time; undefined: nothing is wrong with this one. */
export function explainFailure(task: ObservedTask, context: HealthContext, now: number): DeployFailure | undefined {
  const { taskId, lastResult } = task;
  if (isTerminal(task.state)) return explainEnd(task);
  if (task.runningAt === undefined) {
    const message = `Task never reached TASK_RUNNING, its last status is ${task.state}`;
    return { reason: 'TASK_NEVER_ENTERED_RUNNING', taskId, message };
  }
  if (checksDecide([task], context) && lastResult) {
    if (passed(lastResult)) return undefined;
    const failure = checkFailure(task, context, now);
    if (failure) return failedChecks(task, explainCheck[failure](task, context, now));
  }
  return explainSlowness(task, context, now);
}

export const explainFailures = (tasks: readonly ObservedTask[], context: HealthContext, now: number): DeployFailure[] =>
  tasks.flatMap((task) => explainFailure(task, context, now) ?? []);

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
    ? healthcheckTimings(byChecks, settings).totalMillis
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
