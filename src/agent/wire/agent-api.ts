import { type Client, contract, get, header, param, post, prefix, query, unit } from 'rest-contract';
import { z } from 'zod';
import { sandboxViews } from '../../cluster/cluster-driver.js';
import type { LaunchSpec } from '../../core/model/launch.js';
import {
  agentTaskList,
  launchAnswer,
  machineSnapshot,
  machineUsage,
  sandboxEntry,
  shellCommandOrder,
  statusUpdate,
  taskCheck,
  taskCheckAnswer,
  taskStatistics,
} from './agent-records.js';
import { fileBytes } from './file-bytes.js';

/** On a refusal, 409: the epoch that ended the one of the call. */
export const highestEpochHeader = 'highest-epoch';

export const maxLaunchBytes = 64 * 1024 * 1024;
/** Most bytes of one read; a download has no limit. */
const maxReadBytes = 1024 * 1024;

const Count = z.int().min(0);
const Millis = z.number().min(0);
/** A caller that does not say it is of an older version and asks for what may be seen by all readers. */
const View = param(z.enum(sandboxViews)).optional('OF_TASK');

/** Files of a task, live or ended. 404: no such file, or none that may be seen. */
export const SandboxApi = contract('SandboxApi', {
  /** 404: no files of this task. */
  root: get({}, z.object({ root: z.string() }), { path: '' }),
  list: get({ path: z.string(), view: View }, z.array(sandboxEntry)),
  read: get({ path: z.string(), offset: Count, length: Count.max(maxReadBytes), view: View }, fileBytes),
  download: get(
    { path: z.string(), offset: param(Count).optional(0), length: Count.optional(), view: View },
    fileBytes,
  ),
});

export const TaskApi = contract('TaskApi', {
  /** 404: the task does not run. */
  statistics: get({}, taskStatistics),
  sandbox: SandboxApi,
});

/** Operations of an agent for the leader of an epoch. */
export const LeaderApi = contract('LeaderApi', {
  /** After this nothing of an older epoch can get in. */
  hello: post({}, z.object({ agentId: z.string(), incarnation: z.string() })),
  tasks: get({}, agentTaskList),
  launch: post(
    // Taken as they come: the launcher checks each on its own, so that an unreadable one is refused and the others start.
    { launches: z.array(z.custom<LaunchSpec>()) },
    z.array(launchAnswer),
    { maxBodyBytes: maxLaunchBytes },
  ),
  kill: post({ taskId: z.string().min(1), graceMillis: Millis }, z.enum(['KILLING', 'GONE'])),
  /** Answers the ids of which nothing is or was here; from then on none of them can start. */
  withdraw: post({ taskIds: z.array(z.string().min(1)) }, z.array(z.string())),
  runCommand: post({ order: shellCommandOrder }, z.enum(['ACCEPTED', 'GONE'])),
  /** Answers when the command has ended. 404: an older agent. */
  check: post({ check: taskCheck }, taskCheckAnswer),
  /** Asking for what comes after n says that everything up to n is stored: the agent forgets it. */
  updates: get(
    { incarnation: z.string(), after: Count, waitMillis: Count.max(60_000) },
    z.object({
      incarnation: z.string(),
      updates: z.array(statusUpdate),
      /** Grows when something about a machine changed: time to ask for the machines again. */
      machinesVersion: z.number(),
      /** The clock of the machine when it was asked and when it answers, epoch milliseconds. Absent: an older agent. */
      clock: z.object({ first: z.number(), last: z.number() }).optional(),
    }),
  ),
});

/** Operations of an agent for a caller that knows its secret. */
export const TrustedApi = contract('TrustedApi', {
  /** 409 with the header `highest-epoch`: the epoch is over. */
  leader: prefix({ epoch: header('epoch', Count) }, LeaderApi, { path: '' }),
  machines: get({}, z.object({ machines: z.array(machineSnapshot), machinesVersion: z.number() })),
  /** 404: no such slave here. */
  usage: get({ slaveId: z.string() }, machineUsage),
  // In the query: an id may be one that a URL's path cannot hold, such as "..".
  task: prefix({ taskId: query(z.string()) }, TaskApi),
  /** Reason why no task may run as this account; absent: one may. */
  refusedUser: get({ user: z.string() }, z.object({ refusal: z.string().optional() })),
  /** killTasks: every task gets its SIGTERM, then SIGKILL after graceMillis, before the agent ends. */
  shutdown: post({ killTasks: z.boolean(), graceMillis: Millis }, unit),
});

/** The wire between the scheduler and an agent: HTTP on loopback, with the shared secret as a bearer token. */
export const AgentApi = contract('AgentApi', {
  // A missing header reads as an empty one, which is wrong like any other: 401, not 400.
  trusted: prefix({ authorization: header('authorization', z.string()).whenAbsent('') }, TrustedApi, { path: 'v1' }),
});

export type TrustedAgent = Client<typeof TrustedApi>;
export type LeaderAgent = Client<typeof LeaderApi>;

export const bearer = (secret: string): string => `Bearer ${secret}`;
