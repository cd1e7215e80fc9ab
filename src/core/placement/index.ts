export { rejectionReasons, type RejectionReason } from './checks.js';
export {
  byCount,
  explainPending,
  waitingReasons,
  type Explanation,
  type Rejection,
  type WaitingReason,
} from './explain.js';
export { explanationText } from './explanation-text.js';
export { Fleet, type FleetRules } from './fleet.js';
export { unitsOf, type Units } from './fleet-machine.js';
export { priorityLevel } from './order.js';
export { placeTasks, type PlacementOutcome } from './place-tasks.js';
export { executorResources, taskResources } from './snapshot.js';
export type * from './snapshot.js';
