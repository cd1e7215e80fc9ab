import type { CooldownRules } from '../cooldown/index.js';
import type { BucketRules } from './buckets.js';

export interface FailureLimit {
  failureThreshold: number;
  windowMillis: number;
}

/** What the settings say about crash loops. */
export interface CrashLoopRules {
  cooldown: CooldownRules;
  /** More than this many. */
  startup: FailureLimit;
  /** At least this many; below 1 there is no such loop. */
  oom: FailureLimit;
  singleInstance: BucketRules;
  multiInstance: BucketRules;
  slow: BucketRules;
}
