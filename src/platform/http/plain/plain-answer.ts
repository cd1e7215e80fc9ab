import { STATUS_CODES } from 'node:http';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { AnswerHeaders, type HeaderValue } from './answer-headers.js';

/** Where an answer goes. */
export interface Wire {
  /** Head and body of the answer, which is complete with them. */
  send(answer: PlainAnswer, head: string, body: string | Buffer, encoding: BufferEncoding): void;
  /** An answer of Node.js in the place of this one. */
  inFull(answer: PlainAnswer): Response;
  destroy(): void;
}

/** Shorter answers become longer by it. */
export const compressedFromBytes = 256;

/**
 * What operations, middleware and errors ask of an answer, for one whose body is a text or bytes: of Node.js only the names. Making
 * and sending a whole `ServerResponse` costs more than all else that a cheap read does. Where more is wanted, there is `inFull`.
 */
export class PlainAnswer {
  statusCode = 200;
  statusMessage: string | undefined;
  locals = {};
  headersSent = false;
  /** Its bytes have gone, or its caller has. */
  closed = false;
  readonly headers = new AnswerHeaders();
  private readonly whenClosed: (() => void)[] = [];
  private compress: RequestHandler | undefined;

  constructor(
    readonly req: Request,
    private readonly wire: Wire,
  ) {}

  get writableEnded(): boolean {
    return this.headersSent;
  }

  get destroyed(): boolean {
    return this.closed;
  }

  get socket() {
    return this.req.socket;
  }

  setHeader(name: string, value: HeaderValue): this {
    // As for all answers (`jsonWithoutCharset`).
    this.headers.set(name, value === 'application/json; charset=utf-8' ? 'application/json' : value);
    return this;
  }

  setHeaders(headers: ReadonlyMap<string, string>): this {
    this.headers.setCommon(headers);
    return this;
  }

  getHeader(name: string): HeaderValue | undefined {
    return this.headers.get(name);
  }

  hasHeader(name: string): boolean {
    return this.headers.get(name) !== undefined;
  }

  removeHeader(name: string): void {
    this.headers.remove(name);
  }

  /** An answer of this kind has no other events for who looks on. */
  once(_event: 'close', listener: () => void): this {
    this.whenClosed.push(listener);
    return this;
  }

  /** `compress` is for answers of Node.js: one that is long enough becomes one. */
  compressBy(compress: RequestHandler): void {
    this.compress = compress;
  }

  end(given?: string | Buffer, encoding: BufferEncoding = 'utf8'): this {
    if (this.headersSent) return this;
    const body = given ?? '';
    const bytes = typeof body === 'string' && encoding === 'utf8' ? Buffer.byteLength(body) : body.length;
    if (this.compress && this.getHeader('Content-Type') !== undefined) {
      if (bytes >= compressedFromBytes || this.getHeader('Content-Type') !== 'application/json') {
        this.inFull().end(given, encoding);
        return this;
      }
      (this as unknown as Response).vary('Accept-Encoding');
    }
    const { statusCode } = this;
    if (!this.hasHeader('Content-Length') && statusCode !== 204 && statusCode !== 304)
      this.setHeader('Content-Length', bytes);
    this.headersSent = true;
    const reason = this.statusMessage ?? STATUS_CODES[statusCode] ?? 'unknown';
    this.wire.send(this, `HTTP/1.1 ${statusCode} ${reason}\r\n${this.headers.toString()}`, body, encoding);
    return this;
  }

  /** What is left of it is done by an answer of Node.js. */
  inFull(): Response {
    this.headersSent = true;
    const full = this.wire.inFull(this);
    full.statusCode = this.statusCode;
    this.headers.forEach((name, value) => full.setHeader(name, value));
    const next: NextFunction = () => undefined;
    void this.compress?.(this.req, full, next);
    return full;
  }

  destroy(): this {
    this.wire.destroy();
    return this;
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    for (const listener of this.whenClosed) listener();
  }
}
