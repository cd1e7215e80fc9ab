import type { Server } from 'node:http';
import type { ProcessMessage, ProcessMessages } from '../../../platform/process/process-messages.js';
import type { LeaderEndpoint, ProcessMetrics } from '../../../platform/process/process-role.js';
import type { Settings } from '../../../platform/settings/settings.js';

/**
 * Data with which an API worker starts. It comes by the channel between the processes: an environment can be read by
 * others.
 */
export interface WorkerOptions {
  /** Number of its slot, from 1. */
  number: number;
  settings: Settings & { databaseUrl: string };
  agentFolder: string;
  leaderInstanceId: string;
  leaderEndpoint: LeaderEndpoint;
  port: number;
  databaseConnections: number;
}

/** Requests of the leader to a worker. */
export interface WorkerRequests {
  /** Comes with a socket: the next connection for the worker, which is to take it. */
  connection(): void;
  heartbeat(): void;
  metrics(): ProcessMetrics | undefined;
  deliver(message: ProcessMessage): void;
  stop(): void;
}

/** Requests of a worker to the leader. */
export interface LeaderRequests {
  /** undefined: there is nothing to start, since the instance stops. */
  options(): WorkerOptions | undefined;
  serving(instanceId: string): void;
  /** Reports why the worker cannot start, in words for the operator. */
  failed(reason: string): void;
  /** From now on the connection that it was sent ends with the worker; until then another worker can be given it. */
  takeConnection(): void;
  /** The reply comes when the other processes have it, or do not reply in time. */
  publish(message: ProcessMessage): void;
}

/** The server of an API worker that has started. */
export interface ApiServer {
  instanceId: string;
  server: Server;
  metrics(): Promise<ProcessMetrics>;
  /** Resolves when the calls that are being answered have their answers. */
  close(): Promise<void>;
}

/** Exported as `startServer` by the module that a worker is to serve. */
export type StartServer = (options: WorkerOptions, messages: ProcessMessages) => Promise<ApiServer>;
