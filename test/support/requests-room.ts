import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { ClusterDriver } from '../../src/cluster/cluster-driver.js';
import type { Deploy } from '../../src/core/model/deploy.js';
import type { PendingRequestParent, Request, RequestBatch } from '../../src/core/model/request.js';
import type { PendingRequest, TaskId } from '../../src/core/model/task.js';
import { makeTaskId } from '../../src/core/task-id.js';
import { entities } from '../../src/entities.js';
import { RequestsModule } from '../../src/modules/requests/requests.module.js';
import { Clock } from '../../src/platform/clock.js';
import { Database } from '../../src/platform/database/database.js';
import type { ErrorDto } from '../../src/platform/http/error.dto.js';
import { configureHttp, httpOptions } from '../../src/platform/http/configure-http.js';
import { HttpAdapter } from '../../src/platform/http/http-adapter.js';
import { PlatformModule } from '../../src/platform/platform.module.js';
import { RepositoriesModule } from '../../src/repositories.module.js';
import type { Settings } from '../../src/platform/settings/settings.js';
import { FixedLeadership } from './fixed-leadership.js';
import { testSettings } from './test-app.js';
import { createTestDatabase } from './test-database.js';

/** Moves by hand, and a little with every call. */
export class HandClock extends Clock {
  constructor(public millis: number) {
    super();
  }
  override now(): number {
    return this.millis;
  }
}

/** Every member that an answer of this room may have: which ones it has is what the tests are about. */
export type Body = Required<PendingRequestParent & RequestBatch & ErrorDto & Request>;
export interface Answer {
  status: number;
  body: Body;
}
export type Row = Record<string, unknown>;

/** Only the requests' room, over HTTP, on a database of its own: no scheduler moves the rows that a test looks at. */
export interface RequestsRoom {
  url: string;
  app: NestExpressApplication;
  clock: HandClock;
  call(method: string, path: string, body?: unknown): Promise<Answer>;
  sql(text: string, parameters?: unknown[]): Promise<Row[]>;
  /** A list of requests. */
  list(path: string): Promise<Body[]>;
  /** Creates a request through the API. */
  request(id: string, members?: Partial<Request>): Promise<Request>;
  /** Writes a deploy that is active at once. */
  deploy(requestId: string, deployId?: string, members?: Partial<Deploy>): Promise<void>;
  /** Writes a running task. */
  task(requestId: string, instanceNo: number, deployId?: string): Promise<TaskId>;
  slaves(count: number): Promise<void>;
  /** Newest first: type, user and message of what happened to a request. */
  history(requestId: string): Promise<[string, string | null, string | null][]>;
  /** Documents of what waits for the scheduler. */
  pending(requestId: string): Promise<PendingRequest[]>;
  close(): Promise<void>;
}

export async function openRequestsRoom(changes: Partial<Settings> = {}): Promise<RequestsRoom> {
  const test = await createTestDatabase();
  return openRoomOn(test.url, changes, () => test.drop());
}

/** Opens the room on a database that the caller looks after. */
export async function openRoomOn(
  databaseUrl: string,
  changes: Partial<Settings> = {},
  after: () => Promise<void> = () => Promise.resolve(),
): Promise<RequestsRoom> {
  const clock = new HandClock(Date.UTC(2026, 0, 15, 12));
  const settings = { ...testSettings(changes), databaseUrl };
  const refusedUser = (user: string) => Promise.resolve(user === 'root' ? 'tasks must not run as root' : undefined);
  const driver = { name: 'simulated', refusedUser } as Partial<ClusterDriver> as ClusterDriver;
  const leadership = new FixedLeadership(1);
  const platform = PlatformModule.forRoot({ settings, driver, entities, leadership, clock });
  @Module({ imports: [platform, RepositoriesModule, RequestsModule] })
  class RoomModule {}
  const app = await NestFactory.create<NestExpressApplication>(RoomModule, new HttpAdapter(settings.http), {
    ...httpOptions,
    logger: false,
  });
  configureHttp(app, settings);
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  const sql = (text: string, parameters: unknown[] = []): Promise<Row[]> =>
    app.get(Database).pool.query(text, parameters);
  const call = (method: string, path: string, body?: unknown) => {
    clock.millis += 10; // one thing after the other, as in life
    return send(url, method, path, body);
  };

  return {
    url,
    app,
    clock,
    call,
    sql,
    list: async (path) => (await call('GET', path)).body as unknown as Body[],
    request: async (id, members = {}) => {
      const { status, body } = await call('POST', '/api/requests', { id, requestType: 'SERVICE', ...members });
      if (status !== 200) throw new Error(`Request '${id}' was not created: ${JSON.stringify(body)}`);
      return body.request;
    },
    deploy: async (requestId, deployId = 'd1', members = {}) => {
      const deploy = { requestId, id: deployId, command: 'sleep 100', ...members };
      await sql('INSERT INTO deploy_history (request_id, deploy_id, created_at, data) VALUES ($1, $2, $3, $4)', [
        requestId,
        deployId,
        new Date(clock.now()),
        JSON.stringify({ deploy }),
      ]);
      await sql('UPDATE request SET active_deploy_id = $2 WHERE id = $1', [requestId, deployId]);
    },
    task: (requestId, instanceNo, deployId = 'd1') => insertTask(sql, { requestId, instanceNo, deployId }, clock.now()),
    slaves: async (count) => {
      for (let number = 1; number <= count; number++) {
        await sql(
          `INSERT INTO slave (id, host, rack_id, attributes, resources, agent_id, incarnation, seen_at, first_seen_at, state, state_at)
           VALUES ($1, $1, 'r1', '{}', '{}', $1, 'i', now(), now(), 'ACTIVE', now())`,
          [`slave${number}`],
        );
      }
    },
    history: async (requestId) =>
      (await sql('SELECT * FROM request_history WHERE request_id = $1 ORDER BY created_at DESC', [requestId])).map(
        (row) => [row['event_type'], row['user_name'], row['message']] as [string, string | null, string | null],
      ),
    pending: async (requestId) =>
      (await sql('SELECT document FROM pending_request WHERE request_id = $1 ORDER BY id', [requestId])).map(
        (row) => row['document'] as PendingRequest,
      ),
    close: async () => {
      await app.close();
      await after();
    },
  };
}

async function send(url: string, method: string, path: string, body: unknown): Promise<Answer> {
  const response = await fetch(url + path, {
    method,
    headers: body === undefined ? {} : { 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, body: (text ? JSON.parse(text) : undefined) as Body };
}

async function insertTask(
  sql: RequestsRoom['sql'],
  parts: { requestId: string; deployId: string; instanceNo: number },
  now: number,
): Promise<TaskId> {
  const taskId = makeTaskId({ ...parts, startedAt: now, host: 'host1', rackId: 'r1' });
  await sql(
    `INSERT INTO task (task_id, request_id, deploy_id, slave_id, instance_no, host, rack_id, started_at, pending_type,
       cpus, memory_mb, disk_mb, ports, incarnation, state, state_at, running_at)
     VALUES ($1, $2, $3, 'slave1', $4, 'host1', 'r1', $5, 'NEW_DEPLOY', 1, 64, 0, '{}', 'i', 'TASK_RUNNING', $5, $5)`,
    [taskId.id, parts.requestId, parts.deployId, parts.instanceNo, new Date(now)],
  );
  await sql(`INSERT INTO task_update (task_id, state, at) VALUES ($1, 'TASK_RUNNING', $2)`, [taskId.id, new Date(now)]);
  return taskId;
}
