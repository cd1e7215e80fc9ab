import { type ExecutionContext, HttpException } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Express } from 'express';
import { AppModule } from '../../../src/app.module.js';
import { SimulatedCluster } from '../simulated-cluster/simulated-cluster.js';
import { Tokens } from '../../../src/modules/auth/tokens/tokens.service.js';
import type { User } from '../../../src/core/authorization/index.js';
import { Database } from '../../../src/platform/database/database.js';
import { Around } from '../../../src/platform/http/around.js';
import { isGuarded } from '../../../src/platform/http/caller.js';
import { configureHttp, httpOptions } from '../../../src/platform/http/configure-http.js';
import { HttpAdapter } from '../../../src/platform/http/http-adapter.js';
import { FixedLeadership } from '../fixed-leadership.js';
import { testSettings } from '../test-settings.js';
import { authSettings, callWith, type Answer, type CallOptions } from './auth-app.js';

/** Status of a call that gets as far as an operation. */
export const letThrough = 418;

interface Layer {
  route?: { path: string; methods: Record<string, boolean> };
}

class LetThrough extends Around {
  begin(context: ExecutionContext): never {
    const { method, route } = context.switchToHttp().getRequest<{ method: string; route: { path: string } }>();
    throw new HttpException(`let through to ${method} ${route.path}`, letThrough);
  }
}

/** The whole application, but nothing is done: a call that is let through to an operation is answered with a status of its own. */
export class GuardedApp {
  private constructor(
    private readonly app: NestExpressApplication,
    readonly url: string,
  ) {}

  static async start(databaseUrl: string, file: Record<string, unknown>): Promise<GuardedApp> {
    const settings = { ...testSettings(authSettings(file)), databaseUrl, allowTestResourceCalls: true };
    const leadership = new FixedLeadership(1);
    const driver = new SimulatedCluster().driver();
    const app = await NestFactory.create<NestExpressApplication>(
      AppModule.forRoot({ settings, driver, leadership }),
      new HttpAdapter(settings.http),
      {
        ...httpOptions,
        logger: false,
        abortOnError: false,
      },
    );
    app.useGlobalInterceptors(new LetThrough());
    configureHttp(app, settings);
    await app.listen(0, '127.0.0.1');
    const { port } = app.getHttpServer().address() as { port: number };
    return new GuardedApp(app, `http://127.0.0.1:${port}`);
  }

  /** Every operation that is guarded, such as `GET /api/state`. */
  operations(): string[] {
    return operationsOf(this.app);
  }

  call(method: string, path: string, options?: CallOptions): Promise<Answer> {
    return callWith(`${this.url}${path}`, method, options);
  }

  async tokenOf(user: User): Promise<string> {
    return (await this.app.get(Tokens, { strict: false }).create({ user }, user)).text;
  }

  async sql(text: string, parameters?: unknown[]): Promise<void> {
    await this.app.get(Database).pool.query(text, parameters);
  }

  close(): Promise<void> {
    return this.app.close();
  }
}

/** Every operation of an application that is guarded when authentication is on, such as `GET /api/state`. */
export function operationsOf(app: NestExpressApplication): string[] {
  const { stack } = (app.getHttpAdapter().getInstance() as Express).router as unknown as { stack: Layer[] };
  return stack.flatMap(({ route }) =>
    route && isGuarded(route.path)
      ? Object.keys(route.methods).map((method) => `${method.toUpperCase()} ${route.path}`)
      : [],
  );
}
