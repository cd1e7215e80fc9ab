import { gzipSync } from 'node:zlib';
import type { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { ClusterDriver } from '../../src/cluster/cluster-driver.js';
import { RequestAccessRepository } from '../../src/modules/requests/request-access.repository.js';
import { RequestRepository } from '../../src/modules/requests/request.repository.js';
import { connect } from '../../src/platform/database/connection.js';
import { Tokens } from '../../src/modules/auth/tokens/tokens.service.js';
import { authSettings, callWith, type Answer } from '../support/auth/auth-app.js';
import { insertDeploy, insertRequest } from '../support/builders.js';
import { openEventStream } from '../support/event-client.js';
import { sendBytes, statusesIn } from '../support/raw-http.js';
import { startTestApp, type TestApp } from '../support/test-app.js';
import { waitFor } from '../support/wait-for.js';

const groups = { ann: ['web'], bob: ['evil'], alma: ['admins'] } as const;
type Who = keyof typeof groups;
const limits = {
  maxRecordBytes: 32_768,
  maxRequestsPerGroup: 12,
  maxPendingRunsPerRequest: 3,
  maxPendingRunsPerGroup: 5,
  maxPendingRunMegabytesPerGroup: 1,
  events: { maxReplaysPerMinute: 3 },
};

let app: TestApp<ClusterDriver>;
const tokens = {} as Record<Who, string>;

beforeAll(async () => {
  app = await startTestApp({
    settings: authSettings({
      ...limits,
      auth: { enabled: true, adminGroups: ['admins'], failuresBeforeDelay: 100_000 },
    }),
  });
  for (const who of Object.keys(groups) as Who[]) {
    const user = { id: who, groups: [...groups[who]], scopes: [], authenticated: true };
    tokens[who] = (await app.app.get(Tokens, { strict: false }).create({ user }, user)).text;
  }
});
afterEach(async () => {
  vi.restoreAllMocks();
  await app.database.pool.query('TRUNCATE request, request_group, deploy_history, pending_request, pending_task');
});
afterAll(() => app.close());

const call = (who: Who, method: string, path: string, body?: unknown): Promise<Answer> =>
  callWith(`${app.url}${path}`, method, { token: tokens[who], body });
const job = (id: string, members = {}) => ({ id, requestType: 'ON_DEMAND', group: 'evil', ...members });
const store = (id: string, members = {}) => insertRequest(app.database.pool, { request: job(id, members) as never });
const refusal = ({ status, body }: Answer) => {
  const { code, errors } = body as { code?: string; errors?: { field: string; rule: string; message: string }[] };
  return { status, code, field: errors?.[0]?.field, rule: errors?.[0]?.rule };
};
const attributes = (bytes: number) =>
  Object.fromEntries(Array.from({ length: bytes / 500 }, (_, index) => [`a${index}`, 'x'.repeat(490)]));

describe('what is stored has a size', () => {
  test('a request as a whole', async () => {
    const sent = job('big', { requiredSlaveAttributes: attributes(50_000) });
    const answer = await call('bob', 'POST', '/api/requests', sent);
    expect(refusal(answer)).toEqual({ status: 400, code: 'INVALID_REQUEST', field: 'request', rule: 'size' });
    expect(answer.body).toMatchObject({
      message: expect.stringMatching(/32768 bytes.*maxRecordBytes.*, not \d{5}/) as unknown,
    });
    expect((await call('bob', 'POST', '/api/requests', job('small'))).status).toBe(200);
  });

  test('one that is stored and larger can be changed, and does not grow', async () => {
    const own = { requiredSlaveAttributes: attributes(50_000) };
    await store('old', own);
    const scale = await call('bob', 'PUT', '/api/requests/request/old/scale', { instances: 12 });
    expect(scale.status).toBe(200);
    expect((await call('bob', 'POST', '/api/requests', job('old', { ...own, instances: 3 }))).status).toBe(200);
    const larger = { ...own, allowedSlaveAttributes: attributes(5_000) };
    expect(refusal(await call('bob', 'POST', '/api/requests', job('old', larger)))).toMatchObject({ rule: 'size' });
  });

  test.each([
    ['a deploy as a whole', { env: attributes(50_000) }, 'deploy', 'size'],
    ['a run that comes with it', { runImmediately: { envOverrides: attributes(33_000) } }, 'deploy', 'size'],
    ['a variable that no program can be given', { env: { A: '${TASK_ID}'.repeat(1_000) } }, 'deploy.env', 'size'],
    ['an argument', { arguments: ['é'.repeat(70_000)] }, 'deploy', 'size'],
  ])('%s', async (_what, members, field, rule) => {
    await store('deployed');
    const deploy = { requestId: 'deployed', id: 'd1', command: 'run', ...members };
    const answer = await call('bob', 'POST', '/api/deploys', { deploy });
    expect(refusal(answer)).toMatchObject({ status: 400, code: 'INVALID_DEPLOY', field, rule });
  });

  test('a run as a whole, and together with its deploy what a program can be given', async () => {
    const { pool } = app.database;
    await insertRequest(pool, { request: job('ran', { instances: 100 }) as never, activeDeployId: 'd1' });
    // From before the limit: nearly all that a program can be given.
    const env = Object.fromEntries(Array.from({ length: 15 }, (_, index) => [`V${index}`, 'x'.repeat(129_500)]));
    await insertDeploy(pool, { deploy: { requestId: 'ran', id: 'd1', env } as never });
    const run = (body: unknown) => call('bob', 'POST', '/api/requests/request/ran/run', body);
    expect(refusal(await run({ envOverrides: attributes(33_000) }))).toMatchObject({ field: 'run', rule: 'size' });
    expect((await run({ envOverrides: { A: 'b' } })).status).toBe(200);
    const much = await run({ envOverrides: attributes(30_000), commandLineArgs: [] });
    expect(refusal(much)).toMatchObject({ status: 400, field: 'envOverrides', rule: 'size' });
  });

  test('what a group may have is counted, and told with its limit; another group has its own', async () => {
    const created = await Promise.all(
      Array.from({ length: limits.maxRequestsPerGroup + 3 }, (_, index) =>
        call('bob', 'POST', '/api/requests', job(`r${index}`)),
      ),
    );
    expect(created.filter(({ status }) => status === 200)).toHaveLength(limits.maxRequestsPerGroup);
    const refused = created.find(({ status }) => status !== 200)!;
    expect(refusal(refused)).toMatchObject({ status: 400, field: 'group', rule: 'quota' });
    expect(refused.body).toMatchObject({ message: expect.stringContaining('12 (maxRequestsPerGroup)') as unknown });
    const web = { id: 'web', requestType: 'SERVICE', group: 'web' };
    expect((await call('ann', 'POST', '/api/requests', web)).status).toBe(200);
    const { id } = created.find(({ status }) => status === 200)!.body['request'] as { id: string };
    expect((await call('bob', 'POST', '/api/requests', job(id, { instances: 2 }))).status).toBe(200);
  });

  test('waiting runs are counted by request and by group', async () => {
    const { pool } = app.database;
    for (const id of ['a', 'b']) {
      await insertRequest(pool, { request: job(id, { instances: 100 }) as never, activeDeployId: 'd1' });
      await insertDeploy(pool, { deploy: { requestId: id, id: 'd1' } as never });
    }
    const later = { runAt: Date.now() + 3_600_000 };
    const runs = (id: string) =>
      Promise.all(Array.from({ length: 5 }, () => call('bob', 'POST', `/api/requests/request/${id}/run`, later)));
    const texts = async (id: string) =>
      (await runs(id)).map(({ status, body }) => [status, /max\w+/.exec(JSON.stringify(body['message'] ?? ''))?.[0]]);
    const perRequest = [429, 'maxPendingRunsPerRequest'];
    expect((await texts('a')).filter(([status]) => status !== 200)).toEqual([perRequest, perRequest]);
    const perGroup = [429, 'maxPendingRunsPerGroup'];
    expect((await texts('b')).filter(([status]) => status !== 200)).toEqual([perGroup, perGroup, perGroup]);
  });

  test('waiting runs of a group take so many bytes together, and when some have gone there is room again', async () => {
    const { pool } = app.database;
    const mostBytes = limits.maxPendingRunMegabytesPerGroup * 1024 * 1024;
    await insertRequest(pool, { request: job('a', { instances: 100 }) as never, activeDeployId: 'd1' });
    await insertDeploy(pool, { deploy: { requestId: 'a', id: 'd1' } as never });
    const envOverrides = Object.fromEntries(Array.from({ length: 2 }, (_, n) => [`E${n}`, 'é'.repeat(5_000)]));
    const run = () =>
      call('bob', 'POST', '/api/requests/request/a/run', { runAt: Date.now() + 3_600_000, envOverrides });
    expect((await run()).status).toBe(200);
    const { bytes } = await waitFor('the run to wait for its time', async () => {
      const [row] = (await pool.query('SELECT bytes FROM pending_task')) as { bytes: number }[];
      return row;
    });
    expect(bytes).toBeGreaterThan(20_000);
    await pool.query('UPDATE pending_task SET bytes = $1', [mostBytes]);
    const refused = await run();
    expect(refused.status).toBe(429);
    expect(refused.body.message).toMatch(/'evil' take as much as may be, 1 MB \(maxPendingRunMegabytesPerGroup\)/);
    await pool.query('UPDATE pending_task SET bytes = 1');
    expect((await run()).status).toBe(200);
  });
});

describe('lists of a caller who sees little', () => {
  test('read no documents of others', async () => {
    for (const id of ['evil1', 'evil2', 'evil3']) await store(id);
    await store('annes', { group: 'web' });
    await store('shared', { readOnlyGroups: ['web'] });
    await store('anyones', { group: undefined });
    const seen = ['annes', 'anyones', 'shared'];
    const documents = vi.spyOn(RequestRepository.prototype, 'findSeen');
    const whole = vi.spyOn(RequestRepository.prototype, 'findAll');
    const asked = vi.spyOn(RequestAccessRepository.prototype, 'find');
    for (const path of ['/api/requests', '/api/requests/active']) {
      const { body } = await call('ann', 'GET', path);
      expect((body as unknown as { request: { id: string } }[]).map(({ request }) => request.id).sort()).toEqual(seen);
    }
    for (const path of ['/api/requests/ids', '/api/requests/ids/active']) {
      expect((await call('ann', 'GET', path)).body).toEqual(seen);
    }
    const read = await Promise.all(documents.mock.results.map(({ value }) => value as Promise<unknown[]>));
    expect(read.map((rows) => rows.length)).toEqual([3, 3]);
    expect(whole).not.toHaveBeenCalled();
    for (const [, ids] of asked.mock.calls) expect([...ids].filter((id) => id.startsWith('evil'))).toEqual([]);
    expect((await call('alma', 'GET', '/api/requests/ids')).body).toHaveLength(6);
  });

  test('of unknown requests keep the order asked for, whether they exist or not', async () => {
    await store('hidden');
    await store('annes', { group: 'web' });
    const batch = await call('ann', 'GET', '/api/requests/batch?id=hidden&id=nope&id=annes&id=nope2&id=hidden');
    expect(batch.body).toMatchObject({
      requests: [{ request: { id: 'annes' } }],
      notFound: ['hidden', 'nope', 'nope2'],
    });
  });
});

describe('while calls of one caller wait for rows that are locked', () => {
  let other: Client;
  let held: Promise<Answer>[];
  let ended: number;
  beforeEach(async () => {
    const ids = Array.from({ length: 60 }, (_, index) => `evil${index}`);
    for (const id of ids) await store(id);
    other = await connect(app.databaseUrl, 'test', 60_000);
    await other.query('BEGIN');
    await other.query('SELECT 1 FROM request WHERE id = ANY ($1) FOR UPDATE', [ids]);
    ended = 0;
    held = ids.map((id) =>
      call('bob', 'PUT', `/api/requests/request/${id}/priority`, { priority: 0.3 }).finally(() => ended++),
    );
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    await waitFor('those whose turn it is', async () => (await other.query(waiting)).rows.length >= 4);
  });
  afterEach(async () => {
    await other.query('ROLLBACK');
    await Promise.all(held);
    await other.end();
  });

  test('those of another have connections to the database', async () => {
    const { pool } = app.database;
    await insertRequest(pool, { request: job('annes', { group: 'web' }) as never, activeDeployId: 'd1' });
    await insertDeploy(pool, { deploy: { requestId: 'annes', id: 'd1' } as never });
    expect((await call('ann', 'POST', '/api/requests/request/annes/run', {})).status).toBe(200);
    expect(ended).toBeLessThan(held.length);
  });

  test('a long body of the first is not parsed before its turn', async () => {
    const headers = { Authorization: `Token ${tokens.bob}`, 'Content-Type': 'application/json' };
    const body = `{${' '.repeat(10_000)}`;
    const broken = fetch(`${app.url}/api/requests`, { method: 'POST', headers, body }).then(({ status }) => ({
      status,
      endedBefore: ended,
    }));
    expect((await call('ann', 'GET', '/api/requests/ids')).status).toBe(200);
    await other.query('ROLLBACK');
    expect(await broken).toEqual({ status: 400, endedBefore: expect.any(Number) as unknown });
    expect((await broken).endedBefore).toBeGreaterThan(0);
  });
});

describe('a stranger is answered from its headers alone', () => {
  const post = (...headers: string[]) =>
    ['POST /api/requests HTTP/1.1', 'Host: localhost', 'Content-Type: application/json', ...headers, '', ''].join(
      '\r\n',
    );

  // No body follows, and the connection is closed: who waited for it would answer 408, or not at all.
  test.each([
    ['a long body', ['Content-Length: 8193']],
    ['a body of unknown length', ['Transfer-Encoding: chunked']],
    ['a packed body', ['Content-Length: 100', 'Content-Encoding: gzip']],
    ['a long body and a token that is none', ['Content-Length: 10000000', 'Authorization: Token wrong']],
  ])('with %s', async (_what, headers) => {
    expect(statusesIn(await sendBytes(app.url, post(...headers)))).toEqual([401]);
  });

  test('a packed body of a known caller is read', async () => {
    const text = gzipSync(JSON.stringify(job('packed')));
    const headers = {
      Authorization: `Token ${tokens.bob}`,
      'Content-Type': 'application/json',
      'Content-Encoding': 'gzip',
    };
    expect((await fetch(`${app.url}/api/requests`, { method: 'POST', headers, body: text })).status).toBe(200);
  });
});

test('who replaces a group of requests may change all that was in it', async () => {
  await store('annes', { group: 'web' });
  await store('bobs');
  const save = (who: Who, ...requestIds: string[]) => call(who, 'POST', '/api/groups', { id: 'g1', requestIds });
  expect((await save('ann', 'annes')).status).toBe(200);
  expect((await save('bob', 'bobs')).status).toBe(403);
  expect((await call('alma', 'GET', '/api/groups/group/g1')).body).toMatchObject({ requestIds: ['annes'] });
  expect((await save('ann', 'annes')).status).toBe(200);
  expect((await save('alma', 'annes', 'bobs')).status).toBe(200);
  expect((await save('ann', 'annes')).status).toBe(403);
  // Two at once who found no group: the second one finds that of the first.
  await app.database.pool.query('TRUNCATE request_group');
  const both = await Promise.all([save('ann', 'annes'), save('bob', 'bobs')]);
  expect(both.map(({ status }) => status).sort()).toEqual([200, 403]);
});

describe.each(['__proto__', 'constructor', 'toString', '-', '--', '--help'])('%s', (word) => {
  test('is no id and no group', async () => {
    const reserved = { status: 400, rule: 'reserved' };
    expect(refusal(await call('alma', 'POST', '/api/requests', job(word)))).toMatchObject(reserved);
    expect(refusal(await call('alma', 'POST', '/api/requests', job('r', { group: word })))).toMatchObject(reserved);
    const lists = { readWriteGroups: ['evil', word], readOnlyGroups: [word] };
    expect(refusal(await call('alma', 'POST', '/api/requests', job('r', lists)))).toMatchObject(reserved);
    expect(refusal(await call('alma', 'POST', '/api/groups', { id: word, requestIds: [] }))).toMatchObject(reserved);
  });

  test('that is there can be changed and removed', async () => {
    await store(word, { group: word });
    expect((await call('alma', 'POST', '/api/requests', job(word, { group: word, instances: 2 }))).status).toBe(200);
    expect((await call('alma', 'DELETE', `/api/requests/request/${encodeURIComponent(word)}`)).status).toBe(200);
  });
});

test('a caller may begin so many replays of events a minute, however soon each ends', async () => {
  await call('bob', 'POST', '/api/requests', job('told'));
  const headers = { Authorization: `Token ${tokens.bob}` };
  const listener = await openEventStream(`${app.url}/api/events`, headers);
  const replay = async (who: Who) => {
    const client = await openEventStream(`${app.url}/api/events?lastEventId=0`, {
      Authorization: `Token ${tokens[who]}`,
    });
    client.close();
    return client.status;
  };
  const statuses: number[] = [];
  for (let times = 0; times < limits.events.maxReplaysPerMinute + 2; times++) statuses.push(await replay('bob'));
  expect(statuses).toEqual([200, 200, 200, 429, 429]);
  expect(await replay('ann')).toBe(200);
  // To go on from where one is costs no replay.
  const { lastId } = listener;
  listener.close();
  const goesOn = await openEventStream(`${app.url}/api/events?lastEventId=${lastId}`, headers);
  expect(goesOn.status).toBe(200);
  goesOn.close();
});
