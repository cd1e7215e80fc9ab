export { rejectionReasons, type RejectionReason } from './checks.js';
export {
  explainPending,
  explainWaiting,
  waitingReasons,
  type Explanation,
  type Rejection,
  type WaitingReason,
} from './explain.js';
export { explanationText } from './explanation-text.js';
export { Fleet, type FleetRules } from './fleet.js';
export { unitsOf, type Units } from './fleet-machine.js';
export { priorityLevel } from './order.js';
export { placeTasks, type PlacementOutcome, type WaitingOutcome } from './place-tasks.js';
export { taskNeeds } from './snapshot.js';
export type * from './snapshot.js';
