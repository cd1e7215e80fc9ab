import { NotLeaderError } from '../leadership/leadership.js';
import { isDatabaseAway } from '../http/database-errors.js';

/** PostgreSQL is short of something, was told to stop, or its disk fails: says nothing about what was to be written. */
const conditions = /^(08|40|53|55|57|58|25P0)/;

/** Whether the same work may well succeed later, because the error is about the circumstances and not about the data. */
export function isPassing(cause: unknown): boolean {
  if (cause instanceof NotLeaderError || isDatabaseAway(cause)) return true;
  const { code } = (cause ?? {}) as { code?: unknown };
  return typeof code === 'string' && conditions.test(code);
}
