export type { BucketRules } from './buckets.js';
export { findCrashLoops, type FoundCrashLoop, type ObservedDeploy } from './find-crash-loops.js';
export { isObserved, reviewCrashLoops, type CrashLoopReview } from './review-crash-loops.js';
export type { CrashLoopRules } from './rules.js';
export type { InstanceCleanup } from './startup-failures.js';
