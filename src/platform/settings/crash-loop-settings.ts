import { z } from 'zod';
import { count, minutesAbove0 } from './bounds.js';

const buckets = () => z.number().int().min(2).max(1_000);
const share = () => z.number().min(0).max(1);
const percent = () => z.number().min(0).max(100);

/** Limits from which on failures delay starts, and from which on their repetition is called a crash loop. */
export const CrashLoopSettings = z.strictObject({
  cooldownFailureThreshold: count()
    .default(5)
    .describe('Failures within evaluateCooldownOverMinutes that start a cooldown; 0: none does'),
  evaluateCooldownOverMinutes: minutesAbove0().default(1).describe('Time span over which failures are counted'),
  startupFailureThreshold: count()
    .default(5)
    .describe('Failed starts beyond which those before the cleanup of a task are counted to its startup loop, too'),
  evaluateStartupLoopOverMinutes: minutesAbove0().default(10).describe('Time span over which these are counted'),
  oomFailureThreshold: count()
    .default(4)
    .describe('Tasks out of memory within evaluateOomsOverMinutes that make a crash loop; 0: none does'),
  evaluateOomsOverMinutes: minutesAbove0().default(30).describe('Time span over which these are counted'),
  singleInstanceFailureBucketSizeMinutes: minutesAbove0()
    .default(3)
    .describe('Failures of one instance are counted by stretches of this length'),
  singleInstanceFailureBuckets: buckets().default(10).describe('Number of these stretches; the newest two are one'),
  singleInstanceFailureThreshold: share()
    .default(0.25)
    .describe('Share of them beyond which one instance that fails makes a crash loop'),
  singleInstanceFailureMinBucketIndexPercent: percent()
    .default(75)
    .describe('How far on, in percent of them, the newest one with a failure must be'),
  multiInstanceFailureBucketSizeMinutes: minutesAbove0()
    .default(3)
    .describe('Failures of several instances are counted by stretches of this length'),
  multiInstanceFailureBuckets: buckets().default(10).describe('Number of these stretches; the newest two are one'),
  multiInstanceFailureThreshold: share()
    .default(0.4)
    .describe('Share of them beyond which several instances that fail make a crash loop'),
  multiInstanceFailureMinBucketIndexPercent: percent()
    .default(75)
    .describe('How far on, in percent of them, the newest one with a failure must be'),
  slowFailureBucketSizeMinutes: minutesAbove0()
    .default(30)
    .describe('Failures over a long time are counted by stretches of this length'),
  slowFailureBuckets: buckets().default(15).describe('Number of these stretches; the newest two are one'),
  slowFailureThreshold: share().default(0.7).describe('Share of them beyond which slow failures make a crash loop'),
  slowFailureMinBucketIndexPercent: percent()
    .default(75)
    .describe('How far on, in percent of them, the newest one with a failure must be'),
});
