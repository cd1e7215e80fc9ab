import { type Client, contract, get, header, post, prefix, query, unit } from 'rest-contract';
import { z } from 'zod';
import { LocalSettings } from '../platform/settings/local-settings.js';
import { logrotateFrequencies } from '../platform/settings/log-rotation-settings.js';
import { maxLaunchBytes, TaskApi } from '../agent/wire/agent-api.js';
import {
  machineUsage,
  shellCommandOrder,
  statusUpdate,
  taskCheck,
  taskCheckAnswer,
} from '../agent/wire/agent-records.js';
import { Artifact, executorArtifacts, LogUploads } from '../agent/wire/launch-spec.js';

/** Directory in which the sandbox of a task is mounted in its container. */
export const podSandboxPath = '/mnt/cluster/sandbox';
/** Name of the container of a task. */
export const podContainerName = 'task';

const Count = z.int().min(0);
const TaskId = z.string().min(1).max(1_000);
/** Becomes the name of a directory. */
const DnsName = z
  .string()
  .max(253)
  .regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/)
  .refine((name) => !name.includes('..'));
const UserNumber = z.int().min(1).max(2_147_483_647);
/** More tasks than one node can have. */
const mostTasks = 10_000;

/** How the logs of a task are rotated, and what of its files is uploaded: as its launch says it. */
const logsToKeep = z.object({
  /** Absent: it has none. */
  executorData: z
    .object({
      logrotateFrequency: z.enum(logrotateFrequencies).optional(),
      skipLogrotateAndCompress: z.boolean().optional(),
    })
    .optional(),
  /** Output files of the programs around the main one, at the top of the sandbox. */
  programLogs: z.array(z.string().regex(/^[^/\0]{1,255}$/)).max(1_000),
  /** Absent: nothing is uploaded. */
  uploads: LogUploads.optional(),
});

/** What executorData says to the agent of a node. */
const executorOfPod = z.object({
  /** Absent: the agent's own limit. */
  maxTaskThreads: z.int().min(1).optional(),
  preserveTaskSandboxAfterFinish: z.boolean().optional(),
});

/** Files that are fetched into the sandbox, by the node's agent, before the task begins. */
const podArtifacts = z.object({
  /** Tasks of one request share what they fetch. */
  requestId: z.string(),
  uris: z.array(Artifact),
  ...executorArtifacts,
});
export type PodArtifactList = z.infer<typeof podArtifacts>;

/** Facts of a task that the agent of a node needs before its pod is made. */
export const podToPrepare = z.object({
  taskId: TaskId,
  namespace: DnsName,
  podName: DnsName,
  /** Owner of its files. Absent: the image says who it is, and its sandbox is open to every user who gets there. */
  user: z.object({ uid: UserNumber, gid: UserNumber }).optional(),
  /** 0: no limit. Cores and MB, as in its launch. */
  cpus: z.number().min(0),
  memoryMb: z.number().min(0),
  diskMb: z.number().min(0),
  /** Absent: as the settings of the agent say, and nothing is uploaded. */
  logs: logsToKeep.optional(),
  /** Present for tasks with executorData, whose directory is one below the sandbox. */
  executor: executorOfPod.optional(),
  /** Absent: there are none. */
  artifacts: podArtifacts.optional(),
});
export type PodToPrepare = z.infer<typeof podToPrepare>;

const prepareAnswer = z.discriminatedUnion('outcome', [
  /**
   * `path`: of the directory on the node that its container gets as its sandbox. `artifacts`: of the directory in which its pod waits
   * for its files (see `artifactsSaid`); absent: it has none. Both exist. Asked again, the answer is the same.
   */
  z.object({ outcome: z.literal('PREPARED'), path: z.string(), artifacts: z.string().optional() }),
  /** Too little of the disk is free. Nothing was made. */
  z.object({ outcome: z.literal('DISK_FULL') }),
  /** For good: its pod has ended, or one of the names is that of another. Nothing was made. */
  z.object({ outcome: z.literal('REFUSED'), reason: z.string() }),
]);
export type PrepareAnswer = z.infer<typeof prepareAnswer>;

const overThreads = z.object({ taskId: z.string(), podName: z.string(), seen: z.number(), limit: z.number() });

