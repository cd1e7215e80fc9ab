export { completeTask, type Completion, type EndedTask, type RequestOfTask } from './completion.js';
export { failureType } from './failure-event.js';
export { decideRecovery, type RecoveredTask, type Recovery } from './recovery.js';
export { countEnd, noCounts, type DeployCounts } from './statistics.js';
export { statusChange, type KnownTask, type ReportedStatus, type StatusChange } from './status-change.js';
export { statusText, type TaskLimits } from './status-text.js';
