export { WorkingSet, type HeldMachine, type HeldRequest, type HeldTask } from './working-set.js';
