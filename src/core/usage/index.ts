export {
  type Amounts,
  amountsOf,
  bytesPerMb,
  currentCpus,
  largestUsage,
  noAmounts,
  probableUsage,
  type SampledTask,
  slaveUsage,
} from './amounts.js';
export { clusterUtilization, type MeasuredTask, requestUtilization, type UtilizedRequest } from './utilization.js';
export {
  failsRecheck,
  isOverloaded,
  isPreferred,
  type ResourceBias,
  biasOfRequest,
  type MachineLoad,
  needsRecheck,
  type PreferenceRules,
  scoreMachine,
  type ScoringRules,
  shares,
} from './score.js';
export {
  isOverUsed,
  shuffleTasks,
  type ShuffleMove,
  type ShuffleRules,
  type ShuffleSlave,
  type ShuffleTask,
} from './shuffle.js';
