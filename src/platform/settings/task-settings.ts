import { z } from 'zod';
import { longestText } from '../http/input-limits.js';
import { amountAbove0, count, millis, minutesAbove0, seconds, timeout } from './bounds.js';

/** Time limits of jobs. */
export const jobSettings = {
  checkJobsEveryMillis: millis()
    .default(600_000)
    .describe(
      'Time between two checks of the run times of all jobs (poller `jobs`); each job is also checked at its own time',
    ),
  taskExecutionTimeLimitMillis: millis()
    .optional()
    .describe('Longest run of a task that is not long-running; default: no limit'),
  warnIfScheduledJobIsRunningForAtLeastMillis: millis()
    .default(86_400_000)
    .describe('Shortest run of a scheduled job that can be overdue'),
  warnIfScheduledJobIsRunningPastNextRunPct: count()
    .default(200)
    .describe('Share of the expected run time, in percent, beyond which a run is overdue'),
};

/** Limits for running tasks. */
export const taskSettings = {
  killAfterTasksDoNotRunDefaultSeconds: seconds()
    .default(600)
    .describe('Age at which a task that never ran is replaced'),
  killTaskIfNotHealthyAfterSeconds: seconds()
    .default(600)
    .describe('Run time after which a task that never was healthy is replaced'),
  killNonLongRunningTasksInCleanupAfterSeconds: seconds()
    .default(86_400)
    .describe('Time for which a job may go on after an order to end'),
  askDriverToKillTasksAgainAfterMillis: millis().default(300_000).describe('Time after which a kill is sent again'),
  pendingDeployHoldTaskDuringDecommissionMillis: millis()
    .default(600_000)
    .describe('Time for which a task of a deploy in progress stays on a machine in decommission'),
  defaultValueForKillTasksOfPausedRequests: z
    .boolean()
    .default(true)
    .describe('A pause without killTasks kills the tasks'),
  defaultBounceExpirationMinutes: minutesAbove0().default(60).describe('Time after which a bounce is given up'),
  dispatchTaskShellCommandsEverySeconds: seconds()
    .default(5)
    .describe('Timer of the poller `shell-commands`, which sends them to machines; it is also woken'),
  runBeforeKillTimeoutMillis: timeout()
    .default(300_000)
    .describe('Time for which a kill waits for the shell command before it'),
  maxUnfinishedShellCommandsPerTask: count()
    .default(10)
    .describe('Shell commands of one task that may wait or run at once'),
  maxShellCommandsKeptPerTask: count().default(500).describe('Newest shell commands kept in the record of a task'),
  allowTestResourceCalls: z
    .boolean()
    .default(false)
    .describe(
      'Allow the operations below /api/test, which can break this instance; MUSTER_ALLOW_TEST_RESOURCE_CALLS has precedence',
    ),
  allowedMetadataTypes: z.array(z.string()).default([]).describe('Types of notes on tasks; empty: any'),
  maxMetadataTypeLength: count(0, longestText.name).default(200).describe('Longest type of such a note, in characters'),
  maxMetadataTitleLength: count(0, longestText.note)
    .default(2_000)
    .describe('Titles of such notes must be shorter, in characters'),
  maxMetadataMessageLength: count(0, longestText.note)
    .default(10_000)
    .describe('Messages of such notes must be shorter, in characters'),
  maxMetadataPerTask: count().default(1_000).describe('Most notes of one task'),
  hardKillAfterMillis: millis()
    .default(180_000)
    .describe('Time between SIGTERM and SIGKILL unless the deploy says otherwise'),
  cpuHardLimit: amountAbove0()
    .optional()
    .describe('Cores up to which every task may burst, at least; default: no hard limit'),
  cpuHardLimitScaleFactor: amountAbove0().default(1.25).describe('Hard limit of larger tasks, per requested core'),
};
