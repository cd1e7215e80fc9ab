import type { Request, RequestHandler, Response } from 'express';
import { SchedulerError } from '../errors.js';
import { callerAddress } from './addresses-of-call.js';
import { userOf } from './caller.js';

/** Ends the connection of a caller who has read nothing of its answer for so long: all of it stands in memory until then. */
export function endUnreadAnswers(millis: number): RequestHandler {
  return (_request, response, next) => {
    // Node.js ends a connection that is idle for so long, and sets the limit anew with the next call.
    response.once('prefinish', () => response.socket?.setTimeout(millis));
    next();
  };
}

/** Answers from this length on are counted. */
const largeFromBytes = 1_048_576;
const mostBytesOfOne = 67_108_864;

/** Large answers that their callers have not read to the end: of one caller no more than 64 MiB are made, or one answer. */
export class LargeAnswers {
  private readonly bytesOf = new Map<string, number>();

  /** Before an answer is sent; fails if its caller has too many. */
  take(response: Response, bytes: number): void {
    if (bytes < largeFromBytes) return;
    const caller = keyOf(response.req);
    const unread = this.bytesOf.get(caller) ?? 0;
    if (unread > 0 && unread + bytes > mostBytesOfOne) {
      const message = `${unread} bytes of large answers to you are not read yet, which is the limit; read them first`;
      throw new SchedulerError('UNAVAILABLE', message);
    }
    this.bytesOf.set(caller, unread + bytes);
    response.once('close', () => {
      const left = this.bytesOf.get(caller)! - bytes;
      if (left > 0) this.bytesOf.set(caller, left);
      else this.bytesOf.delete(caller);
    });
  }
}

/** While authentication is off all callers are one, so they are told apart by their addresses. */
function keyOf(request: Request): string {
  const { issuer, id } = userOf(request);
  return JSON.stringify([issuer, id, callerAddress(request)]);
}
