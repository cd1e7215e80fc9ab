export { amountsOf, estimatedCpu, largestUsage, noAmounts, probableUsage, type Amounts } from './amounts.js';
export { clusterUtilization, type UtilizedRequest } from './cluster-utilization.js';
export { isPreferred, leaning, leaningOfRequest, type Leaning, type PreferenceRules } from './preference.js';
export { requestUtilization, type MeasuredTask } from './request-utilization.js';
export {
  failsRecheck,
  isOverloaded,
  loadOf,
  needsRecheck,
  scoreMachine,
  shares,
  type MachineLoad,
  type ScoringRules,
} from './score.js';
export {
  isOverUsed,
  shuffleTasks,
  type ShuffleMove,
  type ShuffleRules,
  type ShuffleSlave,
  type ShuffleTask,
} from './shuffle.js';
export { currentCpus, slaveUsage, type SampledTask } from './slave-usage.js';
