import type { Logger } from '@nestjs/common';
import { isPassing } from './database/database-errors.js';

/**
 * Logs a failure. One that will pass by itself, such as a database that is away or a leader that was replaced, is one
 * line of warning: where in the program it was met says nothing. All else is an error with its stack.
 */
export function tellFailure(log: Logger, what: string, cause: unknown): void {
  const line = `${what}: ${String(cause)}`;
  if (isPassing(cause)) log.warn(line);
  else log.error(line, cause);
}
