export type { RejectionReason } from './checks.js';
export { explainPlacement } from './explain.js';
export { placeTasks, type PlacementOutcome } from './place-tasks.js';
export { executorResources, taskResources } from './snapshot.js';
export type * from './snapshot.js';
