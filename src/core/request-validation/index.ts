export {
  bounceCapacityProblem,
  capacityProblem,
  needsMachineEach,
  scaleDownProblem,
  type PlacementDefaults,
} from './capacity.js';
export { normalizeRequest, readLegacyType } from './normalize-request.js';
export { followsActiveSlaves, onePerSlave, type SpreadSettings } from './spread-all.js';
export { instancesOf, validateRequest, type RequestLimits, type RequestSurroundings } from './validate-request.js';
