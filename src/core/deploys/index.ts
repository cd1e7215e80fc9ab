export { withResults, type AcceptanceResult } from './acceptance.js';
export { balanceIdText, withBalance, type DeployBalance, type DeployEnding, type LoadBalancerCall } from './balance.js';
export { nextDeployStep } from './deploy-step.js';
export { finishDeploy, type FinishPlan, type FinishSurroundings } from './finish.js';
export { firstProgress, isCanaryEngine, isIncremental } from './progress.js';
export { type DeployStep } from './step.js';
export { stepTimeLimitMillis } from './time-limit.js';
export {
  newActive,
  newEnded,
  otherActive,
  type DeployOutcome,
  type DeploySettings,
  type DeployTask,
  type DeployView,
} from './view.js';
export { promisedTypes, runWith } from './waiting-runs.js';
