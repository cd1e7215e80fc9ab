import { HttpException } from '@nestjs/common';
import type { FieldError } from '../../core/field-error.js';
import { errorStatus, SchedulerError, type ErrorCode } from '../errors.js';
import { NotLeaderError } from '../leadership/leadership.js';
import { isDatabaseAway, isRefusedText } from './database-errors.js';

export interface ErrorAnswer {
  status: number;
  code: ErrorCode;
  message: string;
  errors: FieldError[];
  extra?: Record<string, unknown>;
}

/** As it is written. `numericCode`: legacy clients expect the status in `code`; ours then stands in `error`. */
export function errorBody(
  { status, code, message, errors, extra }: ErrorAnswer,
  requestId: string,
  numericCode: boolean,
): Record<string, unknown> {
  const names = numericCode ? { code: status, error: code } : { code };
  return { status, ...names, message, errors, requestId, ...extra };
}

/** What a caller is told of a failure. Anything not meant for callers becomes a 500 without details. */
export function toErrorAnswer(cause: unknown): ErrorAnswer {
  if (cause instanceof SchedulerError) {
    return { status: cause.status, code: cause.code, message: cause.message, errors: cause.errors, extra: cause.extra };
  }
  if (cause instanceof NotLeaderError || isDatabaseAway(cause)) {
    return answer('UNAVAILABLE', 'The service cannot reach its database or is changing leaders; try again');
  }
  if (isRefusedText(cause))
    return answer('INVALID_PARAMETER', 'The path or query contains a character that cannot be stored');
  if (cause instanceof HttpException) return fromHttpException(cause);
  return answer(
    'INTERNAL_ERROR',
    'Something went wrong inside the service; the log has the details under the requestId',
  );
}

/** Express and Nest throw these: bodies that cannot be read, malformed paths. */
function fromHttpException(cause: HttpException): ErrorAnswer {
  switch (cause.getStatus()) {
    case 400:
      return cause.cause instanceof URIError
        ? answer('INVALID_PARAMETER', 'The path contains a malformed percent sign')
        : answer('INVALID_JSON', `The body is not valid JSON: ${cause.message}`);
    case 413:
      return answer('BODY_TOO_LARGE', 'The body is larger than this service accepts');
    case 415:
      return answer('UNSUPPORTED_MEDIA_TYPE', `The body cannot be read: ${cause.message}`);
    default: {
      const known = (Object.keys(errorStatus) as ErrorCode[]).find((code) => errorStatus[code] === cause.getStatus());
      return { ...answer(known ?? 'INTERNAL_ERROR', cause.message), status: cause.getStatus() };
    }
  }
}

const answer = (code: ErrorCode, message: string): ErrorAnswer => ({
  status: errorStatus[code],
  code,
  message,
  errors: [],
});
