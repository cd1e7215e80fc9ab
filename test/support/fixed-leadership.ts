import {
  Leadership,
  NotLeaderError,
  type LeaderDuty,
  type Standing,
} from '../../src/platform/leadership/leadership.js';

/** Leads in one epoch from the beginning, for tests that are not about leadership. */
export class FixedLeadership extends Leadership {
  private readonly duties: LeaderDuty[] = [];
  private begun: Promise<void> | undefined;

  constructor(private epoch: number | undefined = 1) {
    super();
  }

  current(): number | undefined {
    return this.epoch;
  }

  ready(): boolean {
    return this.epoch !== undefined;
  }

  register(duty: LeaderDuty): void {
    this.duties.push(duty);
  }

  stepDown(): void {
    this.epoch = undefined;
  }

  outranked(): void {
    this.stepDown();
  }

  failOver(): void {
    this.stepDown();
  }

  async takeOver(): Promise<void> {
    if (this.epoch === undefined) throw new NotLeaderError('its epoch is fixed');
  }

  suspend(): void {
    this.stepDown();
  }

  resume(): void {}

  yieldWhile(): void {}

  standing(): Standing {
    return { suspended: false };
  }

  onChange(): void {}

  leaderAddress(): Promise<string | undefined> {
    return Promise.resolve(this.epoch === undefined ? undefined : 'http://127.0.0.1:7099');
  }

  start(): void {
    const begin = async () => {
      for (const duty of this.duties) if (this.epoch !== undefined) await duty.gained(this.epoch);
    };
    // What steps down in the middle of it has not begun.
    this.begun = begin().catch((cause: unknown) => {
      if (!(cause instanceof NotLeaderError)) throw cause;
    });
  }

  async stop(): Promise<void> {
    this.stepDown();
    if (!this.begun) return;
    await this.begun;
    for (const duty of this.duties.toReversed()) await duty.lost();
  }
}
