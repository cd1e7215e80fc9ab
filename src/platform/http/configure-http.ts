import type { INestApplication } from '@nestjs/common';
import compression from 'compression';
import type { Express } from 'express';
import type { Settings } from '../settings/settings.js';
import { routesOf } from './allowed-methods.js';
import { AnswerInterceptor } from './answer.interceptor.js';
import { jsonBody } from './body-parser.js';
import { serveDocs } from './docs.js';
import { ErrorFilter } from './error.filter.js';
import { InputPipe } from './input.pipe.js';
import { followPathAliases } from './path-aliases.js';
import { assignRequestId } from './request-id.js';

/** Options for NestFactory.create: the body parser is ours. */
export const httpOptions = { bodyParser: false } as const;

/**
 * Everything HTTP that is the same for all rooms: reading and checking input, the form of answers and errors, the
 * documents. Call it between creating the application and listening, in the product and in tests alike.
 */
export function configureHttp(
  app: INestApplication,
  settings: Pick<Settings, 'legacyFieldNames' | 'maxRequestBodyBytes'>,
): void {
  const express = app.getHttpAdapter().getInstance() as Express;
  express.disable('x-powered-by');
  // Clients read an ETag as the integer version of a request; a hash of the body would mislead them.
  express.disable('etag');
  express.set('json replacer', (_name: string, value: unknown) => (value === null ? undefined : value));

  app.use(assignRequestId, followPathAliases, compression({ threshold: 256 }));
  app.use(...jsonBody(settings.maxRequestBodyBytes, settings.legacyFieldNames !== 'off'));

  const emitLegacyNames = settings.legacyFieldNames === 'accept+emit';
  app.useGlobalPipes(new InputPipe());
  app.useGlobalInterceptors(new AnswerInterceptor(emitLegacyNames));
  app.useGlobalFilters(new ErrorFilter(routesOf(app), emitLegacyNames));
  serveDocs(app);
}
