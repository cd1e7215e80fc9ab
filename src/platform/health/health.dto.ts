/** The process runs. */
export class HealthDto {
  /** Always "UP": a process that is not does not answer. */
  status: 'UP';
}

/** A poller whose last pass failed. It keeps trying. */
export class FailingPollerDto {
  /** The name it is registered under. */
  name: string;
  /** Failed passes since the last one that succeeded. */
  failuresInRow: number;
  /** Error of the last failure. */
  lastError?: string;
  /** The service depends on it, and it has failed for so long that this instance says it is not ready. */
  stopsService: boolean;
}

/** A poller that stands still because operators switched its action off. */
export class DisabledPollerDto {
  /** The name it is registered under. */
  name: string;
  /** The action that is disabled. */
  action: string;
}

/**
 * Readiness of this instance, and its problems. Where authentication is on, callers who may not read the state of the
 * cluster are told `ready` and `leads` alone.
 */
export class ReadinessDto {
  /** The database answers, machines are known, and the pollers that the service depends on do their work. */
  ready: boolean;
  /** This instance leads, and its pollers run. */
  leads: boolean;
  /** The epoch it leads in. */
  epoch?: number;
  /** Address of the instance that leads; absent while none does. */
  leader?: string;
  /** Reason why the database cannot be used. */
  databaseError?: string;
  /** The migration by which a newer program changed the schema: this instance serves no calls until it is upgraded. */
  newerSchema?: string;
  /**
   * Conditions that it waits for before it is ready, such as machines: for half a minute at most. Empty when there are
   * none.
   */
  missing?: string[];
  /** Pollers of this instance that fail. Empty when all is well. */
  failingPollers?: FailingPollerDto[];
  /**
   * Other parts that do not work, such as agents that do not answer their leader. This instance serves all the same.
   */
  degraded?: string[];
  /** Pollers of this instance that stand still on purpose. */
  disabledPollers?: DisabledPollerDto[];
  /** Errors that nothing caught since the start. They are in the log. */
  uncaughtErrors?: number;
}
