import { Injectable } from '@nestjs/common';

const kept = 200;

/**
 * Times that the newest status updates took from the event on the machine until they were stored. Of this process only.
 */
@Injectable()
export class StatusDelays {
  private readonly delays: number[] = [];

  record(millis: number): void {
    // The clock of another machine may be ahead of ours.
    this.delays.push(Math.max(0, millis));
    if (this.delays.length > kept) this.delays.shift();
  }

  /** In whole milliseconds; 0 when there were none. */
  average(): number {
    if (this.delays.length === 0) return 0;
    return Math.round(this.delays.reduce((sum, delay) => sum + delay, 0) / this.delays.length);
  }
}
