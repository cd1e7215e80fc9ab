export { nextDeployStep, type DeployStep } from './deploy-step.js';
export { finishDeploy, type FinishPlan, type FinishSurroundings } from './finish.js';
export { firstProgress, isIncremental } from './progress.js';
export { stepTimeLimitMillis } from './time-limit.js';
export { type DeploySettings, type DeployOutcome, type DeployTask, type DeployView } from './view.js';
export { promisedTypes, runWith } from './waiting-runs.js';
