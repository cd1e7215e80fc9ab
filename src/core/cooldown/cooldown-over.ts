import { isFailingFast, type CooldownRules } from './failing-fast.js';

/** What is known of the ended tasks of the active deploy. */
export interface CoolingDeploy {
  /** Absent: none has ended. */
  lastFinishAt?: number;
  failureEvents: readonly { timestamp: number }[];
}

/** `deploy` undefined: there is no active one, or nothing is known of its tasks; then nothing speaks for a cooldown. */
export function isCooldownOver(deploy: CoolingDeploy | undefined, rules: CooldownRules, now: number): boolean {
  if (deploy?.lastFinishAt === undefined) return true;
  const failuresAt = deploy.failureEvents.map(({ timestamp }) => timestamp);
  return !isFailingFast(failuresAt, rules, now);
}
