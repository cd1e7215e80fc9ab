import { Logger } from '@nestjs/common';
import { Clock } from '../clock.js';
import { ClockDifference } from '../clock-difference.js';

/** More than clocks differ that a server of time keeps: it was set, or nothing keeps it. */
const setMillis = 1_000;
/** The first query of a pool opens its connection, which tells little. */
const firstReadings = 3;

/** Time of the database, in epoch milliseconds. */
export const databaseTimeSql = '(extract(epoch FROM clock_timestamp()) * 1000)::float8';

/**
 * The clock of the database, which all instances have in common. Between readings it goes on by the monotonic clock, so
 * nothing comes of it when the clock of this machine is set. Until the first one it shows the time of this machine.
 */
export class DatabaseClock extends Clock {
  private readonly log = new Logger('Clock');
  /** Difference to the monotonic clock of this process. */
  private readonly difference: ClockDifference;
  private readonly listeners: ((millis: number) => void)[] = [];

  /** `wall` is the clock of this machine. */
  constructor(
    private readonly wall: () => number = Date.now,
    private readonly steady: () => number = () => performance.now(),
  ) {
    super();
    this.difference = new ClockDifference(wall() - steady());
  }

  override now(): number {
    return Math.floor(this.steady() + this.difference.millis);
  }

  override monotonic(): number {
    return this.steady();
  }

  override skewMillis(): number {
    return this.wall() - this.now();
  }

  /** For those who run this machine. */
  tellSkew(): void {
    const skew = this.skewMillis();
    const level = Math.abs(skew) > setMillis ? 'warn' : 'log';
    this.log[level](`Clock skew to the database: ${differenceText(skew)}`);
  }

  /** Before anything is decided. */
  async begin(database: { query(sql: string): Promise<{ shown: number }[]> }): Promise<void> {
    for (let left = firstReadings; left > 0; left--) {
      const sentAt = this.steady();
      const [found] = await database.query(`SELECT ${databaseTimeSql} AS shown`);
      this.difference.learn(this.reading(found!.shown, sentAt));
    }
  }

  /** Makes a question that also brings the time of the database. */
  async during<T extends { shown: number }>(ask: () => Promise<T>): Promise<T> {
    const sentAt = this.steady();
    const answer = await ask();
    const moved = this.difference.learn(this.reading(answer.shown, sentAt));
    if (Math.abs(moved) >= setMillis) {
      this.log.warn(`The clock of the database moved by ${differenceText(moved)}`);
      for (const listener of this.listeners) listener(moved);
    }
    return answer;
  }

  /** Called when the clock of the database was set, by more than a second. */
  onJump(listener: (millis: number) => void): void {
    this.listeners.push(listener);
  }

  private reading(shown: number, sentAt: number) {
    return { sentAt, shown: { first: shown, last: shown }, receivedAt: this.steady() };
  }
}

/** A text such as "+12.5 s": ahead. */
function differenceText(millis: number): string {
  const amount = Math.abs(millis);
  const sign = Math.round(amount) === 0 ? '' : millis < 0 ? '-' : '+';
  return sign + (amount < setMillis ? `${Math.round(amount)} ms` : `${(amount / 1000).toFixed(1)} s`);
}
