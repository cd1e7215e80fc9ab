import type { Epoch } from '../../cluster/cluster-driver.js';
import type { KeptLease } from './lease-thread.js';

/** One time of leading, from the takeover to its end. */
export class Term {
  /** Every duty has begun. */
  ready = false;
  readonly ended: Promise<void>;
  private end!: () => void;
  private reason: string | undefined;
  private readonly lease: KeptLease;

  constructor(
    readonly epoch: Epoch,
    keep: (lost: () => void) => KeptLease,
  ) {
    this.ended = new Promise((resolve) => (this.end = resolve));
    this.lease = keep(() => this.holds());
  }

  /** False from the very moment the lease became doubtful, even before any timer has noticed; and from then on. */
  holds(): boolean {
    const problem = this.reason === undefined ? this.lease.problem() : undefined;
    if (problem !== undefined) this.finish(problem);
    return this.reason === undefined;
  }

  /** The main thread lives; the term ends if its lease is in doubt. */
  look(): void {
    this.lease.alive();
    this.holds();
  }

  /** The first reason counts. */
  finish(reason: string): void {
    this.reason ??= reason;
    this.ready = false;
    this.lease.release();
    this.end();
  }

  endedBecause(): string | undefined {
    return this.reason;
  }
}

/** Orders of an operator to this instance about leading, until they are carried out or taken back. */
export class Orders {
  /** Do not compete. */
  suspended = false;
  /** Let another instance lead before competing again. */
  standAside = false;
  /** Take the lease even from an instance that holds it. */
  byForce = false;

  /** The newest order counts: an instance that is to lead neither waits nor stands aside. */
  takeOver(): void {
    this.suspended = false;
    this.standAside = false;
    this.byForce = true;
  }
}
