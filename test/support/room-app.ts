import { Module, type DynamicModule, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { ClusterDriver } from '../../src/cluster/cluster-driver.js';
import { entities } from '../../src/entities.js';
import type { Clock } from '../../src/platform/clock.js';
import { Database } from '../../src/platform/database/database.js';
import { configureHttp, httpOptions } from '../../src/platform/http/configure-http.js';
import { HttpAdapter } from '../../src/platform/http/http-adapter.js';
import { Leadership } from '../../src/platform/leadership/leadership.js';
import { PlatformModule } from '../../src/platform/platform.module.js';
import { RepositoriesModule } from '../../src/repositories.module.js';
import type { Settings } from '../../src/platform/settings/settings.js';
import { FixedLeadership } from './fixed-leadership.js';
import { FileDriver } from './file-driver.js';
import { testSettings } from './test-app.js';
import { createDatabase } from './test-database.js';

export interface RoomApp {
  url: string;
  databaseUrl: string;
  app: NestExpressApplication;
  database: Database;
  /** Calls the API and reads the answer. body undefined: none is sent. */
  call<Body = unknown>(method: string, path: string, body?: unknown): Promise<Answer<Body>>;
  get<Body = unknown>(path: string): Promise<Answer<Body>>;
  close(): Promise<void>;
}

/** Body: what the test takes it for; a wrong guess shows in its assertions. */
export interface Answer<Body> {
  status: number;
  headers: Headers;
  /** Parsed JSON, or the text when it is none. */
  body: Body;
}

export interface RoomAppOptions {
  modules: (Type | DynamicModule)[];
  /** Entities besides those of the service. */
  entities?: Type[];
  driver?: ClusterDriver;
  settings?: Partial<Settings>;
  clock?: Clock;
  /** A database that exists, and stays, in place of one of their own. */
  databaseUrl?: string;
}

/**
 * Some rooms behind real HTTP on a database of their own, without the scheduler: rows stay as the test wrote them.
 * Leads in epoch 1.
 */
export async function startRooms({ modules, driver, settings, clock, ...given }: RoomAppOptions): Promise<RoomApp> {
  const { url: databaseUrl, remove } = given.databaseUrl
    ? { url: given.databaseUrl, remove: () => Promise.resolve() }
    : await createDatabase();
  const all = { ...testSettings(settings), databaseUrl };
  const platform = PlatformModule.forRoot({
    settings: all,
    driver: driver ?? new FileDriver(),
    entities: [...entities, ...(given.entities ?? [])],
    leadership: new FixedLeadership(1),
    clock,
  });
  @Module({ imports: [platform, RepositoriesModule, ...modules] })
  class Rooms {}
  const app = await NestFactory.create<NestExpressApplication>(Rooms, new HttpAdapter(all.http), {
    ...httpOptions,
    logger: process.env['TEST_LOG'] ? undefined : false,
    abortOnError: false,
  });
  configureHttp(app, all);
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as { port: number };
  const url = `http://127.0.0.1:${port}`;
  const database = app.get(Database);
  await database.pool.query('UPDATE leader_epoch SET epoch = 1');
  app.get(Leadership).start(url);
  const call = <Body>(method: string, path: string, body?: unknown) => callJson<Body>(`${url}${path}`, method, body);
  return {
    url,
    databaseUrl,
    app,
    database,
    call,
    get: <Body>(path: string) => call<Body>('GET', path),
    close: async () => {
      await app.close();
      await remove();
    },
  };
}

async function callJson<Body>(url: string, method: string, body?: unknown): Promise<Answer<Body>> {
  const sent =
    body === undefined ? {} : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } };
  const response = await fetch(url, { method, ...sent });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') && text !== '';
  return { status: response.status, headers: response.headers, body: (isJson ? JSON.parse(text) : text) as Body };
}
