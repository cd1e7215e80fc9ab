import { createServer, IncomingMessage, type Server, type ServerOptions, ServerResponse } from 'node:http';
import { parse as parseQuery } from 'node:querystring';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express, type Request, type Response } from 'express';
import { SchedulerError } from '../errors.js';
import type { Settings } from '../settings/settings.js';
import { callerAddress } from './addresses-of-call.js';
import { userOf } from './caller.js';
import { jsonType, withoutNulls } from './json.js';

type TimeLimits = Pick<Settings['http'], 'headersTimeoutMillis' | 'requestTimeoutMillis' | 'keepAliveTimeoutMillis'>;

/** The adapter of the framework for Express, with the rules of this API for paths, queries, time limits and answers. */
export class HttpAdapter extends ExpressAdapter {
  private readonly large = new LargeAnswers();

  constructor(private readonly limits: TimeLimits) {
    super(strictExpress());
  }

  override initHttpServer(): void {
    const app = this.getInstance<Express>();
    this.setHttpServer(createServer({ ...serverOptions(this.limits), ...classesOf(app) }, app));
  }

  /**
   * Text of JSON is sent as bytes: Express adds a character set to text, and JSON has none. The framework would write bytes as an
   * object.
   */
  override reply(response: Response, body: unknown, statusCode?: number): unknown {
    const isJson = typeof body === 'string' && response.getHeader('Content-Type') === jsonType;
    if (!isJson && !Buffer.isBuffer(body)) return super.reply(response, body, statusCode);
    if (statusCode !== undefined) response.status(statusCode);
    const bytes = isJson ? Buffer.from(body) : body;
    this.large.take(response, bytes.length);
    return response.send(bytes);
  }

  /** Ends every connection, also those of callers who do not read. */
  override close(): Promise<unknown> | undefined {
    const closed = super.close();
    (this.getHttpServer() as Server | undefined)?.closeAllConnections();
    return closed;
  }
}

/** Express reads these settings when its router is made, which the adapter does at once. */
function strictExpress(): Express {
  const app = express();
  app.disable('x-powered-by');
  // A decision by a path, such as the limit of concurrent calls, would not hold for /API.
  app.enable('case sensitive routing');
  // Answers are tagged where they are made.
  app.disable('etag');
  app.set('json replacer', withoutNulls);
  // Express parses the query at each look at it, of which a call has many; most calls have none.
  app.set('query parser', (text: string | null) => (text ? parseQuery(text) : {}));
  return app;
}

/**
 * Classes of calls and answers that have the members of Express from the start. Express would give each of them another prototype
 * when it comes in, which makes all that Node.js does with it afterwards several times slower.
 */
function classesOf(app: Express): Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'> {
  class ExpressCall extends IncomingMessage {}
  class ExpressAnswer<Call extends IncomingMessage = IncomingMessage> extends ServerResponse<Call> {}
  Object.setPrototypeOf(ExpressCall.prototype, app.request);
  Object.setPrototypeOf(ExpressAnswer.prototype, app.response);
  app.request = ExpressCall.prototype as Request;
  app.response = ExpressAnswer.prototype as Response;
  return { IncomingMessage: ExpressCall, ServerResponse: ExpressAnswer };
}

/** Callers that send their call drop by drop, or stay without calling, do not keep a connection indefinitely. */
function serverOptions(limits: TimeLimits): ServerOptions {
  const { headersTimeoutMillis: headersTimeout, requestTimeoutMillis: requestTimeout } = limits;
  const checkEveryMillis = Math.min(headersTimeout, requestTimeout) / 4;
  return {
    headersTimeout,
    requestTimeout,
    keepAliveTimeout: limits.keepAliveTimeoutMillis,
    // Node.js looks at the limits twice a minute unless told otherwise.
    connectionsCheckingInterval: Math.min(30_000, Math.max(50, checkEveryMillis)),
    // Node.js would answer a call without it by an error without a body: `requireVersionAndHost` does.
    requireHostHeader: false,
  };
}

/** Answers from this length on are counted. */
const largeFromBytes = 1_048_576;
const mostBytesOfOne = 67_108_864;

/** Large answers that their callers have not read to the end: of one caller no more than 64 MiB are made, or one answer. */
class LargeAnswers {
  private readonly bytesOf = new Map<string, number>();

  /** Before an answer is sent; fails if its caller has too many. */
  take(response: Response, bytes: number): void {
    // Nobody reads what is made for a caller who has gone.
    if (bytes < largeFromBytes || response.destroyed) return;
    const caller = keyOf(response.req);
    const unread = this.bytesOf.get(caller) ?? 0;
    if (unread > 0 && unread + bytes > mostBytesOfOne) {
      const message = `${unread} bytes of large answers to you are not read yet, which is the limit; read them first`;
      throw new SchedulerError('UNAVAILABLE', message);
    }
    this.bytesOf.set(caller, unread + bytes);
    response.once('close', () => {
      const left = this.bytesOf.get(caller)! - bytes;
      if (left > 0) this.bytesOf.set(caller, left);
      else this.bytesOf.delete(caller);
    });
  }
}

/** While authentication is off all callers are one, so they are told apart by their addresses. */
function keyOf(request: Request): string {
  const { issuer, id } = userOf(request);
  return JSON.stringify([issuer, id, callerAddress(request)]);
}
