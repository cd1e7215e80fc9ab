import type { Server } from 'node:http';
import type { INestApplication } from '@nestjs/common';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import type { Settings } from '../settings/settings.js';
import { type Around, AroundAll } from './around.js';
import { AnswerInterceptor } from './answer.interceptor.js';
import { asCall } from '../database/permits.js';
import { bytesOfBody, jsonBody } from './bodies.js';
import { refuseForeignPages } from './browser-boundary.js';
import { belowContextPath } from './context-path.js';
import { serveDocs } from './docs.js';
import { ErrorFilter, routesOf } from './error.filter.js';
import { IgnoredMembers } from './ignored-members.js';
import { InputPipe } from './input.pipe.js';
import { followPathAliases, leniencyOf } from './legacy-names.js';
import { admitCalls, awaitBodies } from './admission.js';
import {
  assignRequestId,
  compressAnswers,
  endUnreadAnswers,
  inOrder,
  refuseUndecodedQueries,
  requireVersionAndHost,
  securityHeaders,
} from './middleware.js';
import { UnfinishedAnswers } from './unfinished-answers.js';
import { answerUnreadableCalls } from './unreadable-calls.js';

/** Options for NestFactory.create: the body parser is ours. */
export const httpOptions = { bodyParser: false } as const;

type HttpSettings = Pick<
  Settings,
  'auth' | 'legacyFieldNames' | 'compatibility' | 'maxRequestBodyBytes' | 'cors' | 'enableCorsFilter' | 'http' | 'ui'
> &
  Partial<Pick<Settings, 'host' | 'advertisedUrl'>>;

interface HttpMiddleware {
  /** Sees every call before it may be refused. */
  watch?: readonly RequestHandler[];
  /** Refuses calls whose body is not worth reading. */
  beforeBody?: readonly RequestHandler[];
  /** Lets calls wait whose body takes long to parse. */
  beforeParsing?: readonly RequestHandler[];
  /** Around operations, within what gives answers their form: these see them as the rooms give them. */
  around?: readonly Around[];
}

/**
 * Everything HTTP that is the same for all rooms: reading and checking input, the form of answers and errors, the
 * documents. Call it between creating the application and listening, in the product and in tests alike.
 */
export function configureHttp(
  app: INestApplication,
  settings: HttpSettings,
  { watch = [], beforeBody = [], beforeParsing = [], around = [] }: HttpMiddleware = {},
): void {
  app.use(
    inOrder(
      assignRequestId,
      securityHeaders(),
      ...(settings.http.contextPath === '' ? [] : [belowContextPath(settings.http)]),
      ...watch,
      requireVersionAndHost,
      refuseUndecodedQueries,
      refuseForeignPages(settings),
      followPathAliases,
      compressAnswers(),
      endUnreadAnswers(settings.http.answerTimeoutMillis),
    ),
  );
  if (settings.cors.enabled || settings.enableCorsFilter) allowOtherOrigins(app, settings.cors);
  const leniency = leniencyOf(settings);
  const { emitsNames } = leniency;
  app.use(
    inOrder(
      ...beforeBody,
      awaitBodies(settings.http, settings.maxRequestBodyBytes, emitsNames),
      bytesOfBody(settings.maxRequestBodyBytes, leniency),
      admitCalls(settings.http),
      ...beforeParsing,
      jsonBody(leniency),
      // After the body: what reads it goes on in the context of its socket.
      (_call, _response, next) => asCall(next),
    ),
  );
  app.useGlobalPipes(new InputPipe(leniency));
  // Older clients send much that nothing knows.
  const ignored = leniency.readsLoosely ? [] : [new IgnoredMembers()];
  app.useGlobalInterceptors(new AroundAll([new AnswerInterceptor(leniency), ...ignored, ...around]));
  app.useGlobalFilters(new ErrorFilter(routesOf(app), emitsNames));
  serveDocs(app, settings);
  const server = app.getHttpServer() as Server;
  answerUnreadableCalls(server, new UnfinishedAnswers(server), emitsNames);
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
