import type { Slot } from '../contract/types.js';
import { TooLarge, Unreadable, WrongMediaType } from '../raw/failures.js';
import { HttpErrorException } from '../raw/http-error.js';

// The texts of 4xx answers. They name the argument and the operation; what the caller sent is not repeated.

const PLACES: Record<Slot['kind'], string> = {
  path: 'path parameter',
  query: 'query parameter',
  header: 'header',
  cookie: 'cookie',
  field: 'body field',
  body: 'body',
};

const nameOf = (slot: Slot) => `${PLACES[slot.kind]} '${slot.wireName}'`;

export const missingArgument = (where: string, slot: Slot) =>
  new HttpErrorException(400, `The ${nameOf(slot)} of operation '${where}' is missing`);

/** Turns a failure to read into the answer for it; everything else stays what it is. */
export function badArgument(where: string, slot: Slot | undefined, problem: unknown): unknown {
  const what = slot ? nameOf(slot) : 'body';
  if (problem instanceof Unreadable) {
    return new HttpErrorException(400, `The ${what} of operation '${where}' ${sentence(problem.message)}`, {
      cause: problem,
    });
  }
  if (problem instanceof WrongMediaType) {
    return new HttpErrorException(415, `The ${what} of operation '${where}' ${problem.message}`, { cause: problem });
  }
  if (problem instanceof TooLarge) {
    return new HttpErrorException(413, `The ${what} of operation '${where}' ${problem.message}`, { cause: problem });
  }
  return problem;
}

const sentence = (message: string) =>
  /^(?:is|must|holds|ends|has) /.test(message) ? message : `is not readable: ${message}`;
