import { z } from 'zod';
import { count, minutesAbove0 } from './bounds.js';

const buckets = () => z.number().int().min(2).max(1_000);
const share = () => z.number().min(0).max(1);
const percent = () => z.number().min(0).max(100);

/** Limits from which on failures delay starts, and from which on their repetition is called a crash loop. */
export const CrashLoopSettings = z.strictObject({
  cooldownFailureThreshold: count()
    .default(5)
    .describe('Failures within evaluateCooldownOverMinutes that start a cooldown; 0: off'),
  evaluateCooldownOverMinutes: minutesAbove0().default(1).describe('Time span over which failures are counted'),
  startupFailureThreshold: count()
    .default(5)
    .describe('Failed starts above which failures before the cleanup of a task count as a startup loop, too'),
  evaluateStartupLoopOverMinutes: minutesAbove0().default(10).describe('Time span over which these are counted'),
  oomFailureThreshold: count()
    .default(4)
    .describe('Tasks out of memory within evaluateOomsOverMinutes that make a crash loop; 0: off'),
  evaluateOomsOverMinutes: minutesAbove0().default(30).describe('Time span over which these are counted'),
  singleInstanceFailureBucketSizeMinutes: minutesAbove0()
    .default(3)
    .describe('Length of an interval for failures of one instance'),
  singleInstanceFailureBuckets: buckets()
    .default(10)
    .describe('Number of these intervals; the newest two count as one'),
  singleInstanceFailureThreshold: share()
    .default(0.25)
    .describe('Share of intervals with failures of one instance above which a crash loop begins'),
  singleInstanceFailureMinBucketIndexPercent: percent()
    .default(75)
    .describe('Lowest position of the newest interval with a failure, in percent of all'),
  multiInstanceFailureBucketSizeMinutes: minutesAbove0()
    .default(3)
    .describe('Length of an interval for failures of several instances'),
  multiInstanceFailureBuckets: buckets().default(10).describe('Number of these intervals; the newest two count as one'),
  multiInstanceFailureThreshold: share()
    .default(0.4)
    .describe('Share of intervals with failures of several instances above which a crash loop begins'),
  multiInstanceFailureMinBucketIndexPercent: percent()
    .default(75)
    .describe('Lowest position of the newest interval with a failure, in percent of all'),
  slowFailureBucketSizeMinutes: minutesAbove0()
    .default(30)
    .describe('Length of an interval for failures over a long time'),
  slowFailureBuckets: buckets().default(15).describe('Number of these intervals; the newest two count as one'),
  slowFailureThreshold: share()
    .default(0.7)
    .describe('Share of intervals with failures above which a crash loop begins'),
  slowFailureMinBucketIndexPercent: percent()
    .default(75)
    .describe('Lowest position of the newest interval with a failure, in percent of all'),
});
