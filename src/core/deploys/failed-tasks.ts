import { explainFailures, type HealthContext } from '../health/index.js';
import type { TaskCleanupType } from '../model/enums.js';
import { unsuccessful } from './outcomes.js';
import { newEnded, type DeployOutcome, type DeployTask, type DeployView } from './view.js';

/**
 * New tasks that the scheduler itself took away and replaces: a lowered target, a machine being emptied, a bounce. They
 * say nothing about the deploy.
 */
const removedOnPurpose: ReadonlySet<TaskCleanupType> = new Set<TaskCleanupType>([
  'SCALING_DOWN',
  'DECOMISSIONING',
  'DECOMMISSION_TIMEOUT',
  'BOUNCING',
  'INCREMENTAL_BOUNCE',
  'USER_REQUESTED_TASK_BOUNCE',
  'REBALANCE_RACKS',
  'REBALANCE_SLAVE_ATTRIBUTES',
  'REBALANCE_CPU_USAGE',
  'REBALANCE_MEMORY_USAGE',
]);

/** Tasks of the deploy that ended although they should run. */
export const failedTasks = (view: DeployView): DeployTask[] =>
  newEnded(view).filter((task) => task.cleanup === undefined || !removedOnPurpose.has(task.cleanup));

export type FailureVerdict =
  | { kind: 'none' }
  /** Fewer than the deploy allows: these are remembered and replaced. */
  | { kind: 'retry'; failed: DeployTask[] }
  | { kind: 'fail'; outcome: DeployOutcome };

/** What follows from the tasks that ended since the last look. */
export function judgeFailures(view: DeployView, context: HealthContext, now: number): FailureVerdict {
  const failed = failedTasks(view);
  const known = new Set(view.progress?.failedDeployTasks.map((taskId) => taskId.id));
  if (failed.every((task) => known.has(task.taskId.id))) return { kind: 'none' };
  const maxRetries = context.deploy.maxTaskRetries ?? view.settings.defaultDeployMaxTaskRetries;
  const counted = failed.filter((task) => !isLostWithItsMachine(task));
  if (maxRetries > 0 && counted.length <= maxRetries) return { kind: 'retry', failed };
  const beyond = Math.max(counted.length - maxRetries, 1);
  const allowance = maxRetries > 0 ? ` beyond the ${maxRetries} allowed retries` : '';
  const message = `${beyond} task${beyond === 1 ? '' : 's'} of the deploy failed${allowance}`;
  return { kind: 'fail', outcome: unsuccessful('FAILED', message, explainFailures(failed, context, now)) };
}

/** The machine's fault, not the task's. */
const isLostWithItsMachine = (task: DeployTask): boolean =>
  task.state === 'TASK_LOST' && !task.statusReason?.startsWith('REASON_CONTAINER');
