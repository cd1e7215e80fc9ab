import type { AddressInfo } from 'node:net';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { LoggerService } from '@nestjs/common';
import { AppModule } from './app.module.js';
import { AccessGuard } from './modules/auth/access/access.guard.js';
import { AuditTrail } from './modules/auth/audit/audit-trail.service.js';
import { ReadableAnswers } from './modules/auth/access/readable-answers.interceptor.js';
import { CallsInFlight } from './platform/http/calls-in-flight.js';
import { passOn, takePassedOn } from './platform/http/calls-of-the-leader.js';
import { configureHttp, httpOptions } from './platform/http/configure-http.js';
import { HeardByOthers } from './platform/http/heard-by-others.js';
import { HttpAdapter } from './platform/http/http-adapter.js';
import { IdempotentCalls } from './platform/idempotency/idempotent-calls.interceptor.js';
import { Leadership } from './platform/leadership/leadership.js';
import { ThisInstance } from './platform/leadership/this-instance.js';
import { alone, type Part } from './platform/process/part.js';
import type { PlatformOptions } from './platform/platform.module.js';
import type { Settings } from './platform/settings/settings.js';
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
export async function startApp({ logger, part = alone, ...options }: AppOptions): Promise<RunningApp> {
  const app = await NestFactory.create<NestExpressApplication>(
    AppModule.forRoot({ ...options, part }),
    new HttpAdapter(options.settings.http),
    {
      ...httpOptions,
      logger,
      abortOnError: false,
    },
  );
  try {
    if (part.key !== undefined) app.use(takePassedOn(part.key));
    app.use(app.get(CallsInFlight).watch);
    const onward = part.doorway === undefined ? [] : [passOn(part.doorway)];
    const watch = [...onward, app.get(AuditTrail).watch];
    const { beforeBody, beforeParsing } = app.get(AccessGuard);
    configureHttp(app, options.settings, { watch, beforeBody: [beforeBody], beforeParsing: [beforeParsing] });
    // After what gives answers their form: it has to see them as the rooms give them.
    app.useGlobalInterceptors(app.get(IdempotentCalls), app.get(ReadableAnswers));
    if (part.words) app.useGlobalInterceptors(new HeardByOthers(part.words));
    const instance = app.get(ThisInstance);
    await listen(app, part, options.settings);
    let serving: Promise<unknown> | undefined;
    if (part.openWorkers && part.key !== undefined) {
      const door = app.getHttpServer().address() as AddressInfo;
      const opened = await part.openWorkers(instance.id, { port: door.port, key: part.key });
      instance.answersAt(opened.port);
      ({ serving } = opened);
    }
    app.get(Notifier).start();
    // Only now: a caller who asks for the leader's address must be able to use it. Where it is workers who answer, connections wait
    // for them, and what is to be scheduled does not.
    app.get(Leadership).start(instance.address()!);
    await serving;
    return { app, url: instance.localAddress()! };
  } catch (cause) {
    await app.close();
    throw cause;
  }
}

async function listen(app: NestExpressApplication, part: Part, { host, port }: Settings): Promise<void> {
  if (part.port === undefined)
    return void (await (part.key === undefined ? app.listen(port, host) : app.listen(0, '127.0.0.1')));
  await app.init();
  // It is given connections in place of listening; its time limits begin with this event.
  app.getHttpServer().emit('listening');
}
