import type { Deploy } from './deploy-spec.js';

/** A deploy that ends old tasks before it starts new ones. */
export const isOldFirst = ({ deployStrategy }: Pick<Deploy, 'deployStrategy'>): boolean =>
  deployStrategy === 'OLD_FIRST';

/** The most instances that may be missing at a time, of an OLD_FIRST deploy. */
export const maxUnavailableOf = ({ maxUnavailable = 1 }: Pick<Deploy, 'maxUnavailable'>): number => maxUnavailable;

export interface StrategyView {
  /** The deploy in progress. */
  pending?: Deploy;
  active?: Deploy;
  /** Deploys of which tasks live. */
  ofTasks: Iterable<Deploy>;
}

/**
 * The most instances of a service or worker that may be missing at a time, if old tasks end before new ones start; undefined: new
 * ones start first. The deploy in progress says it. Afterwards each deploy of which a task lives: the old version comes back after
 * a failure, and waits for the end of the tasks that failed.
 */
export function maxUnavailableNow({ pending, active, ofTasks }: StrategyView): number | undefined {
  const deploys = pending ? [pending] : [...(active ? [active] : []), ...ofTasks];
  const limits = deploys.filter(isOldFirst).map(maxUnavailableOf);
  return limits.length > 0 ? Math.min(...limits) : undefined;
}

/**
 * A task that was given up because its machine is silent or not presented any more may still run there. It counts as live, where the
 * number of live tasks is bounded (deployStrategy OLD_FIRST), until its machine says what became of it, or is confirmed gone: it began
 * anew, or a user removed it.
 */
export interface PerhapsRunning {
  ended: boolean;
  /** It was given up, and its machine has not said since that it does not run. */
  mayRun: boolean;
}

/** SQL has the same rule: `liveSql` in task.repository.ts. */
export const countsAsLive = ({ ended, mayRun }: PerhapsRunning): boolean => !ended || mayRun;
