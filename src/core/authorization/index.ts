export { readSight, type ReadSight } from './read-sight.js';
export * from './access-rules.js';
export {
  decide,
  type Decision,
  isAdmin,
  isElevated,
  isRelevantFor,
  type RelevanceFacts,
  writersNeededToRegroup,
} from './decide.js';
export { isWithin, lifeAt, livesOf, newestSeen, type Life, type Past } from './lives.js';
export { maskSecrets } from './secrets.js';
