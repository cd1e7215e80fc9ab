export { drain } from './drain.js';
export { findLateTasks, judgeProvisioning, type ProvisionedRequest, type WaitingTask } from './queue-metrics.js';
export { isCountedStart, isPlannedTooFar, type RequestToRun, startedRun, startsLeft } from './next-run-at.js';
export { planRuns, type RunPlan } from './plan-runs.js';
export type * from './pending-work.js';
export { misplacedTasks, rackCount, spreadRules, type SpreadSlave, surplusOnePerSlave } from './scale-down.js';
export { isBesideSchedule, waitsForPromises, waitsForRuns } from './pending-work.js';
