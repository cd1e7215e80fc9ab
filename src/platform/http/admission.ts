import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { SchedulerError } from '../errors.js';

/**
 * Lets so many calls in at a time: beyond that a call is refused before anything of it is done, instead of waiting until its
 * caller gives up. What watches the instance, outside /api, always gets its answer.
 */
export function admitCalls(maxConcurrentCalls: number): RequestHandler {
  let present = 0;
  return (request: Request, response: Response, next: NextFunction) => {
    if (!request.path.startsWith('/api/')) return next();
    if (present >= maxConcurrentCalls) {
      return next(
        new SchedulerError('UNAVAILABLE', `${present} calls are being answered, which is the limit; try again`),
      );
    }
    present++;
    response.once('close', () => present--);
    next();
  };
}
