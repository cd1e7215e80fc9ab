export { RunLooks } from './run-looks.js';
export { WorkingSet, type HeldMachine, type HeldRequest } from './working-set.js';
export { type HeldTask } from './machine-uses.js';
