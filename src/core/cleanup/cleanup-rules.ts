import { graceMillis, type GraceRules } from '../launch/index.js';
import type { Deploy } from '../model/deploy.js';
import { taskCleanupTypes, type TaskCleanupType } from '../model/enums.js';

interface CleanupRule {
  /** Killed without waiting for anything, for SERVICE and WORKER requests. */
  longRunningAtOnce: boolean;
  /** Kills instances of the other types of requests at once. */
  othersAtOnce: boolean;
  /** SIGKILL instead of SIGTERM and a grace. */
  forced: boolean;
}

const atOnce: CleanupRule = { longRunningAtOnce: true, othersAtOnce: true, forced: false };
const forced: CleanupRule = { ...atOnce, forced: true };
/** Jobs are left to end by themselves, up to the age limit. */
const servicesAtOnce: CleanupRule = { longRunningAtOnce: true, othersAtOnce: false, forced: false };
const afterReplacement: CleanupRule = { longRunningAtOnce: false, othersAtOnce: false, forced: false };
const jobsAtOnce: CleanupRule = { longRunningAtOnce: false, othersAtOnce: true, forced: false };

export const cleanupRules: Record<TaskCleanupType, CleanupRule> = {
  BOUNCING: afterReplacement,
  INCREMENTAL_BOUNCE: afterReplacement,
  USER_REQUESTED: atOnce,
  USER_REQUESTED_TASK_BOUNCE: afterReplacement,
  USER_REQUESTED_DESTROY: forced,
  DECOMISSIONING: afterReplacement,
  DECOMMISSION_TIMEOUT: atOnce,
  SCALING_DOWN: servicesAtOnce,
  DEPLOY_STEP_FINISHED: servicesAtOnce,
  NEW_DEPLOY_SUCCEEDED: servicesAtOnce,
  DEPLOY_FAILED: atOnce,
  DEPLOY_CANCELED: atOnce,
  INCREMENTAL_DEPLOY_FAILED: jobsAtOnce,
  INCREMENTAL_DEPLOY_CANCELLED: jobsAtOnce,
  UNHEALTHY_NEW_TASK: atOnce,
  UNHEALTHY_TASK: afterReplacement,
  OVERDUE_NEW_TASK: atOnce,
  PAUSE: atOnce,
  PAUSING: afterReplacement,
  REQUEST_DELETING: atOnce,
  PRIORITY_KILL: atOnce,
  TASK_EXCEEDED_TIME_LIMIT: atOnce,
  REPLACED_BY_NEXT_RUN: jobsAtOnce,
  REBALANCE_RACKS: afterReplacement,
  REBALANCE_SLAVE_ATTRIBUTES: afterReplacement,
  REBALANCE_CPU_USAGE: afterReplacement,
  REBALANCE_MEMORY_USAGE: afterReplacement,
};

/** Time for a killed task to end by itself before it is ended by force. */
export const killGraceMillis = (type: TaskCleanupType, deploy: Deploy | undefined, rules: GraceRules): number =>
  cleanupRules[type].forced ? 0 : graceMillis(deploy, rules);

/** Reads the type from the text of a TASK_CLEANING update, which begins with it. */
export function cleanupTypeInText(text: string | undefined): TaskCleanupType | undefined {
  const word = /^[A-Z_]+/.exec(text ?? '')?.[0];
  return taskCleanupTypes.find((type) => type === word);
}

/** The task waits for a bounce to replace it. */
export const isBounce = (type: TaskCleanupType | undefined): boolean =>
  type === 'BOUNCING' || type === 'INCREMENTAL_BOUNCE';
