import { Injectable } from '@nestjs/common';

/** The only source of the time outside src/core (which takes it as an argument). Tests put their own in its place. */
@Injectable()
export class Clock {
  /** Epoch milliseconds. */
  now(): number {
    return Date.now();
  }
}
