import type { LoadBalancerCall } from './balance.js';
import { type CanaryDeployProgress, withTarget } from './progress.js';
import type { DeploySettings, DeploySnapshot } from './view.js';
import type { DeployOutcome } from './outcome.js';
import {
  deployHealthTimeoutMillis,
  healthcheckTimings,
  type HealthContext,
  healthyAfterRunningMillis,
} from '../health/index.js';
import type { Deploy, DeployProgress } from '../model/deploy.js';
import type { DeployState } from '../model/enums.js';
import type { GateRow } from '../model/gate.js';
import type { TaskId } from '../model/task.js';

/** Next step of a deploy in progress. */
export type DeployStep =
  /** Nothing changes before something happens, or before checkAgainAt (epoch milliseconds). */
  | { kind: 'wait'; checkAgainAt?: number; scheduleMissing: boolean; state?: DeployState; keepsUpdate?: boolean }
  /** The deploy goes on with another progress: the old tasks in `retire` may go, tasks of `schedule` deploys are counted anew. */
  | { kind: 'proceed'; progress: DeployProgress; retire: TaskId[]; schedule: ScheduledDeploy[]; checkAgainAt?: number }
  /** The load balancer is to be asked; its answer is stored, and the deploy looked at again. */
  | ({ kind: 'balance' } & LoadBalancerCall)
  /** These checks say whether the step is acceptable; their results are stored, and the deploy looked at again. */
  | { kind: 'check'; names: string[] }
  /** A gate of the step is as this row says; it is stored, and the deploy looked at again. */
  | { kind: 'gate'; row: GateRow }
  /**
   * The deploy is over. closeChecks: no further health check result of its tasks is of interest. stillBalanced: old
   * tasks that the load balancer was to remove and did not.
   */
  | { kind: 'finish'; outcome: DeployOutcome; closeChecks: boolean; stillBalanced: TaskId[] };

type StepKind<Kind extends DeployStep['kind']> = Extract<DeployStep, { kind: Kind }>;

/** OLD: the deploy that serves until now, whose tasks come back when the target is lowered. */
type ScheduledDeploy = 'NEW' | 'OLD';

/** A look at a deploy whose tasks roll out: everything it needs is there. */
export interface Rollout<P extends DeployProgress = DeployProgress> {
  view: DeploySnapshot;
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

/** Goes on with another target. Where old tasks end first, the next look ends them; and no more than may be missing. */
export function aimAt(progress: DeployProgress, asked: number, now: number): StepKind<'proceed'> {
  const { targetActiveInstances: former, maxUnavailable: most } = progress;
  const target = most === undefined ? asked : Math.max(former - most, Math.min(asked, former + most));
  const next = { kind: 'proceed' as const, progress: withTarget(progress, target, now), retire: [] };
  if (target < former) return { ...next, schedule: ['NEW', 'OLD'] };
  return most === undefined ? { ...next, schedule: ['NEW'] } : { ...next, schedule: [], checkAgainAt: now };
}

/**
 * Milliseconds one step may take: the time for its tasks to start, and the time for a running one to prove itself.
 * It counts from progress.timestamp, which every new step resets, so a deploy of many steps may take many times as long.
 */
export function stepTimeLimitMillis(deploy: Deploy, settings: DeploySettings): number {
  const proving =
    deploy.healthcheck && deploy.skipHealthchecksOnDeploy !== true
      ? healthcheckTimings(deploy.healthcheck, settings, deploy.healthcheckMaxTotalTimeoutSeconds).totalMillis
      : healthyAfterRunningMillis(deploy, settings);
  return deployHealthTimeoutMillis(deploy, settings) + proving;
}
