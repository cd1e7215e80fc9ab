export { RunLooks } from './run-looks.js';
export { WorkingSet, type HeldMachine, type HeldRequest, type HeldTask } from './working-set.js';
