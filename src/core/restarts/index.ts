export { afterFailure, type InstanceFailures, nextStart, type NextStart, restartDelay } from './restart-policy.js';
