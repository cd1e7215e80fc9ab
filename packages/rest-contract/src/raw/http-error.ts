import { emptyBody, type HttpBody, textBody } from './body.js';
import { TEXT_TYPE } from './media-type.js';
import { type Entry, noEntries, type RestResponse } from './message.js';

export interface HttpErrorOptions extends ErrorOptions {
  readonly headers?: readonly Entry[];
}

/**
 * Thrown or rejected by a server it *is* the response; on the client the same class comes back as the rejection.
 * A text is sent as text/plain.
 */
export class HttpErrorException extends Error {
  override readonly name = 'HttpErrorException';
  readonly status: number;
  readonly body: HttpBody;
  readonly headers: readonly Entry[];

  constructor(status: number, payload: string | HttpBody = emptyBody, options: HttpErrorOptions = {}) {
    if (!Number.isInteger(status) || status < 300 || status > 599) {
      throw new RangeError(`An HTTP error has a status from 300 to 599, not ${status}`);
    }
    const body = typeof payload === 'string' ? (payload === '' ? emptyBody : textBody(payload, TEXT_TYPE)) : payload;
    super(body.kind === 'text' ? body.content : `HTTP ${status}`, options);
    this.status = status;
    this.body = body;
    this.headers = options.headers ?? noEntries;
  }

  toResponse(): RestResponse {
    return { status: this.status, headers: this.headers, body: this.body };
  }
}
