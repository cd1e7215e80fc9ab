export { planLaunch, type LaunchInput, type LaunchPlan, type LaunchRules } from './launch-plan.js';
export { launchedText, taskRecord, type LaunchedFor } from './task-record.js';
export type { LaunchPlace } from './environment.js';
