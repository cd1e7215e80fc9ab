export {
  bounceCapacityProblem,
  capacityProblem,
  followsActiveSlaves,
  needsMachineEach,
  onePerSlave,
  scaleDownProblem,
} from './capacity.js';
export { normalizeRequest, readLegacyType, type RequestLimits, validateRequest } from './validate-request.js';
export { longestJitterMillis, timingProblems, timingWarnings } from './timing-rules.js';
