import { explainFailures, type HealthContext } from '../health/index.js';
import type { TaskCleanupType } from '../model/enums.js';
import { type DeployTask, type DeploySnapshot, newEnded, unsuccessful } from './view.js';
import { type DeployOutcome } from './outcome.js';

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
export const failedTasks = (view: DeploySnapshot): DeployTask[] =>
  newEnded(view).filter((task) => task.cleanup === undefined || !removedOnPurpose.has(task.cleanup));

type FailureVerdict =
  | { kind: 'none' }
  /** Fewer than the deploy allows: these are remembered and replaced. */
  | { kind: 'retry'; failed: DeployTask[] }
  | { kind: 'fail'; outcome: DeployOutcome };

/** Judges the tasks that ended since the last check. */
export function judgeFailures(view: DeploySnapshot, context: HealthContext, now: number): FailureVerdict {
  const failed = failedTasks(view);
  const known = new Set(view.progress?.failedDeployTasks.map((taskId) => taskId.id));
  const unknown = failed.filter((task) => !known.has(task.taskId.id));
  if (unknown.length === 0) return { kind: 'none' };
  const allowed = allowance(view, context, failed, unknown);
  if (allowed.most > 0 && allowed.counted <= allowed.most) return { kind: 'retry', failed };
  const beyond = Math.max(allowed.counted - allowed.most, 1);
  const text = allowed.most > 0 ? ` beyond the ${allowed.most} ${allowed.name}` : '';
  const message = `${beyond} task${beyond === 1 ? '' : 's'} of the deploy failed${text}`;
  return { kind: 'fail', outcome: unsuccessful('FAILED', message, explainFailures(failed, context, now)) };
}

/** A canary deploy forgives so many per group; another one so many in all, those lost with their machine not counted. */
function allowance(
  { settings }: DeploySnapshot,
  { deploy }: HealthContext,
  failed: readonly DeployTask[],
  unknown: readonly DeployTask[],
): { most: number; counted: number; name: string } {
  const canary = deploy.canaryDeploySettings;
  if (canary) {
    return { most: canary.allowedTasksFailuresPerGroup, counted: unknown.length, name: 'allowed in a group' };
  }
  const counted = failed.filter((task) => !isLostWithItsMachine(task)).length;
  return { most: deploy.maxTaskRetries ?? settings.defaultDeployMaxTaskRetries, counted, name: 'allowed retries' };
}

/** The machine's fault, not the task's. */
const isLostWithItsMachine = (task: DeployTask): boolean =>
  task.state === 'TASK_LOST' && !task.statusReason?.startsWith('REASON_CONTAINER');
