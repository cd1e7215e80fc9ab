import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { start } from '../../../test/support/builders.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { Clock } from '../../platform/clock.js';
import { PlacementFigures } from '../../platform/metrics/placement-figures.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { MetricsModule } from './metrics.module.js';
import type { Metric } from './metrics.service.js';

let now = start;
const clock = new (class extends Clock {
  override now = () => now;
})();
let rooms: RoomApp;
beforeAll(async () => {
  rooms = await startRooms({ modules: [MetricsModule], clock });
});
afterAll(() => rooms.close());
/** Figures of the database are read anew. */
beforeEach(() => void (now += 60_000));

const text = async () => (await rooms.get<string>('/metrics')).body;
const json = async () => (await rooms.get<{ metrics: Record<string, Metric> }>('/api/metrics')).body.metrics;

test('the figures are served in the notation of Prometheus, each with its help and type', async () => {
  const { status, headers, body } = await rooms.get<string>('/metrics');
  expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
  for (const name of ['muster_leader', 'muster_database_up', 'muster_http_requests_total', 'muster_tasks']) {
    expect(body).toMatch(new RegExp(`^# HELP ${name} \\S.*\n# TYPE ${name} (gauge|counter)$`, 'm'));
  }
  expect(body).toMatch(/^muster_leader 1$/m);
});

test('the same figures are served as JSON, by name and labels', async () => {
  const metrics = await json();
  expect(metrics['muster_leader']).toEqual({ value: 1 });
  expect(metrics['muster_database_up']).toEqual({ value: 1 });
  expect(metrics['muster_database_connections{pool=api,state=waiting}']).toEqual({ value: 0 });
});

test('calls are counted by method, route and status, whatever ids they name and however early they are refused', async () => {
  const send = (type: string, path: string) =>
    fetch(rooms.url + path, { method: 'POST', headers: { 'Content-Type': type }, body: '{' });
  await rooms.get('/api/state?skipCache=true');
  await rooms.get('/nowhere/1');
  await rooms.get('/nowhere/2');
  await send('application/xml', '/api/state');
  const metrics = await json();
  expect(metrics['muster_http_requests_total{method=GET,route=/api/state,status=200}']).toEqual({ count: 1 });
  expect(metrics['muster_http_requests_total{method=GET,route=other,status=404}']).toEqual({ count: 2 });
  expect(metrics['muster_http_requests_total{method=POST,route=other,status=405}']).toEqual({ count: 1 });
  expect(metrics['muster_http_request_seconds{method=GET,route=/api/state}']).toMatchObject({ count: 1 });
});

test('tasks are counted by state, updates for webhooks by what becomes of them', async () => {
  const { pool } = rooms.database;
  for (const [instanceNo, state] of ['TASK_RUNNING', 'TASK_RUNNING', 'TASK_STAGING'].entries()) {
    await pool.query(
      `INSERT INTO task (task_id, request_id, deploy_id, slave_id, instance_no, host, rack_id, started_at, pending_type,
         cpus, memory_mb, disk_mb, ports, incarnation, state, state_at)
       VALUES ($1, 'r', 'd', 's', 1, 'h', 'r', now(), 'IMMEDIATE', 1, 1, 1, '{}', 'i', $2, now())`,
      [`task-${instanceNo}`, state],
    );
  }
  await pool.query(
    `INSERT INTO webhook (id, uri, webhook_type, created_at) VALUES ('w', 'http://localhost', 'TASK', now())`,
  );
  await pool.query(
    `INSERT INTO webhook_update (webhook_id, update_key, subject_id, event_at, queued_at, next_attempt_at, placeholders,
       listed, body) VALUES ('w', 'k', 's', now(), now(), now(), '{}', '{}', '{}')`,
  );
  expect(await json()).toMatchObject({
    'muster_tasks{state=TASK_RUNNING}': { value: 2 },
    'muster_tasks{state=TASK_STAGING}': { value: 1 },
    'muster_webhook_updates{what=queued}': { value: 1 },
    'muster_webhook_updates{what=dead}': { value: 0 },
  });
  await pool.query('TRUNCATE task');
  now += 1_000;
  expect(await json(), 'asked for again at once').toHaveProperty(['muster_tasks{state=TASK_STAGING}']);
  now += 5_000;
  expect(await json(), 'a state without tasks').not.toHaveProperty(['muster_tasks{state=TASK_STAGING}']);
});

