export { withResults, type AcceptanceResult } from './acceptance.js';
export { balanceIdText, withBalance, type DeployBalance, type DeployEnding, type LoadBalancerCall } from './balance.js';
export { nextDeployStep } from './deploy-step.js';
export { finishDeploy, type FinishSurroundings, runWith } from './finish.js';
export { deployBeginText, deployEndText } from './told.js';
export { lookAtFirst } from './look-at-first.js';
export { firstProgress, isCanaryEngine, progressOfJob } from './progress.js';
export { type DeployStep } from './step.js';
export {
  type DeployOutcome,
  type DeploySettings,
  type DeployTask,
  type DeployView,
  newActive,
  newEnded,
  otherActive,
} from './view.js';
