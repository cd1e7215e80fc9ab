/**
 * Readings of another clock at the times at which it was asked and answered, between two times of ours. Milliseconds.
 */
export interface ClockReading {
  sentAt: number;
  shown: { first: number; last: number };
  receivedAt: number;
}

/**
 * By how much another clock is ahead of ours, as far as readings of it tell: each leaves a range, as wide as the way there and
 * back took. What is believed changes only where a reading rules it out, and no further than that, so slow answers change nothing.
 */
export class ClockDifference {
  constructor(private believed: number) {}

  get millis(): number {
    return this.believed;
  }

  /** Answers by how much the other clock has moved against what was believed. */
  learn({ sentAt, shown, receivedAt }: ClockReading): number {
    const former = this.believed;
    const [least, most] = [shown.last - receivedAt, shown.first - sentAt];
    this.believed = Math.max(Math.min(former, most), least);
    return this.believed - former;
  }
}
