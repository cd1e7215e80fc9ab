export { cleanupRules, cleanupTypeInText, isBounce, killGraceMillis } from './cleanup-rules.js';
export {
  decideKills,
  type CleanupSettings,
  type CleanupTask,
  type CleanupView,
  type KillDecision,
} from './kill-decision.js';
export {
  decideRequestCleanup,
  deploysInUse,
  type RequestCleanupStep,
  type RequestCleanupView,
} from './request-cleanup.js';
