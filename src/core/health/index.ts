export {
  checkFailure,
  checksDecide,
  countsSince,
  explainFailure,
  explainFailures,
  healthContext,
  type HealthContext,
  isWell,
  judgeTask,
  judgeTasks,
  type ObservedTask,
  passed,
} from './judge.js';
export { type HealthSettings } from './timings.js';
export { type NewTaskSettings, newTaskVerdict, type NewTaskVerdict, nextCheck } from './new-task.js';
export { deployHealthTimeoutMillis, healthcheckTimings, healthyAfterRunningMillis } from './timings.js';
export {
  afterLivenessCheck,
  type FailingState,
  livenessRules,
  type LivenessRules,
  Reach,
  type WatchedInstance,
} from './liveness.js';
export {
  decideReplacements,
  pauseAfterWaves,
  type ReplacementDecision,
  replacementLimit,
  type ReplacementWaves,
  type SickRequest,
  type SickTask,
  sickTaskText,
  type WaitingSickTask,
} from './replacements.js';
