import type { AddressInfo } from 'node:net';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { LoggerService } from '@nestjs/common';
import { AppModule } from './app.module.js';
import { AccessGuard } from './modules/auth/access/access.guard.js';
import { AuditTrail } from './modules/auth/audit/audit-trail.service.js';
import { ReadableAnswers } from './modules/auth/access/readable-answers.interceptor.js';
import { CallsInFlight } from './platform/http/calls-in-flight.js';
import { configureHttp, httpOptions } from './platform/http/configure-http.js';
import { CrossProcessInvalidation } from './platform/http/cross-process-invalidation.js';
import { HttpAdapter } from './platform/http/http-adapter.js';
import { acceptForwardedCalls, forwardToLeader } from './platform/http/leader-only-routes.js';
import { IdempotentCalls } from './platform/idempotency/idempotent-calls.interceptor.js';
import { Leadership } from './platform/leadership/leadership.js';
import { ThisInstance } from './platform/leadership/this-instance.js';
import { type ProcessRole, singleProcess } from './platform/process/process-role.js';
import type { PlatformOptions } from './platform/platform.module.js';
import type { Settings } from './platform/settings/settings.js';
import { Notifier } from './platform/wake/notifier.js';

export interface AppOptions extends Omit<PlatformOptions, 'entities'> {
  logger?: LoggerService | false;
}

export interface RunningApp {
  app: NestExpressApplication;
  /** Address at which it answers, such as http://127.0.0.1:7099. */
  url: string;
}

/** Builds the application, listens, and competes for the leadership. The database is migrated by now. */
export async function startApp({ logger, role = singleProcess, ...options }: AppOptions): Promise<RunningApp> {
  const app = await NestFactory.create<NestExpressApplication>(
    AppModule.forRoot({ ...options, role }),
    new HttpAdapter(options.settings.http),
    {
      ...httpOptions,
      logger,
      abortOnError: false,
    },
  );
  try {
    if (role.kind === 'leader') app.use(acceptForwardedCalls(role.endpointKey));
    app.use(app.get(CallsInFlight).watch);
    const forward = role.kind === 'worker' ? [forwardToLeader(role.leaderEndpoint)] : [];
    const watch = [...forward, app.get(AuditTrail).watch];
    const { beforeBody, beforeParsing } = app.get(AccessGuard);
    const tells = role.kind === 'single' ? [] : [new CrossProcessInvalidation(role.messages)];
    const around = [app.get(IdempotentCalls), app.get(ReadableAnswers), ...tells];
    configureHttp(app, options.settings, { watch, beforeBody: [beforeBody], beforeParsing: [beforeParsing], around });
    const instance = app.get(ThisInstance);
    await listen(app, role, options.settings);
    let serving: Promise<unknown> | undefined;
    if (role.kind === 'leader') {
      const { port } = app.getHttpServer().address() as AddressInfo;
      ({ serving } = await role.workers.start(instance.id, { port, key: role.endpointKey }));
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

/** A leader listens for its workers alone. A worker is given connections: the time limits of its server begin with the event. */
async function listen(app: NestExpressApplication, { kind }: ProcessRole, { host, port }: Settings): Promise<void> {
  if (kind === 'single') await app.listen(port, host);
  else if (kind === 'leader') await app.listen(0, '127.0.0.1');
  else {
    await app.init();
    app.getHttpServer().emit('listening');
  }
}
