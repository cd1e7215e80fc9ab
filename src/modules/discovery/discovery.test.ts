import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { insertDeploy, insertRequest, insertTask, type TaskRow } from '../../../test/support/builders.js';
import { FileDriver } from '../../../test/support/file-driver.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { watchStatements } from '../../../test/support/sent-statements.js';
import { startTestApp } from '../../../test/support/test-app.js';
import type { Deploy } from '../../core/model/deploy.js';
import type { Request } from '../../core/model/request.js';
import { migrate } from '../../platform/database/migrate.js';
import { EmbeddedServer } from '../../platform/embedded-server/embedded-server.js';
import type { ServiceEndpointsDto } from './discovery.dto.js';
import { DiscoveryModule } from './discovery.module.js';

let rooms: RoomApp;
beforeAll(async () => {
  rooms = await startRooms({ modules: [DiscoveryModule] });
});
afterAll(() => rooms.close());
const sql = (text: string, values: unknown[] = []) => rooms.database.pool.query(text, values);
beforeEach(() =>
  sql('TRUNCATE request, deploy_history, task, task_launch, task_update, task_healthcheck, task_liveness, killed_task'),
);

const launched = Date.now() - 60_000;
async function service(id: string, request: Partial<Request> = {}, deploy: Partial<Deploy> = {}): Promise<void> {
  await insertRequest(rooms.database.pool, { request: { id, ...request }, activeDeployId: 'd1' });
  await insertDeploy(rooms.database.pool, { deploy: { requestId: id, ...deploy } });
}
const run = (row: TaskRow = {}) =>
  insertTask(rooms.database.pool, {
    startedAt: launched,
    host: '10.0.0.1',
    ports: [31_000 + (row.instanceNo ?? 1)],
    updates: [['TASK_RUNNING', launched]],
    ...row,
  });
const endpoints = async (id = 'web') =>
  (await rooms.get<ServiceEndpointsDto>(`/api/services/${id}/endpoints?all=true`)).body;
const file = async (format: string, query = '') => (await rooms.get(`/api/services/endpoints/${format}${query}`)).body;

describe('the endpoints of a service', () => {
  test('are its healthy tasks; the others are told with the reason', async () => {
    await service('web', {}, { healthcheck: { uri: '/', liveness: {} } });
    const [healthy, waiting, sick, unjudged, killed] = await Promise.all(
      [1, 2, 3, 4, 5].map((instanceNo) => run({ instanceNo })),
    );
    for (const { id } of [healthy!, sick!, unjudged!, killed!])
      await sql(
        `INSERT INTO task_healthcheck (task_id, checked_at, startup, status_code, duration_millis) VALUES ($1, $2, false, 200, 1)`,
        [id, new Date(launched + 1_000)],
      );
    for (const [{ id }, waits] of [
      [sick!, 'LIMIT'],
      [unjudged!, 'CANNOT_JUDGE'],
    ] as const)
      await sql(
        `INSERT INTO task_liveness (task_id, request_id, failures, failing_since, sick_since, waits_for) VALUES ($1, 'web', 3, now(), now(), $2)`,
        [id, waits],
      );
    await sql(
      `INSERT INTO killed_task (task_id, request_id, killed_at, first_killed_at, retries) VALUES ($1, 'web', now(), now(), 0)`,
      [killed!.id],
    );
    expect(await endpoints()).toEqual({
      requestId: 'web',
      endpoints: [
        {
          taskId: healthy!.id,
          deployId: 'd1',
          instanceNo: 1,
          host: '10.0.0.1',
          slaveId: 's1',
          rackId: 'rack-1',
          ports: [31_001],
          port: 31_001,
          healthySince: launched + 1_000,
        },
        expect.objectContaining({ taskId: unjudged!.id }),
      ],
      leftOut: [
        expect.objectContaining({ taskId: waiting!.id, reason: 'STARTING' }),
        expect.objectContaining({ taskId: sick!.id, reason: 'UNHEALTHY' }),
        expect.objectContaining({ taskId: killed!.id, reason: 'LEAVING' }),
      ],
    });
    expect((await rooms.get<ServiceEndpointsDto>('/api/services/web/endpoints')).body).not.toHaveProperty('leftOut');
  });

  test('of a service without a deploy are none; of what is not there, or is no service, it is an error', async () => {
    await insertRequest(rooms.database.pool);
    await insertRequest(rooms.database.pool, { request: { id: 'job', requestType: 'ON_DEMAND' } });
    expect(await endpoints()).toEqual({ requestId: 'web', endpoints: [], leftOut: [] });
    expect(await rooms.get('/api/services/nobody/endpoints')).toRefuse(404, 'REQUEST_NOT_FOUND');
    const refused = await rooms.get('/api/services/job/endpoints');
    expect(refused).toRefuse(400, 'INVALID_PARAMETER');
    expect(refused.body).toMatchObject({ message: expect.stringContaining('ON_DEMAND') as string });
    expect(await rooms.get('/api/services/endpoints?requestId=web&requestId=nobody')).toRefuse(
      404,
      'REQUEST_NOT_FOUND',
    );
  });
});

