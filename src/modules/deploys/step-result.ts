import type { DeployMarker, DeployResult } from '../../core/model/deploy.js';
import type { WakeTopic } from '../../platform/wake/wake.js';
import type { AcceptanceJob } from './deploy-acceptance.service.js';
import type { BalancerJob } from './deploy-balancing.service.js';

/**
 * A question to the load balancer or to a check that has to be answered before the deploy can go on, asked when the
 * transaction is over.
 */
export type OutsideJob = ({ kind: 'balance' } & BalancerJob) | ({ kind: 'check' } & AcceptanceJob);

export interface StepResult {
  /** Epoch milliseconds at which time alone changes the decision. */
  checkAgainAt?: number;
  /** Topics to signal after the commit. */
  wake: WakeTopic[];
  outside?: OutsideJob;
  /** The end of the deploy, for notifications after the commit. */
  ended?: { marker: DeployMarker; result: DeployResult };
}
