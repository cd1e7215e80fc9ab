export {
  actionsToDisable,
  canBeDisabled,
  disableableActions,
  disabledMessage,
  hasExpired,
  type DisableRules,
} from './actions.js';
export { judgeDisasters, type DetectionRules, type LossRules } from './detection.js';
export type { LagRules } from './task-lag.js';
