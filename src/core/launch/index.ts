export { literalHostPorts } from './container.js';
export { type LaunchInput, type LaunchRules, planLaunch, type UploadRules } from './launch-plan.js';
export {
  launchedText,
  launchRecord,
  leftOutOfTasks,
  taskRecord,
  type LaunchDecision,
  type LaunchRecord,
} from './task-record.js';
export { fitsKernel } from './kernel-limits.js';
export { textProblems } from './task-texts.js';
export { graceMillis, graceRules, type GraceRules, preStopMillis } from './grace.js';