describe('a configuration', () => {
  beforeEach(async () => {
    await service('web', {}, { serviceBasePath: '/web', loadBalancerGroups: ['public'] });
    await service('api', {}, { loadBalancerGroups: ['inner'] });
    await insertRequest(rooms.database.pool, { request: { id: 'worker', requestType: 'WORKER' } });
    await run();
    await run({ requestId: 'api', instanceNo: 2 });
  });

  test('has all services', async () =>
    expect(await file('nginx')).toBe(
      'upstream api {\n  server 10.0.0.1:31002;\n}\nupstream web {\n  server 10.0.0.1:31001;\n}\n',
    ));
  test('has those that are named, or are in a group', async () => {
    for (const query of ['?requestId=web', '?loadBalancerGroup=public'])
      expect(await file('haproxy', query)).toBe('backend web\n  server 10.0.0.1:31001 10.0.0.1:31001\n');
  });
  test('of Traefik has those with a route, or those that are named', async () => {
    const servicesOf = async (query = '') => Object.keys((await read(query)).http.services);
    const read = async (query: string) =>
      JSON.parse((await file('TRAEFIK', query)) as string) as { http: { routers?: object; services: object } };
    expect((await read('')).http.routers).toEqual({ web: { rule: '(PathPrefix("/web"))', service: 'web' } });
    expect([await servicesOf(), await servicesOf('?requestId=api')]).toEqual([['web'], ['api']]);
  });
  test('is text; another format is 400', async () => {
    const { headers } = await rooms.get('/api/services/endpoints/envoy');
    expect(headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(await rooms.get('/api/services/endpoints/caddy')).toRefuse(400, 'INVALID_PARAMETER');
  });
  test('is read with as many statements for many services as for one', async () => {
    const watch = watchStatements();
    const count = async (query: string) => {
      watch.forget();
      await file('nginx', query);
      return watch.sent().filter(({ sql: text }) => /(FROM|JOIN) (request|task|deploy_history)\b/.test(text)).length;
    };
    try {
      expect([await count(''), await count('?requestId=web')]).toEqual([3, 3]);
    } finally {
      watch.end();
    }
  });
});

test('leader and follower answer the same', async () => {
  const leader = await startTestApp({ driver: new FileDriver() });
  const follower = await startTestApp({ driver: new FileDriver(), databaseUrl: leader.databaseUrl, follows: true });
  try {
    const tx = leader.database.pool;
    await insertRequest(tx, { request: { instances: 2 }, activeDeployId: 'd1' });
    await insertDeploy(tx, {});
    await insertTask(tx, { startedAt: launched, ports: [31_001], updates: [['TASK_RUNNING', launched]] });
    const read = async (url: string) => (await fetch(`${url}/api/services/web/endpoints`)).json();
    const answers = await Promise.all([leader.url, follower.url].map(read));
    expect(answers[0]).toMatchObject({ endpoints: [{ port: 31_001 }] });
    expect(answers[1]).toEqual(answers[0]);
  } finally {
    await follower.close();
    await leader.close();
  }
});

test('without the database it is 503, and never an empty list', async () => {
  const folder = tempFolder();
  const server = await EmbeddedServer.start({ dataDir: folder.path });
  await migrate(server.url);
  const away = await startRooms({ modules: [DiscoveryModule], databaseUrl: server.url });
  try {
    await insertRequest(away.database.pool);
    expect((await away.get('/api/services/web/endpoints')).status).toBe(200);
    await server.stop('immediate');
    for (const path of ['web/endpoints', 'endpoints', 'endpoints/nginx', 'endpoints/traefik'])
      expect(await away.get(`/api/services/${path}`), path).toRefuse(503, 'UNAVAILABLE');
  } finally {
    await away.close();
    await server.stop('immediate');
    folder.remove();
  }
});
