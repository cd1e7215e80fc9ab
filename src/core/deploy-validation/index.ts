export { addressProblem } from './gate-rules.js';
export { type DeployValidationContext, type DeployValidationSettings, type ResourceLimits } from './context.js';
export { normalizeDeploy } from './normalize-deploy.js';
export { resourceProblems } from './resource-rules.js';
export { validateDeploy } from './validate-deploy.js';
