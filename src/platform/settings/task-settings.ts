import { z } from 'zod';
import { longestText } from '../http/input-limits.js';
import { amountAbove0, count, millis, minutesAbove0, seconds, timeout } from './bounds.js';

/** Time limits of jobs. */
export const jobSettings = {
  checkJobsEveryMillis: millis()
    .default(600_000)
    .describe(
      'Time between two looks at the run times of all jobs (poller `jobs`); each is looked at when its own time has come, too',
    ),
  taskExecutionTimeLimitMillis: millis()
    .optional()
    .describe('Longest run of a task that is not long-running; default: no limit'),
  warnIfScheduledJobIsRunningForAtLeastMillis: millis()
    .default(86_400_000)
    .describe('Shortest run of a scheduled job that may be called overdue'),
  warnIfScheduledJobIsRunningPastNextRunPct: count()
    .default(200)
    .describe('Share of its expected run time, in percent, beyond which a run is called overdue'),
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
    .describe('How long a job may go on after it was told to go'),
  askDriverToKillTasksAgainAfterMillis: millis().default(300_000).describe('Time after which a kill is sent again'),
  pendingDeployHoldTaskDuringDecommissionMillis: millis()
    .default(600_000)
    .describe('How long a task of a deploy in progress stays on a machine that is decommissioned'),
  defaultValueForKillTasksOfPausedRequests: z
    .boolean()
    .default(true)
    .describe('Whether pausing kills tasks unless killTasks says otherwise'),
  defaultBounceExpirationMinutes: minutesAbove0().default(60).describe('Time after which a bounce is given up'),
  dispatchTaskShellCommandsEverySeconds: seconds()
    .default(5)
    .describe('Timer of the poller `shell-commands`, which sends them to machines; it is also woken'),
  runBeforeKillTimeoutMillis: timeout()
    .default(300_000)
    .describe('How long a kill waits for the shell command that is to run before it'),
  maxUnfinishedShellCommandsPerTask: count()
    .default(10)
    .describe('Shell commands of one task that may wait or run at once'),
  maxShellCommandsKeptPerTask: count().default(500).describe('Newest shell commands kept in the record of a task'),
  allowTestResourceCalls: z
    .boolean()
    .default(false)
    .describe('Whether the operations below /api/test may break this instance; MUSTER_ALLOW_TEST_RESOURCE_CALLS wins'),
  allowedMetadataTypes: z.array(z.string()).default([]).describe('Types of notes on tasks; empty: any'),
  maxMetadataTypeLength: count(0, longestText.name).default(200).describe('Longest type of such a note, in characters'),
  maxMetadataTitleLength: count(0, longestText.note)
    .default(2_000)
    .describe('Titles of such notes must be shorter, in characters'),
  maxMetadataMessageLength: count(0, longestText.note).default(10_000).describe('The same of their messages'),
  maxMetadataPerTask: count().default(1_000).describe('Notes that one task may have'),
  hardKillAfterMillis: millis()
    .default(180_000)
    .describe('Time between SIGTERM and SIGKILL unless the deploy says otherwise'),
  cpuHardLimit: amountAbove0()
    .optional()
    .describe('Cores up to which every task may burst, at least; default: no hard limit'),
  cpuHardLimitScaleFactor: amountAbove0().default(1.25).describe('Hard limit of larger tasks, per core asked for'),
};
