export { readFilter, type ReadFilter } from './read-filter.js';
export * from './access-rules.js';
export {
  approversText,
  decide,
  type Decision,
  isAdmin,
  isElevated,
  isRelevantFor,
  mayCreateRequests,
  type RelevanceFacts,
  writersNeededToRegroup,
} from './decide.js';
export {
  isWithin,
  incarnationAt,
  incarnationsOf,
  newestVisible,
  type RequestIncarnation,
  type TimeRange,
} from './incarnations.js';
export { maskSecrets } from './secrets.js';
