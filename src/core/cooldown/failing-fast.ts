export interface CooldownRules {
  /** Failures that start a cooldown; below 1 there is none. */
  failureThreshold: number;
  windowMillis: number;
}

/** The cooldown condition: enough failures of a deploy within the last window. */
export function isFailingFast(failuresAt: readonly number[], rules: CooldownRules, now: number): boolean {
  if (rules.failureThreshold < 1) return false;
  const recent = failuresAt.filter((at) => now - at < rules.windowMillis);
  return recent.length >= rules.failureThreshold;
}
