import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeTaskId } from '../../core/task-id.js';
import { waitFor } from '../../../test/support/wait-for.js';
import { startAuthApp, type Answer, type AuthApp, type CallOptions } from '../../../test/support/auth/auth-app.js';

/** Team web owns `shop`, readers read it; team db owns `store`; `free` belongs to no group. */
const requests = [
  { id: 'shop', group: 'web', readWriteGroups: [], readOnlyGroups: ['readers'] },
  { id: 'store', group: 'db' },
  { id: 'free' },
];
const users = {
  web: { id: 'wendy', groups: ['web'], email: 'wendy@example.com' },
  reader: { id: 'rita', groups: ['readers'] },
  db: { id: 'dora', groups: ['db'] },
  admin: { id: 'alma', groups: ['admins'] },
};
type Who = keyof typeof users;
interface UpcomingRuns {
  runs: { requestId: string }[];
}

let app: AuthApp;
const tokens = {} as Record<Who, string>;
const call = (who: Who, method: string, path: string, body?: unknown): Promise<Answer> =>
  app.call(method, path, { token: tokens[who], body });
const ids = async (who: Who, path: string, idOf = (row: { request: { id: string } }) => row.request.id) =>
  ((await call(who, 'GET', path)).body as unknown as { request: { id: string } }[]).map(idOf).sort();

beforeAll(async () => {
  app = await startAuthApp({ auth: { enabled: true, adminGroups: ['admins'] } });
  for (const [who, user] of Object.entries(users)) tokens[who as Who] = await app.tokenOf(user);
  for (const request of requests) {
    await call('admin', 'POST', '/api/requests', { requestType: 'SERVICE', ...request });
  }
  const env = { PORT: '80', DB_PASSWORD: 'swordfish' };
  const deploy = { id: 'd1', requestId: 'shop', command: 'true', env };
  await call('web', 'POST', '/api/deploys', { deploy });
});
afterAll(() => app.close());

describe('readiness', () => {
  const standing = (token?: string) => app.call('GET', '/readyz', { token });

  test('is told to all, and its reasons to those who may read the state', async () => {
    const told = { status: 200, body: { ready: true, leads: true } };
    for (const token of [undefined, 'made-up', tokens.db]) expect(await standing(token)).toMatchObject({ status: 200 });
    expect([(await standing()).body, (await standing('made-up')).body]).toEqual([told.body, told.body]);
    const whole = (await standing(tokens.admin)).body;
    expect(whole).toMatchObject({ ...told.body, failingPollers: [], leader: expect.any(String) as string });
  });
});

