export * from './access-rules.js';
export {
  decide,
  type Decision,
  isAdmin,
  isRelevantFor,
  type RelevanceFacts,
  writersNeededToRegroup,
} from './decide.js';
export { maskSecrets } from './secrets.js';
