import type { Epoch, StaleEpochError } from '../../cluster/cluster-driver.js';

/** Something that acts only while this instance leads. */
export interface LeaderDuty {
  name: string;
  /**
   * Called after the takeover, in the order of registration; the pollers start when all have resolved. Must settle
   * within seconds. A failure gives the leadership up.
   */
  gained(epoch: Epoch): Promise<void>;
  /** Called at once when the lease is lost or given up, in reverse order. Must not need the database. */
  lost(): Promise<void>;
}

export interface Standing {
  /** True after an order not to compete. */
  suspended: boolean;
  /** Milliseconds since the end of its last term; absent while it leads, and when it never did. */
  millisSinceLed?: number;
  /** The migration by which a newer program changed the schema: this instance neither leads nor serves any more. */
  newerSchema?: string;
}

/**
 * The leadership, as all other parts see it. One implementation holds the lease in PostgreSQL; tests may fix an epoch.
 */
export abstract class Leadership {
  /** The epoch this instance leads in, undefined when it does not lead or could not renew its lease in time. */
  abstract current(): Epoch | undefined;
  /** True when this instance leads and every duty has begun: from then on the pollers may run. */
  abstract ready(): boolean;
  abstract register(duty: LeaderDuty): void;
  /** Gives leadership up at once, for instance because a fenced transaction found a newer epoch. */
  abstract stepDown(reason: string): void;
  /**
   * Gives leadership up because a machine has seen a higher epoch. Should this instance lead again, then in one above it:
   * after a restore of the database its epochs may lie below those that the machines know.
   */
  abstract outranked(cause: StaleEpochError): void;
  /**
   * Gives leadership up in favour of another instance: this one competes again when another leads, or after 15 seconds
   * when none does. Nothing happens to an instance that does not lead.
   */
  abstract failOver(reason: string): void;
  /** Makes this instance lead, whichever does now. Resolves when it does; fails when it could not within 15 seconds. */
  abstract takeOver(): Promise<void>;
  /** Gives leadership up and competes no more, until `resume`. */
  abstract suspend(reason: string): void;
  abstract resume(): void;
  /** While the answer is true, this instance leaves the lease to others; an order to take over counts all the same. */
  abstract yieldWhile(another: () => boolean): void;
  /** The orders to this instance, and the time at which it last stopped to lead. */
  abstract standing(): Standing;
  /** Called whenever this instance begins to compete or to lead, leads no more, or is told to do something else. */
  abstract onChange(listener: () => void): void;
  /** Address of the instance that holds the lease now, for error messages and the state page. */
  abstract leaderAddress(): Promise<string | undefined>;
  /** Begins to compete. `address` is what leaderAddress answers in every instance once this one leads. */
  abstract start(address: string): void;
  /** Ends the duties, gives the lease back so that another instance need not wait, and competes no more. */
  abstract stop(): Promise<void>;
}

export class NotLeaderError extends Error {
  constructor(detail: string) {
    super(`This instance does not lead: ${detail}`);
  }
}
