import type { HealthContext } from '../health/index.js';
import type { DeployProgress } from '../model/deploy.js';
import type { DeployState } from '../model/enums.js';
import type { TaskId } from '../model/task.js';
import type { LoadBalancerCall } from './balance.js';
import { withTarget, type CanaryDeployProgress } from './progress.js';
import type { DeployOutcome, DeployView } from './view.js';

/** What one look at a deploy in progress leads to. */
export type DeployStep =
  /** Nothing changes before something happens, or before lookAgainAt (epoch milliseconds). */
  | { kind: 'wait'; lookAgainAt?: number; scheduleMissing: boolean; state?: DeployState; keepsUpdate?: boolean }
  /** The deploy goes on with another progress: the old tasks in `retire` may go, tasks of `schedule` deploys are counted anew. */
  | { kind: 'proceed'; progress: DeployProgress; retire: TaskId[]; schedule: ScheduledDeploy[]; lookAgainAt?: number }
  /** The load balancer is to be asked; its answer is stored, and the deploy looked at again. */
  | ({ kind: 'balance' } & LoadBalancerCall)
  /** These checks say whether the step is acceptable; their results are stored, and the deploy looked at again. */
  | { kind: 'check'; names: string[] }
  /**
   * The deploy is over. closeChecks: no further health check result of its tasks is of interest. stillBalanced: old
   * tasks that the load balancer was to remove and did not.
   */
  | { kind: 'finish'; outcome: DeployOutcome; closeChecks: boolean; stillBalanced: TaskId[] };

export type StepKind<Kind extends DeployStep['kind']> = Extract<DeployStep, { kind: Kind }>;

/** OLD: the deploy that serves until now, whose tasks come back when the target is lowered. */
export type ScheduledDeploy = 'NEW' | 'OLD';

/** A look at a deploy whose tasks roll out: everything it needs is there. */
export interface Rollout<P extends DeployProgress = DeployProgress> {
  view: DeployView;
  progress: P;
  context: HealthContext;
  now: number;
}
export type CanaryRollout = Rollout<CanaryDeployProgress>;

export const finish = (outcome: DeployOutcome, closeChecks = false): StepKind<'finish'> => ({
  kind: 'finish',
  outcome,
  closeChecks,
  stillBalanced: [],
});

export const aimAt = (progress: DeployProgress, target: number, now: number): StepKind<'proceed'> => ({
  kind: 'proceed',
  progress: withTarget(progress, target, now),
  retire: [],
  schedule: target < progress.targetActiveInstances ? ['NEW', 'OLD'] : ['NEW'],
});
