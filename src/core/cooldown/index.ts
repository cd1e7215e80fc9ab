export { isCooldownOver, type CoolingDeploy } from './cooldown-over.js';
export { isFailingFast, type CooldownRules } from './failing-fast.js';
