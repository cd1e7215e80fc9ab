import type { FieldError } from '../core/field-error.js';
import { type ErrorCode, errorCodes } from './error-codes.js';

export type { ErrorCode, FieldError };

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

/** Hint at the form of ids, for an id that cannot be any. */
const formOf = (kind: keyof typeof forms, id: string): string =>
  forms[kind].pattern.test(id) ? '' : `. ${forms[kind].text}`;

/** An error for the caller: code decides the status, message names the id or field. */
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
    return errorCodes[this.code].status;
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
