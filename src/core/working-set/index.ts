export { RunChecks } from './run-checks.js';
export { countRetries, WorkingSet, type HeldMachine, type HeldRequest } from './working-set.js';
export { type HeldTask } from './machine-uses.js';
