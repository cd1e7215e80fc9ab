export { isOwn, tellsRequestsApart } from './key-prefixes.js';
export {
  type DeployTimes,
  narrow,
  type Narrowing,
  placeName,
  type RequestTimes,
  type Search,
  type SearchPlace,
  searchPlaces,
  spanOfDeploy,
  spanOfRequest,
  spanOfTask,
} from './search-places.js';
