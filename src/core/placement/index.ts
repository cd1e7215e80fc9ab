export type { Closure, Shortage } from './shortages.js';
export { GroupRoom, useOfGroup } from './concurrency-groups.js';
export { type RejectionReason, rejectionReasons } from './checks.js';
export {
  explainPending,
  explainWaiting,
  type Explanation,
  explanationText,
  neverFits,
  type Rejection,
  type WaitingReason,
  waitingReasons,
} from './explain.js';
export { sumOfExtended } from './extended.js';
export { Fleet, type FleetRules, type FleetSnapshot, type ResourceUnits, unitsOf } from './fleet.js';
export { freezeProblem, freezeRefusal, isFrozen, type PriorityRules } from './freeze.js';
export { type PlacementOutcome, placeTasks, type WaitingOutcome } from './place-tasks.js';
export { taskNeeds } from './snapshot.js';
export type * from './snapshot.js';
