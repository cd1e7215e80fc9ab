export { actionsToDisable, canBeDisabled, disableableActions, disabledMessage, hasExpired } from './actions.js';
export { detectionRules, disableRules, judgeDisasters } from './detection.js';
