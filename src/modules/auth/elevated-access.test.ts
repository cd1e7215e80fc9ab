import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startAuthApp, type AuthApp } from '../../../test/support/auth/auth-app.js';
import { startReceiver, type HttpReceiver } from '../../../test/support/http-receiver.js';
import { waitFor } from '../../../test/support/wait-for.js';

const users = {
  web: { id: 'wendy', groups: ['web'] },
  oncall: { id: 'otto', groups: ['web', 'oncall'] },
  jita: { id: 'jim', groups: ['jita'] },
  admin: { id: 'alma', groups: ['admins'] },
  webAdmin: { id: 'anna', groups: ['admins', 'web'] },
};
type Who = keyof typeof users;

let app: AuthApp;
const tokens = {} as Record<Who, string>;
const call = (who: Who, method: string, path: string, body?: unknown) =>
  app.call(method, path, { token: tokens[who], body });

beforeAll(async () => {
  app = await startAuthApp({ auth: { enabled: true, adminGroups: ['admins'], jitaGroups: ['jita'] } });
  for (const [who, user] of Object.entries(users)) tokens[who as Who] = await app.tokenOf(user);
  const shop = { id: 'shop', requestType: 'SERVICE', group: 'web', maxScale: 3, instances: 1 };
  await call('web', 'POST', '/api/requests', shop);
});
afterAll(() => app.close());

describe('webhooks of type ELEVATED_ACCESS', () => {
  let receiver: HttpReceiver;
  beforeAll(async () => {
    receiver = await startReceiver();
    // As the web page of 1.5.0 says it.
    const body = { uri: `${receiver.url}/$USER_ID/$SCOPE/$REQUEST_ID`, type: 'ELEVATED ACCESS' };
    await call('admin', 'POST', '/api/webhooks', body);
  });
  afterAll(() => receiver.close());
  beforeEach(() => void (receiver.calls.length = 0));

  const groups = (who: Who) => call(who, 'POST', '/api/requests/request/shop/groups', { group: 'web' });
  const toldOf = () => receiver.calls.map(({ body }) => body);

  test('are told of just-in-time access to a request of others, reads as well', async () => {
    expect((await call('jita', 'GET', '/api/requests/request/shop')).status).toBe(200);
    await waitFor('the event', () => receiver.calls.length === 1);
    expect(receiver.calls[0]!.url).toBe('/jim/READ/shop');
    expect(toldOf()).toEqual([{ user: 'jim', requestId: 'shop', scope: 'READ', createdAt: expect.any(Number) }]);
  });

  test('are told of what administrators change of others, and of nothing that others may do anyway', async () => {
    for (const who of ['web', 'webAdmin'] as const) expect((await groups(who)).status).toBe(200);
    expect((await call('admin', 'GET', '/api/requests/request/shop')).status).toBe(200);
    expect((await groups('admin')).status).toBe(200);
    await waitFor('the event', () => receiver.calls.length > 0);
    expect(toldOf()).toMatchObject([{ user: 'alma', requestId: 'shop', scope: 'WRITE' }]);
  });
});

describe('actionPermissions of a request', () => {
  const request = '/api/requests/request/kept';
  const actionPermissions = { oncall: ['SCALE', 'PAUSE', 'EXEC'], web: ['BOUNCE'] };
  beforeAll(async () => {
    const body = { id: 'kept', requestType: 'ON_DEMAND', group: 'web', actionPermissions };
    await call('web', 'POST', '/api/requests', body);
  });

  test('are kept and shown', async () => {
    expect((await call('web', 'GET', request)).body).toMatchObject({ request: { actionPermissions } });
  });

  test.each([
    ['PUT', `${request}/scale`, { instances: 2 }, 'SCALE'],
    ['POST', `${request}/pause`, {}, 'PAUSE'],
    ['POST', `${request}/unpause`, {}, 'PAUSE'],
    ['POST', `${request}/run`, {}, 'EXEC'],
    ['PUT', `${request}/priority`, { priority: 0.5 }, 'PRIORITIZE'],
    ['DELETE', '/api/tasks/task/kept-d1-1-1-h-r', {}, 'KILL_TASK'],
    ['POST', '/api/tasks/task/kept-d1-1-1-h-r/command', { name: 'x' }, 'RUN_SHELL_COMMAND'],
    ['DELETE', '/api/tasks/scheduled/task/kept-d1-1-1-IMMEDIATE-1', {}, 'DELETE_SCHEDULED_TASK'],
  ])('keep %s %s to the groups that they name', async (method, path, body, action) => {
    const refused = await call('web', method, path, body);
    expect([refused.status, refused.body.code]).toEqual([403, 'FORBIDDEN']);
    expect(refused.body.message).toContain(`${action} on request 'kept', as its actionPermissions say`);
    const named = Object.entries(actionPermissions).filter(([, actions]) => actions.includes(action));
    const allowed = named.length > 0 ? 'oncall' : 'admin';
    expect((await call(allowed, method, path, body)).body?.code).not.toBe('FORBIDDEN');
    expect((await call('admin', method, path, body)).body?.code).not.toBe('FORBIDDEN');
  });

  test('leave other actions to callers who may change the request', async () => {
    expect((await call('web', 'POST', `${request}/bounce`)).body.code).not.toBe('FORBIDDEN');
    const body = { id: 'kept', requestType: 'ON_DEMAND', group: 'web' };
    expect((await call('web', 'POST', '/api/requests', body)).status).toBe(200);
    expect((await call('web', 'PUT', `${request}/priority`, { priority: 0.5 })).status).toBe(200);
  });

  test.each([[{ web: ['FLY'] }], [{ web: 'SCALE' }], [['SCALE']]])('are refused as %j', async (wrong) => {
    const body = { id: 'other', requestType: 'ON_DEMAND', group: 'web', actionPermissions: wrong };
    const { status, body: answer } = await call('web', 'POST', '/api/requests', body);
    expect([status, answer.message]).toEqual([400, expect.stringContaining('actionPermissions must be a map')]);
  });
});

test('maxScale of a request bounds its instances, by an update and by a scale', async () => {
  const scale = (instances: number) => call('web', 'PUT', '/api/requests/request/shop/scale', { instances });
  expect((await scale(3)).status).toBe(200);
  const refused = await scale(4);
  expect([refused.status, refused.body.message]).toEqual([
    400,
    'instances must be at most 3, the maxScale of the request, not 4',
  ]);
  const shop = { id: 'shop', requestType: 'SERVICE', group: 'web', maxScale: 2, instances: 3 };
  expect(await call('web', 'POST', '/api/requests', shop)).toMatchObject({
    status: 400,
    body: { errors: [{ field: 'instances', rule: 'maxScale' }] },
  });
  const wrong = await call('web', 'POST', '/api/requests', { ...shop, maxScale: 0, instances: 1 });
  expect([wrong.status, wrong.body.message]).toEqual([400, 'maxScale must be more than 0']);
  expect((await call('web', 'GET', '/api/requests/request/shop')).body).toMatchObject({ request: { maxScale: 3 } });
});
