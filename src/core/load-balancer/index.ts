export {
  balancerServiceId,
  defaultUpstreamGroup,
  deleteBody,
  updateBody,
  upstreamGroup,
  upstreamOf,
  upstreamsBody,
  type BalancedTask,
  type BalancerBodySettings,
  type BalancerChange,
  type BalancerRequestBody,
  type RemovedService,
  type Upstream,
} from './request-body.js';
export { requestIdText } from './request-id.js';
export {
  isInLoadBalancer,
  isInProgress,
  noRecords,
  ownRequestId,
  preEnqueued,
  type BalancerRecords,
} from './records.js';
export { decideDeletion, endsDeletion, isServiceDeleted, type Deletion, type DeletionView } from './deletion.js';
export { decideEntry, type EnteringTask, type Entry } from './entry.js';
export { findExtraUpstreams, type UpstreamCheck } from './extra-upstreams.js';
export { decideRemoval, isRefused, type Removal } from './removal.js';
