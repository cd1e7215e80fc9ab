export { explainFailure, explainFailures } from './failure-details.js';
export { checkFailure, judgeTask, judgeTasks, type HealthVerdict } from './judge.js';
export { nextCheck, type NextCheck } from './next-check.js';
export { newTaskVerdict, type NewTaskSettings, type NewTaskVerdict } from './new-task.js';
export { checksDecide, passed, type HealthContext, type HealthSettings, type ObservedTask } from './observed-task.js';
export {
  deployHealthTimeoutMillis,
  healthcheckTimings,
  healthyAfterRunningMillis,
  type HealthcheckTimings,
} from './timings.js';
