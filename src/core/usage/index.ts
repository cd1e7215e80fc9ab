export { amountsOf, estimatedCpu, largestUsage, noAmounts, probableUsage, type Amounts } from './amounts.js';
export { isPreferred, leaning, leaningOfRequest, type Leaning, type PreferenceRules } from './preference.js';
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
