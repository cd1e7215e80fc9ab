import { z } from 'zod';
import { programRoles, programStates, shellCommandUpdateTypes, taskStates } from '../../core/model/enums.js';
import {
  type AgentMetrics,
  type AgentTaskList,
  type LaunchAnswer,
  type MachineSnapshot,
  type MachineUsage,
  type ProgramReport,
  removalReasons,
  type SandboxEntry,
  type ShellCommandOrder,
  type ShellCommandReport,
  type StatusUpdate,
  type TaskCheck,
  type TaskCheckAnswer,
  type TaskStatistics,
} from '../../cluster/cluster-driver.js';

/** The records of the cluster's port as the agent sends them: each is checked again by the scheduler that reads it. */

const State = z.enum(taskStates);

export const launchAnswer: z.ZodType<LaunchAnswer> = z.discriminatedUnion('outcome', [
  z.object({ taskId: z.string(), outcome: z.literal('ACCEPTED'), state: State, directory: z.string() }),
  z.object({ taskId: z.string(), outcome: z.literal('PORT_IN_USE'), port: z.number() }),
  z.object({ taskId: z.string(), outcome: z.literal('DISK_FULL') }),
  z.object({ taskId: z.string(), outcome: z.literal('ID_IN_USE') }),
  z.object({ taskId: z.string(), outcome: z.literal('REFUSED'), reason: z.string() }),
  z.object({ taskId: z.string(), outcome: z.literal('UNKNOWN'), reason: z.string() }),
]);

export const shellCommandOrder: z.ZodType<ShellCommandOrder> = z.object({
  taskId: z.string().min(1),
  name: z.string().min(1),
  timestamp: z.int().min(0),
  options: z.array(z.string()),
  logfileName: z.string().optional(),
});

/** The most that the setting maxHealthcheckResponseBodyBytes allows. */
const longestOutput = 1_048_576;

export const taskCheck: z.ZodType<TaskCheck> = z.object({
  taskId: z.string().min(1),
  command: z.string().min(1),
  timeoutMillis: z.int().min(1),
  maxOutputBytes: z.int().min(0).max(longestOutput),
});

export const taskCheckAnswer: z.ZodType<TaskCheckAnswer> = z.discriminatedUnion('outcome', [
  z.object({ outcome: z.literal('ENDED'), exitCode: z.int(), output: z.string() }),
  z.object({ outcome: z.literal('FAILED'), reason: z.string() }),
  z.object({ outcome: z.literal('GONE') }),
  z.object({ outcome: z.literal('UNKNOWN'), reason: z.string() }),
]);

const shellCommandReport: z.ZodType<ShellCommandReport> = z.object({
  name: z.string(),
  timestamp: z.number(),
  updateType: z.enum(shellCommandUpdateTypes),
  message: z.string().optional(),
  outputFilename: z.string().optional(),
});

const programReport: z.ZodType<ProgramReport> = z.object({
  name: z.string(),
  role: z.enum(programRoles),
  state: z.enum(programStates),
  starts: z.int().min(0),
  exitCode: z.number().optional(),
  message: z.string().optional(),
});

export const statusUpdate: z.ZodType<StatusUpdate> = z.object({
  agentId: z.string(),
  incarnation: z.string(),
  number: z.number(),
  taskId: z.string(),
  slaveId: z.string(),
  state: State,
  timestamp: z.number(),
  message: z.string().optional(),
  reason: z.string().optional(),
  exitCode: z.number().optional(),
  directory: z.string().optional(),
  shellCommand: shellCommandReport.optional(),
  program: programReport.optional(),
});

export const agentTaskList: z.ZodType<AgentTaskList> = z.object({
  agentId: z.string(),
  incarnation: z.string(),
  asOfUpdate: z.number(),
  acknowledged: z.number().optional(),
  tasks: z.array(z.object({ taskId: z.string(), state: State })),
});

/** A machine as its agent describes it. */
export interface PresentedMachine extends Omit<MachineSnapshot, 'silentForMillis'> {
  /** Epoch milliseconds of this answer, by the clock of the agent's machine. */
  seenAt: number;
}

export const machineSnapshot: z.ZodType<PresentedMachine> = z.object({
  slaveId: z.string(),
  agentId: z.string(),
  incarnation: z.string(),
  hostname: z.string(),
  rackId: z.string(),
  attributes: z.record(z.string(), z.string()),
  cpus: z.number(),
  memoryMb: z.number(),
  diskMb: z.number(),
  extended: z.record(z.string(), z.number()).optional(),
  portRanges: z.array(z.object({ begin: z.number(), end: z.number() })),
  portsInUse: z.array(z.number()),
  isDiskFull: z.boolean().optional(),
  runsContainers: z.boolean().optional(),
  containersRefusal: z.string().optional(),
  seenAt: z.number(),
});

export const taskStatistics: z.ZodType<TaskStatistics> = z.object({
  taskId: z.string(),
  cpusLimit: z.number(),
  cpusNrPeriods: z.number(),
  cpusNrThrottled: z.number(),
  cpusSystemTimeSecs: z.number(),
  cpusThrottledTimeSecs: z.number(),
  cpusUserTimeSecs: z.number(),
  memAnonBytes: z.number(),
  memFileBytes: z.number(),
  memLimitBytes: z.number(),
  memMappedFileBytes: z.number(),
  memRssBytes: z.number(),
  memTotalBytes: z.number(),
  diskLimitBytes: z.number(),
  diskUsedBytes: z.number(),
  timestamp: z.number(),
});

const agentMetrics: z.ZodType<AgentMetrics> = z.object({
  agentId: z.string(),
  sandboxDiskUsedBytes: z.number(),
  sandboxDiskTotalBytes: z.number(),
  lastCleanupAt: z.number().optional(),
  failures: z.number(),
  removed: z.array(z.object({ reason: z.enum(removalReasons), count: z.number(), bytes: z.number() })),
  uploads: z
    .object({
      waiting: z.number(),
      oldestSeconds: z.number(),
      files: z.number(),
      bytes: z.number(),
      failures: z.number(),
      keptFiles: z.number(),
      keptBytes: z.number(),
      removedFiles: z.number(),
    })
    .optional(),
});

export const machineUsage: z.ZodType<MachineUsage> = z.object({
  slaveId: z.string(),
  timestamp: z.number(),
  memTotalBytes: z.number(),
  memFreeBytes: z.number(),
  cpus: z.number(),
  load1Min: z.number(),
  load5Min: z.number(),
  load15Min: z.number(),
  diskUsedBytes: z.number(),
  diskTotalBytes: z.number(),
  tasks: z.array(taskStatistics),
  agent: agentMetrics.optional(),
});

export const sandboxEntry: z.ZodType<SandboxEntry> = z.object({
  name: z.string(),
  mtime: z.number(),
  size: z.number(),
  mode: z.string(),
});
