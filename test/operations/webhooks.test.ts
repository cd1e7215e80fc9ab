import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Webhook, WebhookSummary } from '../../src/core/model/webhook.js';
import { startReceiver } from '../support/http-receiver.js';
import { waitFor } from '../support/wait-for.js';
import { everyOperationWasCalled, operationsOf, type CallInput } from './operations.js';
import { deployed } from './running-tasks.js';

const operations = operationsOf(['Webhooks'], {
  settings: { webhooks: { firstRetryMillis: 100, lastRetryMillis: 200 }, checkWebhooksEveryMillis: 500 },
});

let receiver: Awaited<ReturnType<typeof startReceiver>>;
beforeAll(async () => {
  receiver = await startReceiver();
});
afterAll(() => receiver.close());

const register = (body: object, status = 200) => operations.call<string>('POST /api/webhooks', status, { body });
const refused = (body: unknown) => operations.call<{ message: string }>('POST /api/webhooks', 400, { body });
const list = () => operations.call<Webhook[]>('GET /api/webhooks', 200);
const summary = () => operations.call<WebhookSummary[]>('GET /api/webhooks/summary', 200);
const uriOf = (type: string) => `${receiver.url}/${type.toLowerCase()}?request=$REQUEST_ID`;
const storedId = (type: string) => `${type}-${encodeURIComponent(uriOf(type))}`;
const plainId = (type: string) => `${type}-${uriOf(type)}`;
const sizes = async () =>
  Object.fromEntries((await summary()).map(({ webhook, queueSize }) => [webhook.type, queueSize]));

test('a webhook is registered once per type and uri, and shown without its secret', async () => {
  expect([await list(), await summary()]).toEqual([[], []]);
  const body = {
    type: 'TASK',
    uri: uriOf('TASK'),
    timestamp: 1_700_000_000_000,
    user: 'ann',
    secret: 'hush',
    id: 'mine',
  };
  expect(await register(body)).toBe('CREATED');
  const webhook = { type: 'TASK', uri: body.uri, timestamp: body.timestamp, user: 'ann', id: storedId('TASK') };
  expect(await list()).toEqual([webhook]);
  expect(await register({ ...body, user: 'bob' })).toBe('EXISTED');
  expect(await summary()).toEqual([{ webhook, queueSize: 0 }]);
  const before = Date.now() - 1;
  for (const type of ['REQUEST', 'DEPLOY', 'CRASHLOOP'])
    expect(await register({ type, uri: uriOf(type) })).toBe('CREATED');
  const all = await list();
  expect(all.map(({ type }) => type)).toEqual(['CRASHLOOP', 'DEPLOY', 'REQUEST', 'TASK']);
  expect(all[0]!.timestamp).toBeGreaterThan(before);
});

test.each([
  [{ type: 'TASK' }, 'uri'],
  [{ uri: 'http://host/' }, 'type'],
  [{ type: 'TASK', uri: 'no uri' }, 'uri must be an http or https URI'],
  [{ type: 'TASK', uri: 'ftp://host/' }, 'uri must be an http or https URI'],
  [{ type: 'NOISE', uri: 'http://host/' }, 'type must be one of'],
  [{ type: 'TASK', uri: 'http://host/', timestamp: 'now' }, 'timestamp'],
  [{ type: 'TASK', uri: 'http://host/', user: 7 }, 'user must'],
  [{ type: 'TASK', uri: 'http://host/', secret: 7 }, 'secret must'],
  [undefined, 'uri is required'],
])('the webhook %j is refused', async (body, message) => {
  expect((await refused(body)).message).toContain(message);
});

