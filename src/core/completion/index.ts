export { completeTask, type Completion } from './completion.js';
export { type CooldownRules, isCooldownOver, isFailingFast } from './cooldown.js';
export {
  type CrashLoopReview,
  type CrashLoopRules,
  findCrashLoops,
  type FoundCrashLoop,
  type InstanceCleanup,
  isObserved,
  type ObservedDeploy,
  reviewCrashLoops,
} from './crash-loops.js';
export { type EndedTask, type RequestOfTask, undelivered } from './ended-task.js';
export { isGivenUp, isGoneByList, mayRunAfter } from './given-up.js';
export { longestRetryDelayMillis, retryPolicyOf } from './retry-policy.js';
export { countsForRestart } from './restart.js';
export { countEnd, type DeployCounts, failureType, noCounts } from './statistics.js';
export {
  afterChange,
  decideRecovery,
  isReportedEndValid,
  type KnownTask,
  type RecoveredTask,
  returnOf,
  stateBeforeEnd,
  statusChange,
  type StatusChange,
  statusText,
  type TaskLimits,
  type TaskReturn,
} from './status-change.js';
