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
    .describe(
      'Whether old history goes by itself; deleteTaskHistoryAfterDays or ...AfterTasksPerRequest must be set too',
    ),
  checkTaskHistoryEveryHours: hours().default(24).describe('Time between two purges (poller `history-purge`)'),
  deleteTaskHistoryAfterDays: keptDays().default(0).describe('Age at which an ended task is forgotten'),
  deleteTaskHistoryAfterTasksPerRequest: keptCount().default(0).describe('Newest ended tasks kept per request'),
  deleteTaskHistoryBytesAfterDays: keptDays()
    .default(365)
    .describe('Age at which the details of an ended task go; it is still listed'),
  deleteTaskHistoryBytesAfterTasksPerRequest: keptCount()
    .default(10_000)
    .describe('Newest ended tasks per request that keep their details'),
  purgeLimitPerQuery: count(1).default(25_000).describe('Most rows that one statement touches'),
  purgeStaleRequestIdsAfterDays: keptDays().default(7).describe('Age at which figures of deleted requests go'),
  purgeRequestHistoryAfterDays: keptDays().default(365).describe('Age at which a change of a request is forgotten'),
  purgeDeployHistoryAfterDays: keptDays()
    .default(365)
    .describe('Age at which a deploy that is not in use is forgotten'),
  requestOverrides: z
    .record(z.string(), TaskPurgeLimits.partial())
    .default({})
    .describe('The four keys about tasks by request id, where they differ'),
});

/** Move of ended tasks into the history. */
export const historySettings = {
  persistHistoryEverySeconds: seconds()
    .default(120)
    .describe('Timer of the poller `history`, which moves ended tasks to the history; it is also woken'),
  historyPollerConcurrency: count(1, 20)
    .default(1)
    .describe('Batches of 500 ended tasks that this poller moves at once'),
  flowRetentionDays: days()
    .default(90)
    .describe('Age at which a flow in which nothing goes on is forgotten; its tasks stay in the history'),
  storeAllClusterTaskInfoForDebugging: z
    .boolean()
    .default(false)
    .describe('Whether records of tasks keep the executor data of the deploy'),
  sqlFallBackToBytesFields: z
    .boolean()
    .default(true)
    .describe(
      'Whether history of an older installation is read from its old payloads until the backfill has been there',
    ),
};
