export {
  checkFailure,
  checksDecide,
  countsSince,
  explainFailure,
  explainFailures,
  healthContext,
  type HealthContext,
  type HealthSettings,
  judgeTask,
  judgeTasks,
  type ObservedTask,
  passed,
} from './judge.js';
export { type NewTaskSettings, newTaskVerdict, type NewTaskVerdict, nextCheck } from './new-task.js';
export { deployHealthTimeoutMillis, healthcheckTimings, healthyAfterRunningMillis } from './timings.js';
