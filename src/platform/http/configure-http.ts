import type { Server } from 'node:http';
import type { INestApplication } from '@nestjs/common';
import type { Express, NextFunction, Request, RequestHandler, Response } from 'express';
import type { Settings } from '../settings/settings.js';
import { AnswerInterceptor } from './answer.interceptor.js';
import { asCall } from '../database/permits.js';
import { jsonBody } from './bodies.js';
import { refuseForeignPages } from './browser-boundary.js';
import { isOfLeader } from './calls-of-the-leader.js';
import { belowContextPath, urlBelow } from './context-path.js';
import { directCalls } from './direct-calls.js';
import { serveDocs } from './docs.js';
import { ErrorFilter, routesOf } from './error.filter.js';
import { IgnoredMembers } from './ignored-members.js';
import { InputPipe } from './input.pipe.js';
import { withoutNulls } from './json.js';
import { followPathAliases, leniencyOf, resolveAlias } from './legacy-names.js';
import { admitCalls, awaitBodies } from './admission.js';
import {
  assignRequestId,
  compressAnswers,
  inOrder,
  jsonWithoutCharset,
  readQueryOnce,
  securityHeaders,
} from './middleware.js';
import { answerPlainCalls } from './plain/plain-calls.js';
import { answerUnreadableCalls, requireHost } from './unreadable-calls.js';

/** Options for NestFactory.create: the body parser is ours. */
export const httpOptions = { bodyParser: false } as const;

type HttpSettings = Pick<
  Settings,
  'auth' | 'legacyFieldNames' | 'compatibility' | 'maxRequestBodyBytes' | 'cors' | 'enableCorsFilter' | 'http' | 'ui'
> &
  Partial<Pick<Settings, 'host' | 'advertisedUrl'>>;

/**
 * Everything HTTP that is the same for all rooms: reading and checking input, the form of answers and errors, the
 * documents. Call it between creating the application and listening, in the product and in tests alike.
 */
export function configureHttp(
  app: INestApplication,
  settings: HttpSettings,
  /** See every call before it may be refused. */
  ...watch: RequestHandler[]
): void {
  const express = app.getHttpAdapter().getInstance() as Express;
  express.disable('x-powered-by');
  // What is decided by a path, such as the room for calls, would not hold for /API. The router is there already, so that the
  // setting "case sensitive routing" would come too late.
  Object.assign(express.router, { caseSensitive: true });
  // Answers are tagged where they are made.
  express.disable('etag');
  express.set('json replacer', withoutNulls);
  jsonWithoutCharset(express);
  readQueryOnce(express);

  app.use(
    inOrder(
      assignRequestId,
      securityHeaders(),
      belowContextPath(settings.http),
      ...watch,
      requireHost,
      refuseForeignPages(settings),
      followPathAliases,
      compressAnswers(),
    ),
  );
  if (settings.cors.enabled || settings.enableCorsFilter) allowOtherOrigins(app, settings.cors);
  const leniency = leniencyOf(settings);
  const { emitsNames } = leniency;
  app.use(
    inOrder(
      awaitBodies(settings.http, settings.maxRequestBodyBytes, emitsNames),
      jsonBody(settings.maxRequestBodyBytes, leniency),
      admitCalls(settings.http),
      // After the body: what reads it goes on in the context of its socket.
      (_call, _response, next) => asCall(next),
    ),
  );
  const errors = new ErrorFilter(routesOf(app), emitsNames);
  app.useGlobalPipes(new InputPipe(leniency));
  // Older clients send much that nothing knows.
  const ignored = leniency.readsLoosely ? [] : [new IgnoredMembers()];
  app.useGlobalInterceptors(new AnswerInterceptor(leniency), ...ignored);
  app.useGlobalFilters(errors);
  serveDocs(app, settings);
  limitWaiting(app, settings.http);
  const server = app.getHttpServer() as Server;
  const { contextPath } = settings.http;
  const pathOfCall = (url: string): string => pathOf(resolveAlias(urlBelow(contextPath, url) ?? ''));
  const findOperation = directCalls(app, errors, pathOfCall);
  server.off('request', express);
  server.on('request', (request, response) => {
    const operation = findOperation(request.method!, request.url!);
    if (operation) operation(request as Request, response as Response);
    else express(request, response);
  });
  answerPlainCalls(server, express, (url) => (isOfLeader(pathOfCall(url)) ? undefined : findOperation('GET', url)));
  answerUnreadableCalls(server, emitsNames);
}

/** Of a plain address. */
function pathOf(url: string): string {
  const end = url.indexOf('?');
  return end < 0 ? url : url.slice(0, end);
}

function allowOtherOrigins(app: INestApplication, cors: Settings['cors']): void {
  app.enableCors({
    origin: cors.allowedOrigins.includes('*') ? '*' : cors.allowedOrigins,
    methods: cors.allowedMethods,
    allowedHeaders: cors.allowedHeaders,
    credentials: cors.allowCredentials,
    preflightContinue: true,
    exposedHeaders: [
      'ETag',
      'Link',
      'X-Next-Cursor',
      'X-Request-Id',
      'Idempotent-Replayed',
      'Warning',
      'Preference-Applied',
    ],
  });
  app.use(endPreflight);
}

/** A caller that asks with OPTIONS for anything but a preflight of a browser is told which methods there are. */
function endPreflight({ method, headers }: Request, response: Response, next: NextFunction): void {
  if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) return next();
  response.status(204).end();
}

/** Callers that send their call drop by drop, or stay without calling, do not keep a connection indefinitely. */
function limitWaiting(app: INestApplication, settings: Settings['http']): void {
  const server = app.getHttpServer() as Server;
  server.headersTimeout = settings.headersTimeoutMillis;
  server.requestTimeout = settings.requestTimeoutMillis;
  server.keepAliveTimeout = settings.keepAliveTimeoutMillis;
  // An option of http.createServer, which the framework calls. By default the limits are looked at twice a minute.
  const checkEveryMillis = Math.min(settings.headersTimeoutMillis, settings.requestTimeoutMillis) / 4;
  Object.assign(server, { connectionsCheckingInterval: Math.min(30_000, Math.max(50, checkEveryMillis)) });
}
