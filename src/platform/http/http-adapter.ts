import { createServer, type Server, type ServerOptions } from 'node:http';
import { parse as parseQuery } from 'node:querystring';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express, type Response } from 'express';
import type { Settings } from '../settings/settings.js';
import { jsonType, withoutNulls } from './json.js';
import { LargeAnswers } from './unread-answers.js';

type TimeLimits = Pick<Settings['http'], 'headersTimeoutMillis' | 'requestTimeoutMillis' | 'keepAliveTimeoutMillis'>;

/** The adapter of the framework for Express, with the rules of this API for paths, queries, time limits and answers. */
export class HttpAdapter extends ExpressAdapter {
  private readonly large = new LargeAnswers();

  constructor(private readonly limits: TimeLimits) {
    super(strictExpress());
  }

  override initHttpServer(): void {
    this.setHttpServer(createServer(serverOptions(this.limits), this.getInstance<Express>()));
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
    // Node.js would answer a call without it by an error without a body: `requireHost` does.
    requireHostHeader: false,
  };
}