describe('lists', () => {
  test.each([
    ['web', ['free', 'shop']],
    ['reader', ['free', 'shop']],
    ['db', ['free', 'store']],
    ['admin', ['free', 'shop', 'store']],
  ] as const)('of requests show %s what they may read: %s', async (who, expected) => {
    expect(await ids(who, '/api/requests')).toEqual(expected);
    expect(await ids(who, '/api/requests/active')).toEqual(expected);
    expect((await call(who, 'GET', '/api/requests/ids')).body).toEqual(expected);
  });

  test('of services, and files for proxies, have those that the caller may read; another one is 403', async () => {
    const read = async (who: Who, path: string) => (await call(who, 'GET', `/api/services/${path}`)).body;
    const ids = async (who: Who) =>
      ((await read(who, 'endpoints')) as unknown as { requestId: string }[]).map(({ requestId }) => requestId);
    expect([await ids('reader'), await ids('db')]).toEqual([
      ['free', 'shop'],
      ['free', 'store'],
    ]);
    expect(await read('db', 'endpoints/haproxy')).toBe('backend free\nbackend store\n');
    for (const path of [
      'shop/endpoints',
      'endpoints?requestId=shop',
      'endpoints/nginx?requestId=free&requestId=shop',
    ]) {
      expect(await call('db', 'GET', `/api/services/${path}`), path).toRefuse(403, 'FORBIDDEN');
      expect((await call('reader', 'GET', `/api/services/${path}`)).status, path).toBe(200);
    }
    expect(await call('db', 'GET', '/api/services/nobody/endpoints')).toRefuse(403, 'FORBIDDEN');
  });

  test('of upcoming runs have those of what the caller may read; those of another request are 403', async () => {
    for (const [id, group] of [
      ['web-cron', 'web'],
      ['db-cron', 'db'],
    ]) {
      await call('admin', 'POST', '/api/requests', { id, group, requestType: 'SCHEDULED', schedule: '0 * * * *' });
      await app.sql(`UPDATE request SET active_deploy_id = 'd1' WHERE id = '${id}'`);
    }
    const seen = async (who: Who) => {
      const { runs } = (await call(who, 'GET', '/api/schedules/upcoming?limit=2')).body as unknown as UpcomingRuns;
      return [...new Set(runs.map(({ requestId }) => requestId))];
    };
    expect([await seen('web'), await seen('db')]).toEqual([['web-cron'], ['db-cron']]);
    expect(await seen('admin')).toEqual(['db-cron', 'web-cron']);
    expect(await call('db', 'GET', '/api/schedules/upcoming?requestId=web-cron')).toMatchObject({ status: 403 });
    for (const id of ['web-cron', 'db-cron']) await app.sql(`DELETE FROM request WHERE id = '${id}'`);
  });

  test('are cut to their limit after what may not be read is gone', async () => {
    expect(await ids('db', '/api/requests?limit=2')).toEqual(['free', 'store']);
  });

  test.each([
    ['web', [['free'], ['shop']]],
    ['reader', [['free'], ['shop']]],
    ['db', [['free'], ['store']]],
    ['admin', [['free'], ['shop'], ['store']]],
  ] as const)('in pages have what %s may read, each page to its limit: %s', async (who, expected) => {
    for (const path of ['/api/requests', '/api/requests/ids', '/api/requests/active', '/api/requests/ids/active']) {
      const pages: string[][] = [];
      for (let cursor: string | null = '*'; cursor !== null;) {
        const answer: Answer = await call(who, 'GET', `${path}?limit=1&cursor=${cursor}`);
        const rows = answer.body as unknown as (string | { request: { id: string } })[];
        pages.push(rows.map((row) => (typeof row === 'string' ? row : row.request.id)));
        cursor = answer.headers.get('x-next-cursor');
      }
      expect([path, pages]).toEqual([path, expected]);
    }
  });

  test('of several requests count what may not be read as not found', async () => {
    const { body } = await call('db', 'GET', '/api/requests/batch?id=shop&id=store&id=nope');
    const found = body as unknown as { requests: { request: { id: string } }[]; notFound: string[] };
    expect(found.requests.map(({ request }) => request.id)).toEqual(['store']);
    expect(found.notFound.sort()).toEqual(['nope', 'shop']);
  });

  test('of deploys in progress go by their requests', async () => {
    expect((await call('web', 'GET', '/api/deploys/pending')).body).toHaveLength(1);
    expect((await call('db', 'GET', '/api/deploys/pending')).body).toEqual([]);
  });

  test('of requests that were deleted show their ids to administrators only', async () => {
    await app.sql(
      `INSERT INTO request_history (request_id, created_at, event_type, request)
       VALUES ('shopping', now(), 'DELETED', '{"id": "shopping", "requestType": "SERVICE", "group": "web"}')`,
    );
    const found = async (who: Who) => (await call(who, 'GET', '/api/history/requests/search?requestIdLike=sho')).body;
    expect(await found('admin')).toEqual(['shop', 'shopping']);
    expect(await found('web')).toEqual(['shop']);
  });

  test('that are expensive are empty for others than administrators while such calls are switched off', async () => {
    await call('web', 'POST', '/api/requests', { id: 'jobs', requestType: 'ON_DEMAND', group: 'web' });
    await call('web', 'POST', '/api/deploys', { deploy: { id: 'd1', requestId: 'jobs', command: 'true' } });
    const run = () => call('web', 'POST', '/api/requests/request/jobs/run', { runAt: Date.now() + 3_600_000 });
    await waitFor('the deploy', async () => (await run()).status === 200);
    const seen = async (who: Who) => {
      const { body } = await call(who, 'GET', '/api/tasks/scheduled');
      const waiting = body as unknown as { pendingTask: { pendingTaskId: { requestId: string } } }[];
      return waiting.filter(({ pendingTask }) => pendingTask.pendingTaskId.requestId === 'jobs').length;
    };
    await waitFor('the run to wait', async () => (await seen('web')) === 1);
    await call('admin', 'POST', '/api/disasters/disabled-actions/EXPENSIVE_API_CALLS');
    expect([await seen('web'), await seen('admin')]).toEqual([0, 1]);
    expect((await call('web', 'GET', '/api/tasks/cleaning')).body).toEqual([]);
    await call('admin', 'DELETE', '/api/disasters/disabled-actions/EXPENSIVE_API_CALLS');
    expect([await seen('web'), await seen('db')]).toEqual([1, 0]);
    await call('admin', 'DELETE', '/api/requests/request/jobs');
  });
});

