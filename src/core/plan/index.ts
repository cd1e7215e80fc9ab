export { diffFields, type FieldChange } from './diff.js';
export { planDeploy, type DeployToPlan } from './deploy-plan.js';
export { fitSteps, type FittingScene, type StepFit } from './fit.js';
export { planScale, type ScaleToPlan } from './scale-plan.js';
export type { PlannedStep, PlannedStop, PlanTask } from './planned-step.js';
