export { isFailingFast, type CooldownRules } from './failing-fast.js';