describe('secrets of the environment', () => {
  const envOf = async (who: Who, path: string, from: string) => {
    const { body } = await call(who, 'GET', path);
    return ((body[from] ?? body) as { env: Record<string, string> }).env;
  };
  const masked = { PORT: '********', DB_PASSWORD: '********' };
  const shown = { PORT: '80', DB_PASSWORD: 'swordfish' };

  test.each([
    ['reader', masked],
    ['web', shown],
    ['admin', shown],
  ] as const)('are shown to %s as %o, in the request and in its history', async (who, env) => {
    expect(await envOf(who, '/api/requests/request/shop', 'pendingDeploy')).toEqual(env);
    expect(await envOf(who, '/api/history/request/shop/deploy/d1', 'deploy')).toEqual(env);
    const batch = (await call(who, 'GET', '/api/requests/batch?id=shop')).body as unknown as {
      requests: { pendingDeploy: { env: unknown } }[];
    };
    expect(batch.requests[0]!.pendingDeploy.env).toEqual(env);
  });
});

describe('a request', () => {
  test('that does not exist is 404 to administrators, and to others like one that they may not read', async () => {
    expect(await call('admin', 'GET', '/api/requests/request/nope')).toMatchObject({ status: 404 });
    expect(await call('web', 'GET', '/api/requests/request/nope')).toMatchObject({ status: 403 });
    expect(await call('web', 'GET', '/api/history/request/nope/deploys')).toMatchObject({ status: 403 });
    expect(await call('admin', 'GET', '/api/history/request/nope/deploys')).toMatchObject({ status: 200 });
  });

  test('that was deleted is judged by the groups of its newest history event', async () => {
    const history = '/api/history/request/shopping/requests';
    expect(await call('web', 'GET', history)).toMatchObject({ status: 200 });
    expect(await call('db', 'GET', history)).toMatchObject({ status: 403 });
  });

  test('is written by its readers neither by path nor by body', async () => {
    expect(await call('reader', 'POST', '/api/requests/request/shop/pause')).toMatchObject({ status: 403 });
    expect(
      await call('reader', 'POST', '/api/requests', { requestType: 'SERVICE', ...requests[0], instances: 2 }),
    ).toMatchObject({
      status: 403,
    });
    const deploy = { id: 'd2', requestId: 'shop', command: 'true' };
    expect(await call('reader', 'POST', '/api/deploys', { deploy })).toMatchObject({ status: 403 });
  });

  test('cannot be created for groups that its creator is not in', async () => {
    const request = { id: 'foreign', requestType: 'SERVICE', group: 'db' };
    expect(await call('web', 'POST', '/api/requests', request)).toMatchObject({ status: 403 });
    expect(await call('db', 'POST', '/api/requests', request)).toMatchObject({ status: 200 });
  });
});

describe('a task', () => {
  const taskId = makeTaskId({
    requestId: 'shop',
    deployId: 'd1',
    startedAt: 1,
    instanceNo: 1,
    host: 'h',
    rackId: 'r',
  }).id;

  test('is judged by the request in its id', async () => {
    expect(await call('db', 'GET', `/api/tasks/task/${taskId}`)).toMatchObject({ status: 403 });
    expect(await call('reader', 'GET', `/api/tasks/task/${taskId}`)).toMatchObject({ status: 404 });
    expect(await call('reader', 'DELETE', `/api/tasks/task/${taskId}`)).toMatchObject({ status: 403 });
  });

  test('with an id that cannot be read is 400', async () => {
    expect(await call('db', 'GET', '/api/tasks/task/nonsense')).toMatchObject({ status: 400 });
  });

  test('is named by the path of its files', async () => {
    const path = encodeURIComponent(`/sandboxes/${taskId}/stdout`);
    expect(await call('db', 'GET', `/api/tasks/open?slaveHostname=h&path=${path}`)).toMatchObject({ status: 403 });
    expect(await call('reader', 'GET', `/api/tasks/open?slaveHostname=h&path=${path}`)).toMatchObject({ status: 404 });
  });
});