test('what was not delivered waits in the queue of its webhook, found by its plain and by its stored id', async () => {
  receiver.answer = 503;
  await deployed(operations.api, { id: 'web' }, { considerHealthyAfterRunningForSeconds: 600 });
  await operations.api.running('web', 1);
  const queues = { task: 'TASK', deploy: 'DEPLOY', request: 'REQUEST' } as const;
  const expected = {
    task: expect.arrayContaining([expect.objectContaining({ taskState: 'TASK_RUNNING' })]) as object,
    deploy: [
      {
        eventType: 'STARTING',
        deployMarker: { requestId: 'web', deployId: 'd1' },
        deploy: { command: 'exec sleep 1000' },
      },
    ],
    request: [{ eventType: 'CREATED', request: { id: 'web', requestType: 'SERVICE' } }],
  };
  for (const queue of ['task', 'deploy', 'request'] as const) {
    const read = (input: CallInput) => operations.call<object[]>(`GET /api/webhooks/${queue}`, 200, input);
    const readByPath = (webhookId: string) =>
      operations.call<object[]>(`GET /api/webhooks/${queue}/{webhookId}`, 200, { params: { webhookId } });
    const type = queues[queue];
    const waiting = await read({ query: { webhookId: storedId(type) } });
    expect(waiting).toMatchObject(expected[queue]);
    expect(waiting.length).toBe((await sizes())[type]);
    expect(await read({ query: { webhookId: plainId(type) } })).toEqual(waiting);
    for (const id of [storedId(type), plainId(type)]) expect(await readByPath(id)).toEqual(waiting);
    for (const webhookId of [storedId('CRASHLOOP'), 'nope']) {
      expect(await read({ query: { webhookId } })).toEqual([]);
      expect(await readByPath(webhookId)).toEqual([]);
    }
    if (queue === 'request') {
      expect(await read({})).toEqual(waiting);
    } else {
      const missing = await operations.call<{ message: string }>(`GET /api/webhooks/${queue}`, 400);
      expect(missing.message).toContain('webhookId');
    }
  }
  const access = 'GET /api/webhooks/elevated-access';
  expect(await operations.call(access, 200, { query: { webhookId: storedId('TASK') } })).toEqual([]);
  expect((await operations.call<{ message: string }>(access, 400)).message).toContain('webhookId');
  expect(await sizes()).toMatchObject({ CRASHLOOP: 0, DEPLOY: 1, REQUEST: 1 });
}, 60_000);

test('the queues empty as soon as receivers take what is posted, signed where there is a secret', async () => {
  const earlier = receiver.calls.length;
  receiver.answer = 200;
  await waitFor('empty queues', async () => Object.values(await sizes()).every((size) => size === 0));
  const calls = receiver.calls.slice(earlier);
  const states = calls
    .filter(({ url }) => url === '/task?request=web')
    .map(({ body }) => (body as { taskUpdate: { taskState: string } }).taskUpdate.taskState);
  expect(states).toEqual(expect.arrayContaining(['TASK_LAUNCHED', 'TASK_RUNNING']));
  const signed = new Set(calls.filter(({ headers }) => headers['webhook-signature']).map(({ url }) => url));
  expect([...signed]).toEqual(['/task?request=web']);
  expect(calls.find(({ url }) => url === '/request?request=web')!.body).toMatchObject({ eventType: 'CREATED' });
});

test('the summary tells what became of the newest delivery, and a test whether an update would arrive', async () => {
  const type = 'TASK';
  const summed = (await summary()).find(({ webhook }) => webhook.type === type)!;
  expect(summed.lastResult).toEqual({ at: expect.any(Number) as number, delivered: true });
  const tried = (webhookId: string, status = 200) =>
    operations.call('POST /api/webhooks/test', status, { query: { webhookId } });
  const earlier = receiver.calls.length;
  expect(await tried(plainId(type))).toEqual({ at: expect.any(Number) as number, delivered: true });
  expect(receiver.calls[earlier]).toMatchObject({
    url: '/task?request=webhook-test',
    body: { taskUpdate: { taskState: 'TASK_LAUNCHED' } },
  });
  expect(receiver.calls[earlier]!.headers['webhook-signature']).toBeDefined();
  receiver.answer = 418;
  expect(await tried(storedId(type))).toMatchObject({ delivered: false, error: 'It answered 418' });
  receiver.answer = 200;
  expect(await tried('nope', 404)).toMatchObject({ code: 'WEBHOOK_NOT_FOUND' });
});

