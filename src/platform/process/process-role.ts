import type { MetricObjectWithValues, MetricValue } from 'prom-client';
import type { ProcessMessages } from './process-messages.js';

/** The metrics of one process, as its registry gives them. */
export type ProcessMetrics = MetricObjectWithValues<MetricValue<string>>[];

/** The port on the loopback at which the leader answers its workers, and the key that proves a call to come from one of them. */
export interface LeaderEndpoint {
  port: number;
  key: string;
}

export interface WorkerCounts {
  serving: number;
  /** Workers that start, or are to replace one that has ended. */
  missing: number;
  /** Workers that have ended since the instance began, without those that were stopped with it. */
  ended: number;
}

/** The API workers of an instance, as its leader sees them. */
export interface ApiWorkers {
  /** The port at which callers reach the workers; undefined before `start`. */
  readonly port: number | undefined;
  /** Listens for callers and starts the workers. `serving` resolves when all of them serve; until then connections wait. */
  start(instanceId: string, endpoint: LeaderEndpoint): Promise<{ serving: Promise<unknown> }>;
  counts(): WorkerCounts;
  /** One entry for each worker, and one for what those counted that have ended. */
  metrics(): Promise<ProcessMetrics[]>;
}

/**
 * The part of this process in an instance. A single process is the whole of it. Otherwise the leader schedules, and
 * workers serve the API: a worker is an instance of its own that never competes for the leadership.
 */
export type ProcessRole =
  | { readonly kind: 'single' }
  | {
      readonly kind: 'leader';
      readonly endpointKey: string;
      readonly workers: ApiWorkers;
      readonly messages: ProcessMessages;
    }
  | {
      readonly kind: 'worker';
      readonly leaderInstanceId: string;
      readonly leaderEndpoint: LeaderEndpoint;
      /** The port of the instance, at which the leader accepts connections for this process. */
      readonly port: number;
      /** Connections to the database that this process has for calls. */
      readonly databaseConnections: number;
      readonly messages: ProcessMessages;
    };

export const PROCESS_ROLE = Symbol('ProcessRole');

export const singleProcess: ProcessRole = { kind: 'single' };
