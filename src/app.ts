import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { LoggerService } from '@nestjs/common';
import { AppModule } from './app.module.js';
import { AuditTrail } from './modules/auth/audit/audit-trail.service.js';
import { ReadableAnswers } from './modules/auth/access/readable-answers.interceptor.js';
import { CallsInFlight } from './platform/http/calls-in-flight.js';
import { configureHttp, httpOptions } from './platform/http/configure-http.js';
import { IdempotentCalls } from './platform/idempotency/idempotent-calls.interceptor.js';
import { Leadership } from './platform/leadership/leadership.js';
import { ThisInstance } from './platform/leadership/this-instance.js';
import type { PlatformOptions } from './platform/platform.module.js';
import { Notifier } from './platform/wake/notifier.js';

export interface AppOptions extends Omit<PlatformOptions, 'entities'> {
  logger?: LoggerService | false;
}

export interface RunningApp {
  app: NestExpressApplication;
  /** Where it answers, such as http://127.0.0.1:7099. */
  url: string;
}

/** Builds the application, listens, and competes for the leadership. The database is migrated by now. */
export async function startApp({ logger, ...options }: AppOptions): Promise<RunningApp> {
  const app = await NestFactory.create<NestExpressApplication>(AppModule.forRoot(options), {
    ...httpOptions,
    logger,
    abortOnError: false,
    forceCloseConnections: true,
  });
  try {
    app.use(app.get(CallsInFlight).watch);
    configureHttp(app, options.settings, app.get(AuditTrail).watch);
    // After what gives answers their form: it has to see them as the rooms give them.
    app.useGlobalInterceptors(app.get(IdempotentCalls), app.get(ReadableAnswers));
    const { host, port } = options.settings;
    await app.listen(port, host);
    const instance = app.get(ThisInstance);
    app.get(Notifier).start();
    // Only now: a caller who asks for the leader's address must be able to use it.
    app.get(Leadership).start(instance.address()!);
    return { app, url: instance.localAddress()! };
  } catch (cause) {
    await app.close();
    throw cause;
  }
}
