import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAuthApp, type AuthApp } from '../../../test/support/auth/auth-app.js';

/** Team web deploys `shop`; release reads it and approves. */
const users = {
  wendy: { id: 'wendy', groups: ['web'], email: 'wendy@example.com' },
  rhea: { id: 'rhea', groups: ['release'], email: 'rhea@example.com' },
  rudi: { id: 'rudi', groups: ['readers'] },
  alma: { id: 'alma', groups: ['admins'] },
};
type Who = keyof typeof users;
const tokens = {} as Record<Who, string>;
let app: AuthApp;
const call = (who: Who, method: string, path: string, body: unknown = {}) =>
  app.call(method, path, { token: tokens[who], body });

beforeAll(async () => {
  app = await startAuthApp({ auth: { enabled: true, adminGroups: ['admins'] } });
  for (const [who, user] of Object.entries(users)) tokens[who as Who] = await app.tokenOf(user);
});
afterAll(() => app.close());

/** A deploy by Wendy whose gate waits. */
async function waiting(id: string, gate: object, request: object = {}): Promise<string> {
  const body = { id, requestType: 'SERVICE', group: 'web', readOnlyGroups: ['release', 'readers'], ...request };
  expect(await call('wendy', 'POST', '/api/requests', body)).toMatchObject({ status: 200 });
  const deploy = { id: 'd1', requestId: id, command: 'true', canaryDeploySettings: { gates: [gate] } };
  expect(await call('wendy', 'POST', '/api/deploys', { deploy })).toMatchObject({ status: 200 });
  await app.sql(`INSERT INTO deploy_gate (request_id, deploy_id, step, gate, type, state, since, passes, failures, inconclusive)
    VALUES ('${id}', 'd1', 1, 1, 'MANUAL', 'WAITING', now(), 0, 0, 0)`);
  return `/api/deploys/deploy/d1/request/${id}`;
}
const released = { actionPermissions: { release: ['APPROVE'], web: ['BOUNCE', 'SCALE'] } };

test('a group that may approve and not deploy answers gates, those who deploy do not', async () => {
  const path = await waiting('shop', { type: 'MANUAL' }, released);
  for (const [who, status] of [
    ['rudi', 403],
    ['wendy', 403],
    ['rhea', 200],
  ] as const)
    expect([who, (await call(who, 'POST', `${path}/approve`)).status]).toEqual([who, status]);
  const deploy = { id: 'd2', requestId: 'shop', command: 'true' };
  expect(await call('rhea', 'POST', '/api/deploys', { deploy })).toMatchObject({ status: 403 });
  const check = '/api/auth/shop/auth-check?scope=APPROVE';
  expect(await app.call('GET', check, { token: tokens.rhea })).toMatchObject({ status: 200 });
  expect(await app.call('GET', check, { token: tokens.rudi })).toMatchObject({ status: 403 });
});

test('without that, those who deploy answer them as well, readers do not', async () => {
  const path = await waiting('open', { type: 'MANUAL' });
  expect(await call('rhea', 'POST', `${path}/approve`)).toMatchObject({ status: 403 });
  expect(await call('wendy', 'POST', `${path}/approve`)).toMatchObject({
    status: 200,
    body: { state: 'PASSED', user: 'wendy@example.com' },
  });
});

test('where another user has to approve, the deployer may not, whatever token or address is used', async () => {
  const path = await waiting('strict', { type: 'MANUAL', requireOtherApprover: true });
  const ownCopy = await app.tokenOf({ id: 'wendy', groups: ['web'] });
  const sameMail = await app.tokenOf({ id: 'wendy2', groups: ['web'], email: 'wendy@example.com' });
  for (const token of [ownCopy, sameMail])
    expect(await app.call('POST', `${path}/approve`, { token, body: {} })).toMatchObject({
      status: 403,
      body: { code: 'OWN_DEPLOY' },
    });
  expect(await call('alma', 'POST', `${path}/approve`)).toMatchObject({ status: 200, body: { user: 'alma' } });
  expect(await app.call('POST', `${path}/reject`, { token: ownCopy, body: {} })).toMatchObject({ status: 409 });
});
