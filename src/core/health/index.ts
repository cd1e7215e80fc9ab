export {
  checkFailure,
  checksDecide,
  countsSince,
  explainFailure,
  explainFailures,
  healthContext,
  type HealthContext,
  judgeTask,
  judgeTasks,
  type ObservedTask,
  passed,
} from './judge.js';
export { type HealthSettings } from './timings.js';
export { type NewTaskSettings, newTaskVerdict, type NewTaskVerdict, nextCheck } from './new-task.js';
export { deployHealthTimeoutMillis, healthcheckTimings, healthyAfterRunningMillis } from './timings.js';
