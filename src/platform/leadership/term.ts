import type { Epoch } from '../../cluster/cluster-driver.js';

/** A leader that could not renew its lease for this long stops: the lease itself runs out a second later. */
const trustMillis = 2_000;

/** One time of leading, from the takeover to its end. Measures by the monotonic clock, which is never set back. */
export class Term {
  /** Every duty has begun. */
  ready = false;
  readonly ended: Promise<void>;
  private end!: () => void;
  private reason: string | undefined;

  constructor(
    readonly epoch: Epoch,
    /** Monotonic time at which the statement was sent that last prolonged the lease. */
    private renewedAt: number,
    private readonly monotonic: () => number,
  ) {
    this.ended = new Promise((resolve) => (this.end = resolve));
  }

  renewed(sentAt: number): void {
    this.renewedAt = sentAt;
  }

  /** False from the very moment the lease became doubtful, even before any timer has noticed. */
  holds(): boolean {
    return this.reason === undefined && !this.doubtful();
  }

  doubtful(): boolean {
    return this.monotonic() - this.renewedAt >= trustMillis;
  }

  /** The first reason counts. */
  finish(reason: string): void {
    this.reason ??= reason;
    this.ready = false;
    this.end();
  }

  endedBecause(): string | undefined {
    return this.reason;
  }
}

/** What an operator told this instance about leading, until it is done or taken back. */
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
