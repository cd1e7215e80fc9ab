import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { startTestApp, type TestApp, type TestAppOptions } from './support/test-app.js';
import { startTcpProxy, targetOf, throughProxy } from './support/tcp-proxy.js';
import { recordLease } from './support/lease-record.js';
import { createDatabase } from './support/test-database.js';
import { waitFor } from './support/wait-for.js';
import { Leadership } from '../src/platform/leadership/leadership.js';
import { Pollers } from '../src/platform/poller/pollers.js';
import type { ClusterDriver } from '../src/cluster/cluster-driver.js';
import { Database } from '../src/platform/database/database.js';

const apps: TestApp<ClusterDriver>[] = [];
afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
});
async function start(options: TestAppOptions<ClusterDriver> = {}): Promise<TestApp<ClusterDriver>> {
  const app = await startTestApp(options);
  apps.push(app);
  return app;
}
async function get(
  app: TestApp<ClusterDriver>,
  path: string,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(app.url + path);
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

describe('the application', () => {
  test('boots with all its rooms, leads, and says so', async () => {
    const app = await start();
    expect(await get(app, '/healthz')).toEqual({ status: 200, body: { status: 'UP' } });
    const { status, body } = await get(app, '/readyz');
    expect(status).toBe(200);
    expect(body).toEqual({
      ready: true,
      leads: true,
      epoch: 1,
      leader: app.url,
      missing: [],
      failingPollers: [],
      degraded: [],
      disabledPollers: [],
      uncaughtErrors: 0,
    });
  });

  test('serves the document of its operations', async () => {
    const app = await start();
    const { body } = await get(app, '/docs/openapi.json');
    expect(Object.keys(body['paths'] as object)).toContain('/readyz');
  });

  test('a second instance serves too, and knows who leads', async () => {
    const first = await start();
    const { status, body } = await startFollower(first).then((second) => get(second, '/readyz'));
    expect(status).toBe(200);
    expect(body).toMatchObject({ ready: true, leads: false, leader: first.url });
  });

  test('stops in order: no new pass, duties end while HTTP still answers, then the lease goes to another at once', async () => {
    const first = await start();
    const second = await startFollower(first);
    const leadership = first.app.get(Leadership);
    const seen: string[] = [];
    let passes = 0;
    const poller = first.app.get(Pollers).register({
      name: 'of a test',
      everyMs: 0,
      pass: () => Promise.resolve(void passes++),
    });
    leadership.register({
      name: 'of a test',
      gained: () => Promise.resolve(),
      lost: async () => {
        poller.wake();
        seen.push(`pass: ${passes}`, `healthz: ${(await get(first, '/healthz')).status}`);
        seen.push(`other leads: ${second.app.get(Leadership).ready()}`);
      },
    });
    // The new duty belongs to the next time of leading.
    leadership.stepDown('a test wants it');
    second.app.get(Leadership).suspend('a test wants it');
    await waitFor('the first to lead', () => leadership.ready());
    second.app.get(Leadership).resume();
    passes = 0;
    const changes = await recordLease((sql) => second.app.get(Database).pool.query(sql));
    apps.splice(apps.indexOf(first), 1);
    await first.app.close();
    await waitFor('the other to lead', () => second.app.get(Leadership).ready());
    expect(seen).toEqual(['pass: 0', 'healthz: 200', 'other leads: false']);
    // A lease that was not given back would run for three seconds.
    expect((await changes()).map(({ isGivenBack }) => isGivenBack)).toEqual([true, false]);
    // The database goes with the first.
    await apps.shift()!.close();
    apps.push(first);
  });

  test('answers 503 in the error shape while the database is away, and serves and leads again when it is back', async () => {
    const database = await createDatabase();
    onTestFinished(database.remove);
    const proxy = await startTcpProxy(targetOf(database.url));
    onTestFinished(() => proxy.close());
    const app = await start({ databaseUrl: throughProxy(database.url, proxy) });
    expect((await get(app, '/api/requests')).status).toBe(200);

    proxy.cut();
    const away = await get(app, '/api/requests');
    expect(away).toMatchObject({ status: 503, body: { status: 503, code: 'UNAVAILABLE', errors: [] } });
    expect(await get(app, '/readyz')).toMatchObject({ status: 503, body: { ready: false } });
    expect((await get(app, '/healthz')).status).toBe(200);
    await waitFor('the leadership to be given up', async () => (await get(app, '/readyz')).body['leads'] === false);

    proxy.restore();
    await waitFor('it to serve again', async () => (await get(app, '/api/requests')).status === 200);
    await waitFor('it to lead again', async () => (await get(app, '/readyz')).body['leads'] === true);
    expect((await get(app, '/readyz')).body['epoch']).toBeGreaterThan(1);
  });
});

test('an older instance of a migrated database says so, neither serves nor leads, and goes on after the way back', async () => {
  const app = await start();
  await app.database.pool.query(
    `INSERT INTO muster_migration (timestamp, name) VALUES (9000000000000, 'Wings9000000000000')`,
  );
  await waitFor('it to notice', async () => (await get(app, '/readyz')).status === 503);
  expect((await get(app, '/readyz')).body).toMatchObject({ ready: false, newerSchema: 'Wings9000000000000' });
  for (const path of ['/api/requests', '/api/state', '/api/tasks/active']) {
    expect(await get(app, path)).toMatchObject({ status: 503, body: { code: 'NEWER_SCHEMA', errors: [] } });
  }
  const body = JSON.stringify({ id: 'new', requestType: 'SERVICE' });
  const headers = { 'content-type': 'application/json' };
  expect((await fetch(`${app.url}/api/requests`, { method: 'POST', headers, body })).status).toBe(503);
  expect((await get(app, '/healthz')).status).toBe(200);
  expect((await get(app, '/readyz')).body['leads']).toBe(false);
  await app.database.pool.query(`DELETE FROM muster_migration WHERE name = 'Wings9000000000000'`);
  await waitFor('it to serve again', async () => (await get(app, '/api/requests')).status === 200);
  await waitFor('it to lead again', async () => (await get(app, '/readyz')).body['leads'] === true);
});

test('an id that cannot be one is refused with what one looks like, wherever it stands', async () => {
  const app = await start();
  const post = (path: string, body: object, method = 'POST') =>
    fetch(app.url + path, { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  const deploy = { requestId: 'a b', id: 'v1', command: 'x', resources: { cpus: 1, memoryMb: 1 } };
  const answers: Record<string, (Response | Promise<Response>)[]> = {
    'such as web;': [
      fetch(`${app.url}/api/requests/request/a%20b`),
      fetch(`${app.url}/api/requests/request/a%20b/simple`),
      fetch(`${app.url}/api/requests/request/a%20b/explain`),
      post('/api/requests/request/a%20b', {}, 'DELETE'),
      post('/api/requests/request/a%20b/run', {}),
      post('/api/requests/request/a%20b/scale', { instances: 2 }, 'PUT'),
      post('/api/deploys', { deploy }),
      fetch(`${app.url}/api/history/request/a%20b/deploy/v1`),
    ],
    'such as v1.2;': [fetch(`${app.url}/api/history/request/web/deploy/v-1`)],
    'One looks like web-v1-1700000000000-1-host_name-rack': [
      fetch(`${app.url}/api/tasks/task/web`),
      fetch(`${app.url}/api/history/task/web`),
      fetch(`${app.url}/api/track/task/web`),
      fetch(`${app.url}/api/sandbox/web/browse`),
      post('/api/tasks/task/web', {}, 'DELETE'),
    ],
    'One looks like web-v1-1700000000000-1-IMMEDIATE-1700000000000': [
      fetch(`${app.url}/api/tasks/scheduled/task/web`),
      fetch(`${app.url}/api/tasks/scheduled/task/web/explain`),
    ],
    'such as slave1;': [
      fetch(`${app.url}/api/slaves/slave/a%20b/details`),
      fetch(`${app.url}/api/tasks/active/slave/a%20b`),
      post('/api/slaves/slave/a%20b/freeze', {}),
    ],
    'looks like rack-1;': [post('/api/racks/rack/a%20b/freeze', {})],
    'such as shop;': [fetch(`${app.url}/api/groups/group/a%20b`)],
    'such as TASK-https': [post('/api/webhooks/test?webhookId=hook', {})],
  };
  for (const [form, calls] of Object.entries(answers)) {
    for (const call of calls) {
      const answer = await call;
      const { message } = (await answer.json()) as { message: string };
      expect([answer.status, message], answer.url).toEqual([
        expect.toBeOneOf([400, 404]),
        expect.stringContaining(form),
      ]);
    }
  }
});

/** Does not wait for a leadership that it will not get. */
async function startFollower(first: TestApp<ClusterDriver>): Promise<TestApp<ClusterDriver>> {
  const follower = await startTestApp({ databaseUrl: first.databaseUrl, follows: true });
  apps.unshift(follower);
  return follower;
}