/** Names of the files by which the agent says, in the directory `artifacts`, that all files are there, or why they are not. */
export const artifactsSaid = { ready: 'ready', failed: 'failed' } as const;

/** Content of the file `failed`: how the task ends. */
export const artifactFailure = z.object({
  state: z.enum(['TASK_FAILED', 'TASK_LOST']),
  message: z.string(),
  reason: z.string().optional(),
});
export type ArtifactFailure = z.infer<typeof artifactFailure>;

/** Settings of `cluster.local` for commands: agents of nodes have no settings of their own about it. */
export const CommandSettings = LocalSettings.pick({
  shellCommands: true,
  shellCommandPrefix: true,
  shellCommandPidPlaceholder: true,
  shellCommandUserPlaceholder: true,
  shellCommandPidFile: true,
  shellCommandTimeoutMillis: true,
}).strip();
export type CommandSettings = z.infer<typeof CommandSettings>;

/**
 * Operations of the agent of a node for the leader of an epoch. 409 with the header `highest-epoch`: the epoch is over.
 */
export const PodLeaderApi = contract('PodLeaderApi', {
  /** After this nothing of an older epoch can get in. `agentId` is the name of the node; `incarnation` that of the agent's directory. */
  hello: post({}, z.object({ agentId: z.string(), incarnation: z.string() })),
  /** Before the pod is made: its sandbox, to be mounted from the node. */
  prepare: post({ pod: podToPrepare }, prepareAnswer, { maxBodyBytes: maxLaunchBytes }),
  /** GONE: the task does not run here (any more), and the command never will. */
  runCommand: post({ order: shellCommandOrder, settings: CommandSettings }, z.enum(['ACCEPTED', 'GONE'])),
  /** Runs the command and waits for its end. */
  check: post({ check: taskCheck }, taskCheckAnswer),
  /**
   * Their pods have ended. No command begins in them any more, and those that run are ended; their reports are among the updates up
   * to number `upTo` (0: all of them are acknowledged). From now on their files are kept for a time. Unknown ones are passed over.
   */
  ended: post({ taskIds: z.array(TaskId).max(mostTasks) }, z.object({ upTo: z.number() })),
  /**
   * Results of commands: updates with a `shellCommand`, numbered within the incarnation. A call for those after n
   * confirms that everything up to n is stored: the agent forgets it, unless it is killed then. With another
   * incarnation nothing is forgotten, and the answer is empty but for the right one.
   */
  updates: get(
    { incarnation: z.string(), after: Count, waitMillis: Count.max(60_000) },
    z.object({
      incarnation: z.string(),
      updates: z.array(statusUpdate),
      /** Tasks that take more of the disk than they may, each time until `ended` is told of them; a new one ends the wait. */
      overDisk: z.array(z.object({ taskId: z.string(), podName: z.string(), diskMb: z.number() })),
      /** The same for tasks with more threads than they may have. Absent: an older agent. */
      overThreads: z.array(overThreads).optional(),
      isDiskFull: z.boolean(),
    }),
  ),
});

/** Operations of the agent of a node for a caller that knows its secret. */
export const PodTrustedApi = contract('PodTrustedApi', {
  leader: prefix({ epoch: header('epoch', Count) }, PodLeaderApi, { path: '' }),
  /** Use of the node, with its running tasks. `slaveId` is the name of the node. */
  usage: get({}, machineUsage),
  /** Files of tasks that run or have ended, and figures of those that run: as those of an agent of processes. */
  task: prefix({ taskId: query(z.string()) }, TaskApi),
  /** Answers where the agent can read its disk. */
  health: get({}, unit),
});

/** The wire between a scheduler and the agent of a node of Kubernetes: HTTPS by a shared key, with a secret in each call. */
export const PodAgentApi = contract('PodAgentApi', {
  // A missing header reads as an empty one, which is wrong like any other: 401, not 400.
  trusted: prefix({ authorization: header('authorization', z.string()).whenAbsent('') }, PodTrustedApi, { path: 'v1' }),
});

export type TrustedPodAgent = Client<typeof PodTrustedApi>;
export type LeaderPodAgent = Client<typeof PodLeaderApi>;
