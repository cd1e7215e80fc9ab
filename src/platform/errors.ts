import type { FieldError } from '../core/field-error.js';

/** Every code an answer can carry, with its HTTP status. A new code without a status does not compile. */
export const errorStatus = {
  INVALID_REQUEST: 400,
  INVALID_DEPLOY: 400,
  INVALID_PARAMETER: 400,
  INVALID_JSON: 400,
  MALFORMED_CALL: 400,
  NOT_PENDING: 400,
  NOT_SUPPORTED: 400,
  SANDBOX_NOT_READY: 400,
  TASK_NOT_ACTIVE: 400,
  UNAUTHENTICATED: 401,
  GROUPS_NOT_PERMITTED: 401,
  FORBIDDEN: 403,
  FOREIGN_ORIGIN: 403,
  LINK_NOT_VALID: 403,
  TEST_CALLS_DISABLED: 403,
  UNKNOWN_SHELL_COMMAND: 403,
  REQUEST_NOT_FOUND: 404,
  DEPLOY_NOT_FOUND: 404,
  TASK_NOT_FOUND: 404,
  PENDING_TASK_NOT_FOUND: 404,
  RUN_NOT_FOUND: 404,
  MACHINE_NOT_FOUND: 404,
  FILE_NOT_FOUND: 404,
  TOKEN_NOT_FOUND: 404,
  WEBHOOK_NOT_FOUND: 404,
  EXPIRING_ACTION_NOT_FOUND: 404,
  OBJSTORE_NOT_CONFIGURED: 404,
  NOT_FOUND: 404,
  ACTION_DISABLED: 409,
  CHANGED_MEANWHILE: 409,
  REQUEST_BEING_CLEANED: 409,
  REQUEST_PAUSED: 409,
  REQUEST_NOT_PAUSED: 409,
  REQUEST_NOT_IN_COOLDOWN: 409,
  REQUEST_BOUNCING: 409,
  REQUEST_FINISHED: 409,
  DEPLOY_IN_PROGRESS: 409,
  NO_DEPLOY: 409,
  TASK_RUNNING: 409,
  ALREADY_PENDING: 409,
  CLEANUP_EXISTS: 409,
  METADATA_EXISTS: 409,
  MACHINE_STATE: 409,
  SET_BY_SETTINGS: 409,
  NOT_LEADER: 409,
  IDEMPOTENT_CALL_RUNNING: 409,
  IDEMPOTENT_CALL_DONE: 409,
  METHOD_NOT_ALLOWED: 405,
  NOT_ACCEPTABLE: 406,
  OBJSTORE_TIMEOUT: 408,
  CALL_TIMEOUT: 408,
  BODY_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  RANGE_NOT_SATISFIABLE: 416,
  EXPECTATION_FAILED: 417,
  UNKNOWN_HOST: 421,
  IDEMPOTENCY_KEY_REUSED: 422,
  TOO_MANY_BODIES: 429,
  TOO_MANY_RUNS: 429,
  TOO_MANY_COMMANDS: 429,
  TOO_MANY_TOKENS: 429,
  TOO_MANY_FAILURES: 429,
  TOO_MANY_STREAMS: 429,
  HEADERS_TOO_LARGE: 431,
  DIRECTORY_FAILED: 500,
  INTERNAL_ERROR: 500,
  TEST_EXCEPTION: 500,
  OBJSTORE_UNAVAILABLE: 502,
  UNAVAILABLE: 503,
  OUT_OF_RESOURCES: 503,
  NEWER_SCHEMA: 503,
} as const;
export type ErrorCode = keyof typeof errorStatus;

export type { FieldError };

interface SchedulerErrorOptions extends ErrorOptions {
  errors?: FieldError[];
  /** Members added to the error's body, such as the existing cleanup of a task. */
  extra?: Record<string, unknown>;
}

const plain = `letters, digits, '_' and '-'`;
const forms = {
  request: { pattern: /^[\w-]+$/, text: `An id has only ${plain}, such as web; GET /api/requests/ids lists them` },
  deploy: {
    pattern: /^[\w.]+$/,
    text: `An id has only letters, digits, '_' and '.', such as v1.2; GET /api/history/request/{requestId}/deploys lists them`,
  },
  group: { pattern: /^[\w-]+$/, text: `An id has only ${plain}, such as shop; GET /api/groups lists them` },
  slave: {
    pattern: /^[\w.-]+$/,
    text: `An id has only letters, digits, '_', '.' and '-', such as slave1; GET /api/slaves lists them`,
  },
  rack: { pattern: /^[\w./:-]+$/, text: 'One looks like rack-1; GET /api/racks lists them' },
  webhook: {
    pattern: /^(REQUEST|DEPLOY|TASK|CRASHLOOP|ELEVATED_ACCESS)-./,
    text: 'An id is the type and the uri, encoded or not, such as TASK-https%3A%2F%2Fexample.com%2Fhook; GET /api/webhooks lists them',
  },
} as const;

/** Of an id that cannot be any: what one looks like. */
const formOf = (kind: keyof typeof forms, id: string): string =>
  forms[kind].pattern.test(id) ? '' : `. ${forms[kind].text}`;

/** What a service throws when the caller is to be told: code decides the status, message names the id or field. */
export class SchedulerError extends Error {
  readonly errors: FieldError[];
  readonly extra: Record<string, unknown>;
  constructor(
    readonly code: ErrorCode,
    message: string,
    options: SchedulerErrorOptions = {},
  ) {
    super(message, options);
    this.errors = options.errors ?? [];
    this.extra = options.extra ?? {};
  }
  get status(): number {
    return errorStatus[this.code];
  }
  static requestNotFound(id: string): SchedulerError {
    return new SchedulerError('REQUEST_NOT_FOUND', `No request with id '${id}'${formOf('request', id)}`);
  }
  static deployNotFound(requestId: string, deployId: string): SchedulerError {
    const hint = formOf('request', requestId) || formOf('deploy', deployId);
    return new SchedulerError('DEPLOY_NOT_FOUND', `Request '${requestId}' has no deploy with id '${deployId}'${hint}`);
  }
  static taskNotFound(id: string): SchedulerError {
    return new SchedulerError('TASK_NOT_FOUND', `No task with id '${id}'`);
  }
  static machineNotFound(kind: 'slave' | 'rack', id: string): SchedulerError {
    return new SchedulerError('MACHINE_NOT_FOUND', `No ${kind} with id '${id}'${formOf(kind, id)}`);
  }
  static groupNotFound(id: string): SchedulerError {
    return new SchedulerError('NOT_FOUND', `No request group with id '${id}'${formOf('group', id)}`);
  }
  /** `id`: as it may be shown. */
  static webhookNotFound(id: string): SchedulerError {
    return new SchedulerError('WEBHOOK_NOT_FOUND', `No webhook with id '${id}'${formOf('webhook', id)}`);
  }
  /** 400 with every problem found, the first one as the message. */
  static invalid(
    code: 'INVALID_REQUEST' | 'INVALID_DEPLOY' | 'INVALID_PARAMETER',
    errors: FieldError[],
  ): SchedulerError {
    return new SchedulerError(code, errors[0]?.message ?? 'The input is invalid', { errors });
  }
}

/** The database was silent when a change was to be committed: it may stand or not, and is not tried again by itself. */
export class OutcomeUnknownError extends SchedulerError {
  constructor(cause: unknown) {
    const message =
      'The database did not answer when the change was committed: it may have been made or not; look before you call again, or call with an Idempotency-Key';
    super('UNAVAILABLE', message, { cause });
  }
}

/** Something the person who starts the program can put right. The message says what, on one line. */
export class StartError extends Error {}
