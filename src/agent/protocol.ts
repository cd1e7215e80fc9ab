import { z } from 'zod';
import type {
  AgentTaskList,
  KillAnswer,
  LaunchAnswer,
  MachineSnapshot,
  SandboxEntry,
  StatusUpdate,
} from '../cluster/cluster-driver.js';

/**
 * The wire between the scheduler and an agent: JSON over HTTP on loopback, with the shared secret as a bearer token.
 * Calls that change something, and those that read for the leader, carry the epoch; 409 answers one that is over.
 */
export const paths = {
  hello: '/v1/hello',
  tasks: '/v1/tasks',
  launch: '/v1/launch',
  kill: '/v1/kill',
  updates: '/v1/updates',
  machines: '/v1/machines',
  shutdown: '/v1/shutdown',
  statistics: '/v1/tasks/:taskId/statistics',
  sandbox: '/v1/tasks/:taskId/sandbox',
  sandboxList: '/v1/tasks/:taskId/sandbox/list',
  sandboxRead: '/v1/tasks/:taskId/sandbox/read',
  sandboxDownload: '/v1/tasks/:taskId/sandbox/download',
} as const;

export const taskPath = (pattern: string, taskId: string): string =>
  pattern.replace(':taskId', () => encodeURIComponent(taskId));

/** Headers of the answers that carry a file's bytes. */
export const fileHeaders = { size: 'x-file-size', mtime: 'x-file-mtime' } as const;

const Epoch = z.number().int().min(0);

export const HelloRequest = z.object({ epoch: Epoch });
export type HelloRequest = z.infer<typeof HelloRequest>;
export interface HelloAnswer {
  agentId: string;
  incarnation: string;
}

/** Each launch is checked on its own, so that one unreadable document is refused and the others start. */
export const LaunchRequest = z.object({ epoch: Epoch, launches: z.array(z.unknown()) });
export interface LaunchBatchAnswer {
  answers: LaunchAnswer[];
}

export const KillRequest = z.object({
  epoch: Epoch,
  taskId: z.string().min(1),
  graceMillis: z.number().min(0),
});
export type KillRequest = z.infer<typeof KillRequest>;
export interface KillResult {
  answer: Exclude<KillAnswer, 'UNKNOWN'>;
}

/** killTasks: every task gets its SIGTERM, then SIGKILL after graceMillis, before the agent ends. */
export const ShutdownRequest = z.object({
  killTasks: z.boolean(),
  graceMillis: z.number().min(0),
});
export type ShutdownRequest = z.infer<typeof ShutdownRequest>;

/** Asking for what comes after n says that everything up to n is stored: the agent forgets it. */
export const UpdatesQuery = z.object({
  epoch: z.coerce.number().int().min(0),
  incarnation: z.string(),
  after: z.coerce.number().int().min(0),
  waitMillis: z.coerce.number().int().min(0).max(60_000),
});
export type UpdatesQuery = z.infer<typeof UpdatesQuery>;
export interface UpdatesAnswer {
  incarnation: string;
  updates: StatusUpdate[];
  /** Grows when something about a machine changed: time to ask for the machines again. */
  machinesVersion: number;
}

export interface MachinesAnswer {
  machines: MachineSnapshot[];
  machinesVersion: number;
}
export type TasksAnswer = AgentTaskList;
export interface SandboxAnswer {
  root: string;
}
export interface SandboxListAnswer {
  entries: SandboxEntry[];
}
export interface ErrorAnswer {
  message: string;
  /** The highest epoch seen, in a 409. */
  epoch?: number;
}

/** What `endpoint.json` in the agent's folder says about a running agent. */
export const Endpoint = z.object({
  pid: z.number().int(),
  /** Start time of the process in clock ticks since boot: tells it from a later one with the same pid. */
  startTime: z.string(),
  host: z.string(),
  port: z.number().int(),
  agentId: z.string(),
  incarnation: z.string(),
});
export type Endpoint = z.infer<typeof Endpoint>;