describe('groups of a request', () => {
  const regroup = (who: Who, groups: unknown, path = 'groups') =>
    call(who, 'POST', `/api/requests/request/shop/${path}`, groups);
  const same = { group: 'web', readWriteGroups: [], readOnlyGroups: ['readers'] };

  test('are not changed to ones that the caller is not in: 401', async () => {
    const stolen = { ...same, group: 'db' };
    expect(await regroup('web', stolen)).toMatchObject({ status: 401, body: { code: 'GROUPS_NOT_PERMITTED' } });
    expect(await regroup('db', stolen)).toMatchObject({ status: 401 });
    expect(await regroup('web', stolen, 'groups/auth-check')).toMatchObject({ status: 401 });
    expect(
      await call('web', 'POST', '/api/requests', { requestType: 'SERVICE', id: 'shop', group: 'db' }),
    ).toMatchObject({
      status: 403,
    });
    expect(await regroup('admin', stolen, 'groups/auth-check')).toMatchObject({ status: 200, body: '' });
  });

  test('are not changed by a deploy that brings another request', async () => {
    const deploy = { id: 'd3', requestId: 'shop', command: 'true' };
    const updatedRequest = { id: 'shop', requestType: 'SERVICE', group: 'db' };
    expect(await call('web', 'POST', '/api/deploys', { deploy, updatedRequest })).toMatchObject({ status: 403 });
  });

  test('may get other readers from callers who may write the request', async () => {
    const more = { ...same, readOnlyGroups: ['readers', 'db'] };
    expect(await regroup('web', more, 'groups/auth-check')).toMatchObject({ status: 200 });
    expect(await regroup('web', more)).toMatchObject({ status: 200 });
    expect(await call('db', 'GET', '/api/requests/request/shop')).toMatchObject({ status: 200 });
    expect(await regroup('web', same)).toMatchObject({ status: 200 });
  });

  test('of a request that does not exist yet can be tried', async () => {
    const check = '/api/requests/request/new/groups/auth-check';
    expect(await call('web', 'POST', check, { group: 'web' })).toMatchObject({ status: 200 });
    expect(await call('web', 'POST', check, { group: 'db' })).toMatchObject({ status: 401 });
  });
});

describe('auth-check', () => {
  test.each([
    ['web', 'shop', '', 200],
    ['reader', 'shop', '', 200],
    ['reader', 'shop', '?scope=WRITE', 403],
    ['reader', 'shop', '?scope=write', 403],
    ['web', 'shop', '?scope=DEPLOY', 200],
    ['web', 'shop', '?scope=ADMIN', 403],
    ['admin', 'shop', '?scope=ADMIN', 200],
    ['web', 'shop', '?scope=OWN', 400],
    ['web', 'nope', '', 403],
    ['admin', 'nope', '', 200],
  ] as const)('of %s for %s%s: %i', async (who, id, scope, status) => {
    expect((await call(who, 'GET', `/api/auth/${id}/auth-check${scope}`)).status).toBe(status);
  });

  test('of another user asks the directory', async () => {
    // Its users are in no group.
    expect(await call('reader', 'GET', '/api/auth/shop/auth-check/ann')).toMatchObject({ status: 403 });
    expect(await call('reader', 'GET', '/api/auth/free/auth-check/ann')).toMatchObject({ status: 200 });
  });
});

describe('while authentication is off', () => {
  let open: AuthApp;
  beforeAll(async () => {
    open = await startAuthApp({});
  });
  afterAll(() => open.close());
  const ask = (method: string, path: string, options?: CallOptions) => open.call(method, path, options);

  test('nothing is refused, and a caller who says nothing is the built-in user', async () => {
    expect(await ask('GET', '/api/webhooks')).toMatchObject({ status: 200 });
    expect(await ask('GET', '/api/auth/nope/auth-check')).toMatchObject({ status: 200 });
    expect(await ask('GET', '/api/auth/nope/auth-check/bob')).toMatchObject({ status: 200 });
    expect((await ask('GET', '/api/auth/user')).body).toEqual({
      user: { id: 'scheduler', name: 'scheduler', groups: [], scopes: [], authenticated: false },
      authenticated: true,
      authEnabled: false,
      administrator: true,
      createsRequests: true,
    });
  });

  test('a caller who says a name is recorded under it', async () => {
    expect((await ask('GET', '/api/auth/user?user=ann')).body).toMatchObject({ user: { id: 'ann', email: 'ann' } });
    const request = { id: 'named', requestType: 'SERVICE' };
    expect(await ask('POST', '/api/requests?user=ann', { body: request })).toMatchObject({ status: 200 });
    const history = (await ask('GET', '/api/history/request/named/requests')).body as unknown as { user: string }[];
    expect(history[0]!.user).toBe('ann');
  });
});

