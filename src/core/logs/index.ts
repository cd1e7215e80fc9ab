export { tellsRequestsApart } from './key-pattern.js';
export { isOwn, type LogOwner, type LogSubject } from './key-prefixes.js';
export {
  narrow,
  spanOfDeploy,
  spanOfRequest,
  spanOfTask,
  type DeployTimes,
  type Narrowing,
  type RequestTimes,
  type TaskTimes,
} from './log-span.js';
export { placeName, searchPlaces, type Search, type SearchPlace } from './search-places.js';
