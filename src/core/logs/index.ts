export { mayMeet, separatesRequests } from './key-pattern.js';
export { isOwn, type LogOwner } from './key-prefixes.js';
export { type KeyFacts, keyPatternOfTask, numberedKey, objectKey } from './object-key.js';
export { keyOfOrder, namesOfBucket, namesOfKey, orderOfFile, orderOfDirectory, orderOfKey } from './object-path.js';
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
export { type UploadBounds, withinBounds } from './upload-bounds.js';
