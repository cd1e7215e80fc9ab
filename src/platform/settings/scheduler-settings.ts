import { z } from 'zod';
import { amount, count, millis, minutes, seconds } from './bounds.js';

/** Pollers, and who leads. */
export const schedulerSettings = {
  checkSchedulerEverySeconds: seconds().default(1).describe('Timer of the poller `scheduler`; it is also woken'),
  checkDeploysEverySeconds: seconds().default(5).describe('Timer of the poller `deploys`; it is also woken'),
  checkAutoscaleEverySeconds: seconds()
    .default(15)
    .describe('Time between two decisions about the instances of a request with `autoscale` (poller `autoscale`)'),
  cleanupEverySeconds: seconds().default(5).describe('Timer of the poller `cleanup`; it is also woken'),
  checkExpiringUserActionEveryMillis: millis()
    .default(45_000)
    .describe(
      'Timer of the pollers `expiring-requests`, `expiring-machines`, `expiring-priority-freeze`, which revert expired changes',
    ),
  startNewReconcileEverySeconds: seconds()
    .default(600)
    .describe('Time between two comparisons of stored tasks with those of the machines (poller `reconciliation`)'),
  checkReconcileWhenRunningEveryMillis: millis()
    .default(30_000)
    .describe('Time after which machines without an answer are asked again'),
  reconcileLaunchAfterMillis: millis().default(180_000).describe('Age at which a launch without a status is checked'),
  leadership: z
    .strictObject({
      competes: z
        .boolean()
        .default(true)
        .describe('This instance may lead; false: it only serves the API, and another instance must schedule'),
    })
    .prefault({}),
  checkWebhooksEveryMillis: millis().default(10_000).describe('Timer of the poller `webhooks`; it is also woken'),
  checkQueuedMailsEveryMillis: millis().default(15_000).describe('Timer of the poller `mails`; it is also woken'),
};

/** Sampling of the use of tasks, and the limits at which they are moved off a machine. */
export const usageSettings = {
  checkUsageEveryMillis: millis()
    .default(60_000)
    .describe('Time between two samples of resource usage (poller `usage`)'),
  cleanUsageEveryMillis: millis()
    .default(300_000)
    .describe('Time between two removals of old samples (poller `usage-cleaner`)'),
  numUsageToKeep: count().default(15).describe('Newest samples kept per task'),
  maxConcurrentUsageCollections: count(1).default(15).describe('Slaves sampled at once'),
  shuffleTasksForOverloadedSlaves: z.boolean().default(false).describe('Move tasks off overloaded slaves'),
  shuffleTasksWhenSlaveMemoryUtilizationPercentageExceeds: z
    .number()
    .min(0)
    .max(1)
    .default(0.82)
    .describe('Used share of memory, 0 to 1, above which a slave is overloaded'),
  minutesBeforeNewTaskEligibleForShuffle: minutes()
    .int()
    .default(15)
    .describe('Minutes that a task must have run before it is moved'),
  maxTasksToShuffleTotal: count().default(6).describe('Tasks on the move at once in the cluster'),
  maxTasksToShufflePerHost: count().default(2).describe('Tasks on the move at once off one slave'),
  doNotShuffleRequests: z
    .array(z.string())
    .default([])
    .describe('Requests whose tasks are never moved, in addition to the shuffle blacklist'),
};

/** Priorities of requests, and the limits at which something is late. */
export const prioritySettings = {
  defaultTaskPriorityLevel: amount().default(0.3).describe('Priority of requests that name none'),
  defaultTaskPriorityLevelForRequestType: z
    .record(z.string(), amount())
    .default({ WORKER: 0.5, SERVICE: 0.7 })
    .describe('The same by request type'),
  checkPriorityKillsEveryMillis: millis()
    .default(30_000)
    .describe('Timer of the poller `priority-kills`, which kills tasks for a priority freeze'),
  schedulerPriorityWeightFactor: amount()
    .max(1_000)
    .default(1)
    .describe('Exponent of the priority relative to the waiting time'),
  deltaAfterWhichTasksAreLateMillis: millis()
    .default(30_000)
    .describe('Delay after which a pending task counts as late'),
};