test('areas that the settings leave open ask no caller', async () => {
  const open = await startAuthApp({ auth: { enabled: true, openAreas: ['STATE'] } });
  try {
    expect(await open.call('GET', '/api/state')).toMatchObject({ status: 200 });
    expect(await open.call('GET', '/api/usage/requests')).toMatchObject({ status: 401 });
    expect(await open.call('GET', '/healthz')).toMatchObject({ status: 200 });
  } finally {
    await open.close();
  }
});

test('a 401 names every way that was tried, and what the caller may come with', async () => {
  const refused = await app.call('GET', '/api/requests', { headers: { Authorization: 'Bearer swordfish' } });
  expect(refused).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
  expect(refused.body.message).toBe(
    "The caller is not authenticated: TOKEN: header Authorization has no scheme 'Token'; COOKIE: cookie muster is missing. " +
      "Send the header 'Authorization: Token <token>'; 'muster token --bootstrap' makes the first token",
  );
  expect(refused.headers.get('www-authenticate')).toBe('Token');
  expect(JSON.stringify(refused.body)).not.toContain('swordfish');
});

describe('the body of a caller who is not known', () => {
  const post = async (body: RequestInit['body'], headers: Record<string, string> = {}) => {
    const response = await fetch(`${app.url}/api/requests`, {
      method: 'POST',
      body,
      headers: { 'Content-Type': 'application/json', ...headers },
      duplex: 'half',
    } as RequestInit);
    return [response.status, ((await response.json()) as { code: string }).code];
  };
  const streamed = () => new Blob(['{"id":']).stream();

  test.each([
    ['is not parsed when it is long', () => `{${' '.repeat(9_000)}`, {}],
    ['is not unpacked', () => gzipSync('{'), { 'Content-Encoding': 'gzip' }],
    ['is not read when its length is not said', streamed, {}],
  ])('%s', async (_name, body, headers) => {
    expect(await post(body(), headers)).toEqual([401, 'UNAUTHENTICATED']);
    const known = { ...headers, Authorization: `Token ${tokens.web}` };
    expect(await post(body(), known)).toEqual([400, 'INVALID_JSON']);
  });
});

describe('a request and its deploy together', () => {
  const apply = async (who: Who, id: string, group: string | undefined, parts = 'both') => {
    const request = { id, requestType: 'ON_DEMAND', group };
    const deploy = { requestId: id, command: 'true' };
    const body = { ...(parts !== 'deploy' && { request }), ...(parts !== 'request' && { deploy }) };
    const { status, body: answer } = await call(who, 'POST', '/api/requests/apply', body);
    return [status, answer.message ?? ''];
  };

  test('are made by those who are in its group, of an id that nobody has had', async () => {
    expect((await apply('reader', 'applied', 'web'))[0]).toBe(403);
    expect(await apply('web', 'applied', 'web')).toEqual([200, '']);
    expect(await apply('web', 'applied', 'web')).toEqual([200, '']);
    expect((await apply('db', 'applied', 'db'))[0]).toBe(403);
    expect((await apply('web', 'applied', 'db'))[0]).toBe(403);
    expect((await apply('db', 'applied', undefined, 'deploy'))[0]).toBe(403);
    expect(await apply('web', 'empty', 'web', 'request')).toEqual([200, '']);
  });

  test('tell nobody else whether there is such a request', async () => {
    const [[, there], [, none]] = await Promise.all([
      apply('db', 'shop', undefined, 'deploy'),
      apply('db', 'none', undefined, 'deploy'),
    ]);
    expect(String(there).replaceAll('shop', 'none')).toBe(none);
  });

  test('need both to be about one request that the caller may change', async () => {
    const request = { id: 'mine', requestType: 'ON_DEMAND', group: 'db' };
    const deploy = { requestId: 'shop', command: 'true' };
    expect((await call('db', 'POST', '/api/requests/apply', { request, deploy })).status).toBe(403);
  });
});
