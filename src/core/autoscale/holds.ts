import type { RequestFacts } from '../requests/action-rules.js';

/** What may come before autoscaling, of a request. */
export interface HoldFacts extends RequestFacts {
  pendingDeployId?: string;
  /** A person's scale for a while; ISO 8601 time of its end. */
  expiringScale?: { until: string; user?: string };
  /** The priority freeze in force holds its tasks back. */
  frozen: boolean;
  /** Operators, or a disaster, have switched SCALE_REQUEST off. */
  switchedOff: boolean;
}

/** Reason why the number of instances has to stay as it is; undefined: there is none. */
export function holdOf(facts: HoldFacts): string | undefined {
  const { state, cleanups, pendingDeployId, deployInUse, bouncing, expiringScale, frozen, switchedOff } = facts;
  if (state === 'SYSTEM_COOLDOWN') return 'the request is in cooldown, because its tasks fail';
  if (state !== 'ACTIVE') return `the request is ${state}`;
  if (cleanups.some((type) => type !== 'BOUNCE' && type !== 'INCREMENTAL_BOUNCE'))
    return 'the request is being cleaned';
  if (deployInUse === undefined) return 'there is no deploy';
  if (pendingDeployId !== undefined) return `deploy '${pendingDeployId}' is in progress`;
  if (bouncing || cleanups.length > 0) return 'a bounce is in progress';
  if (expiringScale) {
    const { until, user } = expiringScale;
    return `a scale for a while${user === undefined ? '' : ` by ${user}`} is in force until ${until}`;
  }
  if (frozen) return 'the priority freeze in force holds back its tasks';
  return switchedOff ? 'the action SCALE_REQUEST is disabled' : undefined;
}
