import { Injectable } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import { setTimeout as delay } from 'node:timers/promises';
import { SchedulerError } from '../errors.js';

/** Longer than a call has to wait for its turn, or for the answer to most statements. */
const longestMillis = 10_000;

/** The calls that this instance is answering. When it stops, they end with their answers, and no more come in. */
@Injectable()
export class CallsInFlight {
  private readonly stop = new AbortController();
  private readonly answers = new Set<Response>();
  private stopping = false;
  private allAnswered: () => void = () => undefined;

  /** Aborted when this instance stops: for answers that would go on without end. */
  get stopped(): AbortSignal {
    return this.stop.signal;
  }

  /** Before everything else that a call passes. */
  readonly watch = (_call: Request, response: Response, next: NextFunction): void => {
    if (this.stopping) response.set('Connection', 'close');
    this.answers.add(response);
    response.once('close', () => {
      this.answers.delete(response);
      if (this.answers.size === 0) this.allAnswered();
    });
    next();
  };

  /** Another instance, or a later try, is told from a call that was cut off. */
  readonly refuseWhenStopping = (_call: Request, _response: Response, next: NextFunction): void =>
    next(this.stopping ? new SchedulerError('UNAVAILABLE', 'This instance is stopping; try again') : undefined);

  /** Resolves when all are answered, or have had their time; what comes meanwhile is refused. */
  async end(): Promise<void> {
    this.stopping = true;
    this.stop.abort();
    for (const answer of this.answers) if (!answer.headersSent) answer.set('Connection', 'close');
    if (this.answers.size === 0) return;
    const answered = new Promise<void>((resolve) => (this.allAnswered = resolve));
    await Promise.race([answered, delay(longestMillis, undefined, { ref: false })]);
  }
}
