import { record } from '../schema.js';

/** One figure. Which members it has depends on its kind: a gauge, a counter, or times in seconds. */
export interface Metric {
  /** What a gauge shows now. An addition of Muster. */
  value?: number;
  /** What a counter has come to, or the number of times. An addition of Muster. */
  count?: number;
  /** Of times: all together. An addition of Muster. */
  sum?: number;
  /** Of times: on average. An addition of Muster. */
  mean?: number;
  /** Of times: half of them were no longer. An addition of Muster. */
  p50?: number;
  /** Of times: 95 of 100 were no longer. An addition of Muster. */
  p95?: number;
  /** Of times: 99 of 100 were no longer. An addition of Muster. */
  p99?: number;
}

/** The figures of this instance and of the service. */
export interface MetricsContainer {
  /**
   * By name, and by labels where there are several of a name: muster_tasks{state=TASK_RUNNING}. Names tell the unit.
   */
  metrics: Record<string, Metric>;
}
export const MetricsContainer = record<MetricsContainer>('MetricsContainer');

/** The process runs. */
export interface Health {
  /** Always "UP": a process that is not does not answer. */
  status: 'UP';
}
export const Health = record<Health>('Health');

/** A poller whose last pass failed. It keeps trying. */
export interface FailingPoller {
  /** The name it is registered under. */
  name: string;
  /** Failed passes since the last one that succeeded. */
  failuresInRow: number;
  /** What went wrong last. */
  lastError?: string;
  /** The service depends on it, and it has failed for so long that this instance says it is not ready. */
  stopsService: boolean;
}

/** A poller that stands still because operators switched its action off. */
export interface DisabledPoller {
  /** The name it is registered under. */
  name: string;
  /** The action that is disabled. */
  action: string;
}

/**
 * Whether this instance can serve, and what is wrong if something is. Where authentication is on, callers who may not read the state of
 * the cluster are told `ready` and `leads` alone.
 */
export interface Readiness {
  /** The database answers, machines are known, and the pollers that the service depends on do their work. */
  ready: boolean;
  /** This instance leads, and its pollers run. */
  leads: boolean;
  /** The epoch it leads in. */
  epoch?: number;
  /** Address of the instance that leads; absent while none does. */
  leader?: string;
  /** Why the database cannot be used. */
  databaseError?: string;
  /** The migration by which a newer program changed the schema: this instance serves no calls until it is upgraded. */
  newerSchema?: string;
  /** What it waits for before it is ready, such as machines: for half a minute at most. Empty when there is nothing. */
  missing?: string[];
  /** Pollers of this instance that fail. Empty when all is well. */
  failingPollers?: FailingPoller[];
  /** What else does not work, such as agents that do not answer their leader. This instance serves all the same. */
  degraded?: string[];
  /** Pollers of this instance that stand still on purpose. */
  disabledPollers?: DisabledPoller[];
  /** Errors that nothing caught since the start. They are in the log. */
  uncaughtErrors?: number;
}
export const Readiness = record<Readiness>('Readiness');
