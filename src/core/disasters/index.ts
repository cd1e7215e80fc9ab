export {
  actionsToDisable,
  canBeDisabled,
  disableableActions,
  disabledMessage,
  hasExpired,
  isExcepted,
  mayExceptGroups,
} from './actions.js';
export { detectionRules, disableRules, judgeDisasters } from './detection.js';
