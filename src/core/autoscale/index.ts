export {
  type AutoscaleDecision,
  type AutoscaleFacts,
  decideAutoscale,
  delayOf,
  withinBounds,
  withPresentInstances,
} from './decide.js';
export { holdOf, type HoldFacts } from './holds.js';
export { autoscaleMessage, autoscaleText, metricText, scalePlanText } from './texts.js';
export { type Measurement, usageOf, type UsedTask } from './usage.js';
