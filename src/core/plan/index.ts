export {
  type MoveOutcome,
  moveOutcomes,
  type PlannedMove,
  plannedMoves,
  replacements,
  type RequestToMove,
} from './decommission-plan.js';
export { diffFields, type FieldChange } from './diff.js';
export { planDeploy, type DeployToPlan } from './deploy-plan.js';
export { fitSteps, type FittingScene, type PlannedGate, type PlannedStep, type PlanTask, type StepFit } from './fit.js';
export { planScale, type ScaleToPlan } from './scale-plan.js';
