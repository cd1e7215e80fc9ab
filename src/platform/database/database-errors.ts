import { NotLeaderError } from '../leadership/leadership.js';

/**
 * PostgreSQL states and Node errors that say "not now" rather than "never": the connection is gone, the server is
 * starting or stopping, a time-out struck, or other transactions stood in the way three times or for too long.
 */
const states = /^(08...|57P0[1-5]|57014|53300|25P03|40001|40P01|55P03)$/;
const socketErrors = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
]);
/** Errors of the driver, its pool and TypeORM, which carry no code. TypeORM releases the connection of a transaction that broke. */
const messages =
  /query runner (was )?already released|connection terminated|timeout exceeded when trying to connect|client has encountered a connection error|cannot use a pool after calling end|connection is not established|not queryable|query runner was already released/i;

/** Text that PostgreSQL refuses to store (NUL), which can still arrive in a path or a query. */
const refusedText = /^(22021|22P05)$/;

interface CodedError {
  code?: unknown;
  message?: unknown;
  driverError?: unknown;
  errors?: unknown[];
}

export function isDatabaseAway(cause: unknown): boolean {
  if (cause === null || typeof cause !== 'object') return false;
  const { code, message, driverError, errors } = cause as CodedError;
  if (typeof code === 'string' && (states.test(code) || socketErrors.has(code))) return true;
  if (typeof message === 'string' && messages.test(message)) return true;
  // Connecting to a name with several addresses fails with all of their errors in one.
  return (driverError !== undefined && isDatabaseAway(driverError)) || (errors ?? []).some(isDatabaseAway);
}

export function isRefusedText(cause: unknown): boolean {
  const { code } = (cause ?? {}) as CodedError;
  return typeof code === 'string' && refusedText.test(code);
}

/** PostgreSQL is short of something, was told to stop, or its disk fails: says nothing about what was to be written. */
const conditions = /^(08|40|53|55|57|58|25P0)/;

/** Whether the same work may well succeed later, because the error is about the circumstances and not about the data. */
export function isPassing(cause: unknown): boolean {
  if (cause instanceof NotLeaderError || isDatabaseAway(cause)) return true;
  const { code } = (cause ?? {}) as { code?: unknown };
  return typeof code === 'string' && conditions.test(code);
}
