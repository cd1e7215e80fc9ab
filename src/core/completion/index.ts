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
export type { EndedTask, RequestOfTask } from './ended-task.js';
export { countEnd, type DeployCounts, failureType, noCounts } from './statistics.js';
export {
  decideRecovery,
  type KnownTask,
  type RecoveredTask,
  statusChange,
  type StatusChange,
  statusText,
  type TaskLimits,
} from './status-change.js';