test('updates that were given up are sent again when an operator wants it', async () => {
  const resend = (webhookId: string, status = 200) =>
    operations.call('POST /api/webhooks/dead-letters/resend', status, { query: { webhookId } });
  await operations.sql(
    `INSERT INTO webhook_dead_letter (id, webhook_id, update_key, subject_id, event_at, dead_at, attempts, placeholders, listed, body)
     VALUES (1, $1, 'k', 'web', now(), now(), 1, '{}', '{}', '{"from": "the dead"}')`,
    [storedId('REQUEST')],
  );
  expect(await resend(plainId('REQUEST'))).toEqual({ queued: 1 });
  await waitFor('the update', () => receiver.calls.some(({ text }) => text.includes('the dead')));
  expect(await resend(plainId('REQUEST'))).toEqual({ queued: 0 });
  expect(await resend('nope', 404)).toMatchObject({ code: 'WEBHOOK_NOT_FOUND' });
});

test('an action that is switched off changes and shows no webhook', async () => {
  const { api } = operations;
  const off = async (action: string, work: (message: object) => Promise<void>) => {
    await api.post(`disasters/disabled-actions/${action}`, { message: 'month end' });
    await work({ code: 'ACTION_DISABLED', message: `Action ${action} is disabled: month end` });
    await api.call('DELETE', `disasters/disabled-actions/${action}`);
  };
  const webhookId = storedId('TASK');
  await off('ADD_WEBHOOK', async (message) => {
    expect(await register({ type: 'TASK', uri: 'http://another/' }, 409)).toMatchObject(message);
  });
  await off('REMOVE_WEBHOOK', async (message) => {
    expect(await operations.call('DELETE /api/webhooks', 409, { query: { webhookId } })).toMatchObject(message);
    const input = { params: { webhookId } };
    expect(await operations.call('DELETE /api/webhooks/{webhookId}', 409, input)).toMatchObject(message);
  });
  await off('VIEW_WEBHOOKS', async (message) => {
    expect(await operations.call('GET /api/webhooks', 409)).toMatchObject(message);
    expect(await operations.call('GET /api/webhooks/summary', 409)).toMatchObject(message);
    expect(await operations.call('GET /api/webhooks/dead-letters', 409)).toMatchObject(message);
    const access = 'GET /api/webhooks/elevated-access';
    expect(await operations.call(access, 409, { query: { webhookId } })).toMatchObject(message);
    for (const queue of ['task', 'deploy', 'request'] as const) {
      expect(await operations.call(`GET /api/webhooks/${queue}`, 409, { query: { webhookId } })).toMatchObject(message);
      const input = { params: { webhookId } };
      expect(await operations.call(`GET /api/webhooks/${queue}/{webhookId}`, 409, input)).toMatchObject(message);
    }
  });
  expect(await list()).toHaveLength(4);
});

test('a webhook is removed by its plain or its stored id, with all that waits for it', async () => {
  receiver.answer = 503;
  await operations.api.post('requests/request/web/pause', {});
  await waitFor('an update', async () => ((await sizes())['REQUEST'] ?? 0) > 0);
  const byQuery = (webhookId: string) => operations.call('DELETE /api/webhooks', 200, { query: { webhookId } });
  const byPath = (webhookId: string) =>
    operations.call('DELETE /api/webhooks/{webhookId}', 200, { params: { webhookId } });
  expect(await byQuery(storedId('TASK'))).toBe('DELETED');
  expect(await byQuery(plainId('REQUEST'))).toBe('DELETED');
  expect(await byPath(storedId('DEPLOY'))).toBe('DELETED');
  expect(await byPath(plainId('CRASHLOOP'))).toBe('DELETED');
  for (const remove of [byQuery, byPath]) expect(await remove(storedId('TASK'))).toBe('DIDNT_EXIST');
  expect([await list(), await summary()]).toEqual([[], []]);
  expect(await operations.call('GET /api/webhooks/request', 200)).toEqual([]);
  const missing = await operations.call<{ message: string }>('DELETE /api/webhooks', 400);
  expect(missing.message).toContain('webhookId');
});

test('nothing was given up so far', async () => {
  expect(await operations.call('GET /api/webhooks/dead-letters', 200)).toEqual([]);
});

everyOperationWasCalled(operations);
