export { freezeProblem, freezeRefusal, isFrozen, type PriorityRules } from './freeze.js';
