import type { DeployMarker, DeployResult } from '../../core/model/deploy.js';
import type { WakeTopic } from '../../platform/wake/wake.js';
import type { AcceptanceJob } from './deploy-acceptance.service.js';
import type { BalancerJob } from './deploy-balancing.service.js';

/** What the load balancer or a check has to be asked before the deploy can go on, when the transaction is over. */
export type OutsideJob = ({ kind: 'balance' } & BalancerJob) | ({ kind: 'check' } & AcceptanceJob);

export interface StepResult {
  /** Epoch milliseconds at which time alone changes the decision. */
  checkAgainAt?: number;
  /** To signal after the commit. */
  wake: WakeTopic[];
  outside?: OutsideJob;
  /** How it ended, to be told after the commit. */
  ended?: { marker: DeployMarker; result: DeployResult };
}
