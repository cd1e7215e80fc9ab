import type { LeaderEndpoint, ProcessMetrics } from '../../../platform/process/process-role.js';
import type { ProcessMessage } from '../../../platform/process/process-messages.js';
import type { Settings } from '../../../platform/settings/settings.js';

/** What an API worker needs to start. It comes by the channel between the processes: an environment can be read by others. */
export interface WorkerOptions {
  /** Of its slot, from 1. */
  number: number;
  settings: Settings & { databaseUrl: string };
  agentFolder: string;
  leaderInstanceId: string;
  leaderEndpoint: LeaderEndpoint;
  port: number;
  databaseConnections: number;
}

/** The members of an error by which its reader tells what is wrong; errors lose them on their way between processes. */
export interface WorkerFailure {
  message: string;
  stack?: string;
  isStartError: boolean;
  code?: string;
  syscall?: string;
  address?: string;
  port?: number;
}

/** What the leader asks of a worker. */
export interface WorkerRequests {
  /** Comes with a socket: the next connection for the worker, which asks to take it. */
  connection(): void;
  heartbeat(): void;
  metrics(): ProcessMetrics | undefined;
  deliver(message: ProcessMessage): void;
  stop(): void;
}

/** What a worker asks of the leader. */
export interface LeaderRequests {
  /** undefined: there is nothing to start, since the instance stops. */
  options(): WorkerOptions | undefined;
  serving(instanceId: string): void;
  failed(failure: WorkerFailure): void;
  /** From the reply on the connection that it was sent ends with the worker; until then another worker can be given it. */
  takeConnection(): void;
  /** The reply comes when the other processes have it, or do not reply in time. */
  publish(message: ProcessMessage): void;
}
