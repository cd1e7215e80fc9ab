import type { FieldError } from './generated/records.js';

type Details = Readonly<Record<string, unknown>>;

/** The service refused a call, or failed at it. */
export class MusterError extends Error {
  override readonly name = 'MusterError';
  /** The HTTP status. */
  readonly status: number;
  /** Kind of error, in one word for programs: INVALID_REQUEST, REQUEST_NOT_FOUND, DEPLOY_IN_PROGRESS, ... */
  readonly code: string;
  /** Every broken rule of the input; empty when the input was not the problem. */
  readonly errors: readonly FieldError[];
  /** Id of the call, also in the log of the service. */
  readonly requestId: string | undefined;
  /** Milliseconds after which the service may be asked again, where it says so. */
  readonly retryAfterMs: number | undefined;
  /** The whole answer: some refusals say more than these members. */
  readonly details: Details;

  constructor(status: number, details: Details, what: string, retryAfterMs?: number) {
    super(textOf(details['message']) ?? `${what} was answered ${status}`);
    this.status = status;
    // A service for older clients may be set so that `code` is the status; the word is in `error` then.
    this.code = textOf(details['code']) ?? textOf(details['error']) ?? `HTTP_${status}`;
    this.errors = Array.isArray(details['errors']) ? (details['errors'] as FieldError[]) : [];
    this.requestId = textOf(details['requestId']);
    this.retryAfterMs = retryAfterMs;
    this.details = details;
  }
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** No answer came: nothing listens at the address, or the connection was lost on the way. */
export class ServiceUnreachable extends Error {
  override readonly name = 'ServiceUnreachable';
  /**
   * True if the call may have been done all the same: the connection was lost after it had been sent. Reads change
   * nothing, so for them it is false.
   */
  readonly mayBeDone: boolean;
  /** Name of the failure in the system, such as ECONNREFUSED. Browsers do not tell. */
  readonly code: string | undefined;

  constructor(url: string, cause: unknown, options: { code: string | undefined; mayBeDone: boolean }) {
    const done = options.mayBeDone ? '. Whether the call was done is not known' : '';
    super(`Muster does not answer at ${url}: ${reasonOf(options.code, cause)}${done}`, { cause });
    this.code = options.code;
    this.mayBeDone = options.mayBeDone;
  }
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'there is no host of this name',
  EAI_AGAIN: 'the name of the host cannot be looked up now',
  EHOSTUNREACH: 'no way leads to this host',
  ENETUNREACH: 'no way leads to this network',
  ETIMEDOUT: 'no connection within the time',
  UND_ERR_CONNECT_TIMEOUT: 'no connection within the time',
};

const reasonOf = (code: string | undefined, cause: unknown): string =>
  (code !== undefined ? reasons[code] : undefined) ??
  `the connection was lost${code === undefined ? '' : ` (${code})`}${code === undefined ? ` (${messageOf(cause)})` : ''}`;

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

/** The connection did not even begin, so nothing was sent. */
export const neverSent = (code: string | undefined): boolean => code !== undefined && code in reasons;

/** The system's word for a failed `fetch`; it stands in the cause, or in the first of several addresses that were tried. */
export function codeOf(failure: unknown): string | undefined {
  for (let at = failure; typeof at === 'object' && at !== null; at = nextOf(at)) {
    const { code } = at as { code?: unknown };
    if (typeof code === 'string') return code;
  }
  return undefined;
}

const nextOf = (at: { cause?: unknown; errors?: unknown }): unknown =>
  Array.isArray(at.errors) ? (at.errors as unknown[])[0] : at.cause;
