import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { makeRequest, makeTask, start } from '../../../test/support/builders.js';
import { lockAwaited } from '../../../test/support/lock-waits.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { testSettings } from '../../../test/support/test-settings.js';
import type { DeployUpdate } from '../../core/model/deploy.js';
import type { RequestHistory } from '../../core/model/request.js';
import type { TaskHistoryUpdate } from '../../core/model/task.js';
import type { ElevatedAccessEvent, Webhook, WebhookSummary } from '../../core/model/webhook.js';
import { WebhookOutboxRepository } from './webhook-outbox.repository.js';
import { WebhooksModule } from './webhooks.module.js';

const loadTasks = async () => new Map([[makeTask().taskId.id, makeTask()]]);

let rooms: RoomApp;
let outbox: WebhookOutboxRepository;

beforeAll(async () => {
  // Nothing is delivered: the timer is off and nothing wakes the poller.
  rooms = await startRooms({
    modules: [WebhooksModule],
    settings: {
      checkWebhooksEveryMillis: 0,
      // What waits here is of long ago: an attempt that fails must not make it a dead letter.
      webhooks: { ...testSettings().webhooks, deleteUndeliverableWebhooksAfterHours: 0 },
    },
  });
  outbox = rooms.app.get(WebhookOutboxRepository);
});
afterAll(() => rooms.close());
beforeEach(() => rooms.database.pool.query('TRUNCATE webhook, webhook_update, webhook_dead_letter'));

const uri = 'http://127.0.0.1:9/hook?a=b&c=$REQUEST_ID';
const stored = 'TASK-http%3A%2F%2F127.0.0.1%3A9%2Fhook%3Fa%3Db%26c%3D%24REQUEST_ID';
const register = (body: unknown) => rooms.call('POST', '/api/webhooks', body);
/** Deletes all webhooks in a transaction that stays open until `calls` are through, or wait for a lock. */
async function whileDeleted<T>(calls: () => Promise<T>): Promise<T> {
  const { pool } = rooms.database;
  let result: Promise<T> | undefined;
  await pool.transaction(async (tx) => {
    await tx.query('DELETE FROM webhook');
    result = calls();
    await Promise.race([result, lockAwaited(pool)]);
  });
  return result!;
}
const events = {
  request: { createdAt: start, eventType: 'CREATED', request: makeRequest(), user: 'ada' } satisfies RequestHistory,
  deploy: {
    deployMarker: { requestId: 'web', deployId: 'd1', timestamp: start },
    eventType: 'STARTING',
  } satisfies DeployUpdate,
  task: {
    taskId: makeTask().taskId,
    timestamp: start,
    taskState: 'TASK_RUNNING',
    previous: [],
  } satisfies TaskHistoryUpdate,
  access: { user: 'jim', requestId: 'web', scope: 'READ', createdAt: start } satisfies ElevatedAccessEvent,
};
const queueAll = () =>
  rooms.database.transaction(async (tx) => {
    await outbox.request(tx, events.request);
    await outbox.deploy(tx, events.deploy);
    await outbox.tasks(tx, [events.task], loadTasks);
    await outbox.elevatedAccess(tx, [events.access]);
  });

test('the tasks of a batch of updates are read in one go, each once, and only for a listener', async () => {
  const update = (taskState: TaskHistoryUpdate['taskState'], instanceNo: number): TaskHistoryUpdate => ({
    ...events.task,
    taskId: makeTask({ instanceNo }).taskId,
    taskState,
  });
  const updates = [update('TASK_STARTING', 1), update('TASK_RUNNING', 1), update('TASK_RUNNING', 2)];
  const asked: string[][] = [];
  const load = async (ids: string[]) => {
    asked.push(ids);
    return new Map([1, 2].map((instanceNo) => makeTask({ instanceNo })).map((task) => [task.taskId.id, task]));
  };
  const tell = () => rooms.database.transaction((tx) => outbox.tasks(tx, updates, load));
  await tell();
  expect(asked).toEqual([]);
  await register({ uri, type: 'TASK' });
  await tell();
  expect(asked).toEqual([[updates[0]!.taskId.id, updates[2]!.taskId.id]]);
  expect(await rooms.database.pool.query('SELECT update_key FROM webhook_update ORDER BY 1')).toHaveLength(3);
});

describe('registration', () => {
  test('is answered as JSON text, and a second one changes nothing', async () => {
    const before = Date.now();
    const first = await register({ uri, type: 'TASK', user: 'ada', id: 'mine', secret: 'hush' });
    expect(first).toMatchObject({ status: 200, body: 'CREATED' });
    expect(first.headers.get('content-type')).toContain('application/json');
    expect(await register({ uri, type: 'TASK', user: 'bob' })).toMatchObject({ status: 200, body: 'EXISTED' });
    expect(await register({ uri, type: 'DEPLOY', timestamp: start })).toMatchObject({ body: 'CREATED' });
    const { body } = await rooms.get<Webhook[]>('/api/webhooks');
    expect(body).toEqual([
      { uri, type: 'DEPLOY', timestamp: start, id: stored.replace('TASK', 'DEPLOY') },
      { uri, type: 'TASK', user: 'ada', timestamp: body[1]!.timestamp, id: stored },
    ]);
    expect(body[1]!.timestamp).toBeGreaterThanOrEqual(before);
  });

  test.each([
    [{ type: 'TASK' }, 'uri', 'required'],
    [{ uri: '', type: 'TASK' }, 'uri', 'uri'],
    [{ uri: 'not a uri', type: 'TASK' }, 'uri', 'uri'],
    [{ uri: 'ftp://x/y', type: 'TASK' }, 'uri', 'uri'],
    [{ uri: 7, type: 'TASK' }, 'uri', 'type'],
    [{ uri }, 'type', 'required'],
    [{ uri, type: 'task' }, 'type', 'oneOf'],
    [{ uri, type: 'TASK', timestamp: '5' }, 'timestamp', 'integer'],
    [{ uri: `http://x/${'%'.repeat(900)}`, type: 'TASK' }, 'uri', 'length'],
    [[], '', 'type'],
  ])('%j is refused', async (body, field, rule) => {
    expect(await register(body)).toMatchObject({
      status: 400,
      body: { code: 'INVALID_REQUEST', errors: [{ field, rule }] },
    });
  });
});

