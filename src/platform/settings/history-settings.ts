import { z } from 'zod';
import { count, days, hours, keptCount, keptDays, seconds } from './bounds.js';

const TaskPurgeLimits = z.strictObject({
  deleteTaskHistoryAfterDays: keptDays(),
  deleteTaskHistoryAfterTasksPerRequest: keptCount(),
  deleteTaskHistoryBytesAfterDays: keptDays(),
  deleteTaskHistoryBytesAfterTasksPerRequest: keptCount(),
});

/** Limits of the history, beyond which it is purged. Values below 1 set no limit. */
export const HistoryPurgingSettings = z.strictObject({
  enabled: z
    .boolean()
    .default(false)
    .describe('Delete old history; deleteTaskHistoryAfterDays or ...AfterTasksPerRequest must be set, too'),
  checkTaskHistoryEveryHours: hours().default(24).describe('Time between two purges (poller `history-purge`)'),
  deleteTaskHistoryAfterDays: keptDays().default(0).describe('Age in days at which an ended task is deleted'),
  deleteTaskHistoryAfterTasksPerRequest: keptCount()
    .default(0)
    .describe('Newest ended tasks that are kept per request'),
  deleteTaskHistoryBytesAfterDays: keptDays()
    .default(365)
    .describe('Age in days at which the details of an ended task are deleted; it is still listed'),
  deleteTaskHistoryBytesAfterTasksPerRequest: keptCount()
    .default(10_000)
    .describe('Newest ended tasks per request that keep their details'),
  purgeLimitPerQuery: count(1).default(25_000).describe('Most rows of one statement'),
  purgeStaleRequestIdsAfterDays: keptDays()
    .default(7)
    .describe('Age in days at which data of deleted requests is deleted'),
  purgeRequestHistoryAfterDays: keptDays()
    .default(365)
    .describe('Age in days at which a change of a request is deleted'),
  purgeDeployHistoryAfterDays: keptDays().default(365).describe('Age in days at which an unused deploy is deleted'),
  requestOverrides: z
    .record(z.string(), TaskPurgeLimits.partial())
    .default({})
    .describe('Different values of the four keys about tasks, by request id'),
});

/** Move of ended tasks into the history. */
export const historySettings = {
  persistHistoryEverySeconds: seconds()
    .default(120)
    .describe('Timer of the poller `history`, which moves ended tasks to the history; it is also woken'),
  historyPollerConcurrency: count(1, 20)
    .default(1)
    .describe('Batches of 500 ended tasks that this poller moves at a time'),
  flowRetentionDays: days()
    .default(90)
    .describe('Age at which an inactive flow is deleted; its tasks stay in the history'),
  storeAllClusterTaskInfoForDebugging: z
    .boolean()
    .default(false)
    .describe('Keep the executor data of the deploy in records of tasks'),
  sqlFallBackToBytesFields: z
    .boolean()
    .default(true)
    .describe('Read the history of an older installation from its old payloads until the backfill is done'),
};
