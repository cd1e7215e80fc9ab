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
