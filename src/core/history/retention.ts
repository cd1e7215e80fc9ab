/** Limits of the history of one request. Values below 1 set no limit. */
export interface PurgeLimits {
  afterDays: number;
  afterTasks: number;
}

/** The tasks of one request to which the limits apply. */
export interface KeptTasks {
  count: number;
  /** Epoch milliseconds at which the oldest task within `afterTasks` was updated last. */
  oldestThatStays?: number;
}

const dayMillis = 86_400_000;

/**
 * Tasks updated before this moment go; undefined: none. Those updated in the same millisecond as the oldest that stays
 * stay too.
 */
export function purgeBefore(limits: PurgeLimits, tasks: KeptTasks, now: number): number | undefined {
  const bounds: number[] = [];
  if (limits.afterTasks >= 1 && tasks.count > limits.afterTasks && tasks.oldestThatStays !== undefined) {
    bounds.push(tasks.oldestThatStays);
  }
  if (limits.afterDays >= 1) bounds.push(now - limits.afterDays * dayMillis);
  return bounds.length === 0 ? undefined : Math.max(...bounds);
}

/** A task that may come back is kept among the live ones for this many times the span in which its machine may register again. */
const heldBackFactor = 1.5;
/** Longest retention while its machine is away: later, what comes of it is nobody's answer any more. */
const longestAwayMillis = dayMillis;

/** Tasks that were given up with their machine after these moments may still come back, and do not move to the history yet. */
export interface HeldBack {
  /** Tasks of every machine that ended after this time. */
  since: number;
  /** Tasks of machines that are away, or came back after `since`. */
  whileAwaySince: number;
}

export function heldBack(agentReregisterTimeoutSeconds: number, now: number): HeldBack {
  const since = now - heldBackFactor * agentReregisterTimeoutSeconds * 1_000;
  return { since, whileAwaySince: Math.min(since, now - longestAwayMillis) };
}