test('the longest uri that is accepted fits into the index of ids, and can be removed by it', async () => {
  const random = () => String.fromCharCode(97 + Math.floor(Math.random() * 26));
  const longest = `http://x${Array.from({ length: 2_484 }, random).join('')}`;
  expect(await register({ uri: longest, type: 'TASK' })).toMatchObject({ status: 200 });
  const id = encodeURIComponent(`TASK-${longest}`);
  expect(await rooms.call('DELETE', `/api/webhooks/${id}`)).toMatchObject({ status: 200 });
});

describe('removal', () => {
  test.each([
    ['the stored id in the query', `?webhookId=${encodeURIComponent(stored)}`],
    ['the plain id in the query', `?webhookId=${encodeURIComponent(`TASK-${uri}`)}`],
    ['the stored id in the path', `/${encodeURIComponent(stored)}`],
    ['the plain id in the path', `/${stored}`],
    ['with a slash before the query', `/?webhookId=${encodeURIComponent(stored)}`],
  ])('by %s', async (_name, path) => {
    await register({ uri, type: 'TASK' });
    expect(await rooms.call('DELETE', `/api/webhooks${path}`)).toMatchObject({ status: 200, body: 'DELETED' });
    expect(await rooms.call('DELETE', `/api/webhooks${path}`)).toMatchObject({ status: 200, body: 'DIDNT_EXIST' });
    expect((await rooms.get('/api/webhooks')).body).toEqual([]);
  });

  test('takes what waits along', async () => {
    await register({ uri, type: 'TASK' });
    await queueAll();
    await rooms.call('DELETE', `/api/webhooks?webhookId=${encodeURIComponent(stored)}`);
    await register({ uri, type: 'TASK' });
    expect((await rooms.get('/api/webhooks/summary')).body).toMatchObject([{ queueSize: 0 }]);
  });

  test('needs an id', async () => {
    expect(await rooms.call('DELETE', '/api/webhooks')).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'webhookId', rule: 'required' }] },
    });
  });
});

describe('queues', () => {
  const id = (type: string) => encodeURIComponent(stored.replace('TASK', type));

  test('show what waits for each webhook', async () => {
    for (const type of ['TASK', 'REQUEST', 'DEPLOY', 'CRASHLOOP']) await register({ uri, type });
    await queueAll();
    for (const [type, path, listed] of [
      ['TASK', 'task', events.task],
      ['REQUEST', 'request', events.request],
      ['DEPLOY', 'deploy', events.deploy],
    ] as const) {
      expect((await rooms.get(`/api/webhooks/${path}?webhookId=${id(type)}`)).body).toEqual([listed]);
      expect((await rooms.get(`/api/webhooks/${path}/${id(type)}`)).body).toEqual([listed]);
      expect((await rooms.get(`/api/webhooks/${path}?webhookId=${id('CRASHLOOP')}`)).body).toEqual([]);
      expect((await rooms.get(`/api/webhooks/${path}?webhookId=nope`)).body).toEqual([]);
    }
    expect((await rooms.get('/api/webhooks/request')).body).toEqual([events.request]);
    const summary = (await rooms.get<WebhookSummary[]>('/api/webhooks/summary')).body;
    expect(summary.map((entry) => entry.queueSize)).toEqual([0, 1, 1, 1]);
    expect(summary[0]!.webhook).toMatchObject({ type: 'CRASHLOOP', uri });
  });

  test('shows which uses of elevated access wait for a webhook', async () => {
    for (const type of ['TASK', 'ELEVATED_ACCESS']) await register({ uri, type });
    await queueAll();
    const path = '/api/webhooks/elevated-access';
    expect((await rooms.get(`${path}?webhookId=${id('ELEVATED_ACCESS')}`)).body).toEqual([events.access]);
    expect((await rooms.get(`${path}?webhookId=${id('TASK')}`)).body).toEqual([]);
  });

  test('a later event of the same key takes the place of one that waits', async () => {
    await register({ uri, type: 'TASK' });
    await queueAll();
    const later = { ...events.task, statusMessage: 'again' };
    await rooms.database.transaction((tx) => outbox.tasks(tx, [later], loadTasks));
    expect((await rooms.get(`/api/webhooks/task?webhookId=${id('TASK')}`)).body).toEqual([later]);
  });

  test.each(['task', 'deploy', 'elevated-access'])('%s needs an id', async (path) => {
    expect(await rooms.get(`/api/webhooks/${path}`)).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'webhookId', rule: 'required' }] },
    });
  });
});

test('changes wait for no webhook that is being deleted, and queue nothing for it', async () => {
  for (const type of ['REQUEST', 'DEPLOY', 'TASK', 'ELEVATED_ACCESS']) await register({ uri, type });
  await queueAll();
  await whileDeleted(queueAll);
  expect(await rooms.database.pool.query('SELECT 1 FROM webhook_update')).toEqual([]);
});