test('the conversion of old history shows whether it goes on, what it converted and what it could not read', async () => {
  const rowsDone = (what: string) => `muster_history_backfill_rows{what=${what}}`;
  expect(await json()).toMatchObject({
    muster_history_backfill_running: { value: 0 },
    [rowsDone('tasks')]: { value: 0 },
  });
  // A run that has ended, so that nothing moves it on.
  await rooms.database.pool.query(
    `INSERT INTO history_backfill (batch_size, started_at, finished_at, tasks_converted, requests_converted,
       deploys_converted, unreadable) VALUES (20, now(), now(), 4, 3, 2, 1)`,
  );
  now += 60_000;
  expect(await json()).toMatchObject({
    muster_history_backfill_running: { value: 0 },
    [rowsDone('tasks')]: { value: 4 },
    [rowsDone('requests')]: { value: 3 },
    [rowsDone('deploys')]: { value: 2 },
    [rowsDone('unreadable')]: { value: 1 },
  });
});

test('placements are counted, and told per second over the last minute', async () => {
  rooms.app.get(PlacementFigures).placed(120);
  expect(await json()).toMatchObject({
    muster_placements_total: { count: 120 },
    muster_placements_per_second: { value: 2 },
  });
  now += 60_000;
  expect(await json()).toMatchObject({ muster_placements_per_second: { value: 0 } });
});

test('passes of pollers are counted, and those that failed', async () => {
  let fails = true;
  const poller = rooms.app.get(Pollers).register({
    name: 'tried',
    everyMs: 0,
    pass: () => (fails ? Promise.reject(new Error('not now')) : Promise.resolve()),
  });
  poller.wake();
  await expect.poll(async () => (await json())['muster_poller_failures_total{poller=tried}']).toEqual({ count: 1 });
  fails = false;
  poller.wake();
  await expect.poll(() => text()).toMatch(/^muster_poller_passes_total{poller="tried"} 2$/m);
  expect(await text()).toMatch(/^muster_poller_failures_total{poller="tried"} 1$/m);
});

test('the process says what it costs and by how much its timers are late', async () => {
  const metrics = await json();
  for (const name of ['process_resident_memory_bytes', 'muster_event_loop_delay_seconds{quantile=0.99}']) {
    expect(metrics[name]!.value, name).toBeGreaterThan(0);
  }
  expect(metrics['process_cpu_seconds_total']!.count).toBeGreaterThan(0);
  expect(metrics['muster_uncaught_errors_total']).toEqual({ count: 0 });
});

describe('the bytes of ids', () => {
  const bytes = async () => (await rooms.get('/api/metrics/zk-bytes')).body;

  test('are those of all requests, live tasks and tasks of the history', async () => {
    expect(await bytes()).toEqual({ allRequestIds: 0, taskStatuses: 0, taskHistoryIds: 0 });
    await rooms.database.pool.query(
      `INSERT INTO request (id, request_type, state, version, changed_at, bouncing, document)
       VALUES ('four', 'WORKER', 'ACTIVE', 1, now(), false, '{}'), ('two', 'WORKER', 'ACTIVE', 1, now(), false, '{}')`,
    );
    expect(await bytes()).toEqual({ allRequestIds: 7, taskStatuses: 0, taskHistoryIds: 0 });
  });
});

test('without the database all other figures are still served', async () => {
  await rooms.database.pool.close();
  const metrics = await json();
  expect(metrics['muster_database_up']).toEqual({ value: 0 });
  expect(metrics['muster_leader']).toEqual({ value: 1 });
  expect(Object.keys(metrics).filter((name) => /^muster_(tasks|pending|slaves|late)/.test(name))).toEqual([]);
});
