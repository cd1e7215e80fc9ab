export { compareTask, type BelievedTask, type FoundStatus } from './compare.js';
export { ReconciliationCycle } from './cycle.js';
export { reconciliationStatistics, type ReconciliationRun } from './statistics.js';
