import { OutcomeUnknownError } from '../errors.js';
import { NotLeaderError } from '../leadership/leadership.js';

/**
 * PostgreSQL states that say "not now" rather than "never", by class: the connection is gone (08), stands in the way of others or
 * waits for them (40, 55), the server is short of something (53), was told to stop or to give up (57), its disk fails (58), a
 * transaction was ended (25P), the server only reads because another one took over (25006), or does not let us in (28, 3D).
 */
const states = /^(08|25006|25P0|28|3D|40|53|55|57|58)/;
/** States among these in which the server, or its disk, is short of something. */
const shortOf = /^(53|58)/;
/** States among these in which other transactions stood in the way, or it took too long. */
const ofOneRecord = /^(40|55|57014)/;
/** Errors of sockets, and of a system that is short of disk or files. */
const systemErrors = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
  'ENOSPC',
  'EDQUOT',
  'EMFILE',
  'ENFILE',
  'EIO',
]);
/** Errors of the driver, its pool and TypeORM, which carry no code. TypeORM releases the connection of a transaction that broke. */
const messages =
  /query runner (was )?already released|connection terminated|timeout exceeded when trying to connect|timeout expired|query read timeout|client has encountered a connection error|cannot use a pool after calling end|called end on pool|connection is not established|not queryable|driver not connected/i;

/** Text that PostgreSQL refuses to store (NUL), which can still arrive in a path or a query. */
const refusedText = /^(22021|22P05)$/;

interface CodedError {
  code?: unknown;
  syscall?: unknown;
  message?: unknown;
  driverError?: unknown;
  errors?: unknown[];
}

/**
 * True if the same work may well succeed later, because the error is about the circumstances and not about the data.
 * The one list: the scheduler tries again where callers are told to try again.
 */
export const isPassing = (cause: unknown): boolean =>
  cause instanceof NotLeaderError || cause instanceof OutcomeUnknownError || some(cause, isPassingItself, new Set());

/**
 * Passing, and whatever else was tried now would fail as well: the database is away or full, another instance leads. What work on
 * one record ran into alone (a deadlock, a lock, a time-out) is not. A pass over many records ends with it instead of going on,
 * so that it counts as failed.
 */
export const concernsAll = (cause: unknown): boolean =>
  isPassing(cause) && !some(cause, ({ code }) => typeof code === 'string' && ofOneRecord.test(code), new Set());

/** Passing, and operators have to make room: disk full, out of memory, out of connections, failing disk. */
export const isShortOfResources = (cause: unknown): boolean =>
  some(cause, ({ code }) => typeof code === 'string' && shortOf.test(code), new Set());

/** Errors of a server that is not there yet: its machine has no name or address so far, nothing listens, or it says that it starts. */
const whileStarting = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENOENT',
  '57P03',
]);

/** True if the server may just be starting, rather than refuse who connects. */
export const isStarting = (cause: unknown): boolean =>
  some(cause, ({ code }) => typeof code === 'string' && whileStarting.has(code), new Set());

const isPassingItself = ({ code, syscall, message }: CodedError): boolean =>
  (typeof code === 'string' && (systemErrors.has(code) || (isState(code) && states.test(code)))) ||
  // The socket of a server that does not run is not there.
  (code === 'ENOENT' && syscall === 'connect') ||
  (typeof message === 'string' && messages.test(message));

const isState = (code: string): boolean => /^[0-9A-Z]{5}$/.test(code);

/**
 * Tests an error or one that it wraps: TypeORM's wrap the driver's, and connecting to a name fails once per address.
 */
function some(cause: unknown, holds: (error: CodedError) => boolean, seen: Set<unknown>): boolean {
  if (cause === null || typeof cause !== 'object' || seen.has(cause)) return false;
  seen.add(cause);
  const { driverError, errors } = cause as CodedError;
  return holds(cause as CodedError) || [driverError, ...(errors ?? [])].some((inner) => some(inner, holds, seen));
}

/** The connection broke or was silent: what the server made of the statement is not known. */
export const isUnanswered = (cause: unknown): boolean =>
  isPassing(cause) &&
  !some(cause, ({ code }) => typeof code === 'string' && isState(code) && !systemErrors.has(code), new Set());

/** A row was not free in the time for which this transaction waits for locks. Nothing of it was done. */
export const isLockTimeout = (cause: unknown): boolean => some(cause, ({ code }) => code === '55P03', new Set());

export function isRefusedText(cause: unknown): boolean {
  const { code } = (cause ?? {}) as CodedError;
  return typeof code === 'string' && refusedText.test(code);
}
