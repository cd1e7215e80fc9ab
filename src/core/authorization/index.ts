export * from './access-rules.js';
export { decide, isAdmin, type Decision } from './decide.js';
export { writersNeededToRegroup } from './group-change.js';
export { isRelevantFor, type RelevanceFacts } from './relevance.js';
export { maskSecrets, secretMask } from './secrets.js';
export { builtInUser, nameOf, type User } from './user.js';
