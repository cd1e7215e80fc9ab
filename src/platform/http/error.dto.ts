/** One thing wrong with the input. */
export class FieldErrorDto {
  /** Dotted path of the field, such as "deploy.resources.cpus"; empty for the body as a whole. */
  field: string;
  /** The broken rule in one word: required, type, integer, min, max, oneOf, pattern, length, ... */
  rule: string;
  /** A sentence for people that names the field. */
  message: string;
}

/** The body of every answer with a status of 400 or above. */
export class ErrorDto {
  /** The HTTP status. */
  status: number;
  /** Kind of error, in one word for programs: INVALID_REQUEST, REQUEST_NOT_FOUND, DEPLOY_IN_PROGRESS, ... */
  code: string;
  /** Description of the error, in a sentence for people that names the id or the field. */
  message: string;
  /** Every broken rule of the input; empty when the input was not the problem. */
  errors: FieldErrorDto[];
  /** Id of the call, also in the header X-Request-Id and in the log. */
  requestId: string;
}
