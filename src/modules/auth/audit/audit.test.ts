import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { startAuthApp, type AuthApp } from '../../../../test/support/auth/auth-app.js';
import { sendBytes } from '../../../../test/support/raw-http.js';
import { createDatabase } from '../../../../test/support/test-database.js';
import { waitFor } from '../../../../test/support/wait-for.js';
import { AuditTrail } from './audit-trail.service.js';
import { AuditRepository } from './audit.repository.js';

type Row = Record<string, unknown>;
let app: AuthApp;
let ann: string;
let bob: string;

beforeAll(async () => {
  app = await startAuthApp({ auth: { enabled: true, adminGroups: ['admins'] }, auditMaxRows: 1_000 });
  ann = await app.tokenOf({ id: 'ann', groups: ['web'] });
  bob = await app.tokenOf({ id: 'bob', groups: ['others'] });
});
afterAll(() => app.close());
beforeEach(() => app.sql('DELETE FROM audit'));

/** The rows of the calls with this id, as soon as there are so many. */
const rowsOf = (callId: string, count = 1, of = app): Promise<Row[]> =>
  waitFor(`${count} rows of ${callId}`, async () => {
    const found = await of.sql('SELECT * FROM v_audit WHERE call_id = $1 ORDER BY at', [callId]);
    return found.length >= count && found;
  });
const as = (token: string | undefined, callId: string) => ({
  headers: { 'X-Request-Id': callId, ...(token === undefined ? {} : { Authorization: `Token ${token}` }) },
});
const web = { id: 'web', requestType: 'ON_DEMAND', group: 'web' };

describe('the audit trail has a row of', () => {
  test('a change: who, from where, what, about which request, with which outcome', async () => {
    const before = Date.now();
    expect((await app.call('POST', '/api/requests', { ...as(ann, 'make'), body: web })).status).toBe(200);
    const [row] = await rowsOf('make');
    expect(row).toEqual({
      at: expect.any(Date),
      caller: 'ann',
      issuer: 'muster',
      proven_by: 'TOKEN',
      address: expect.stringMatching(/127\.0\.0\.1$/),
      operation: 'POST /api/requests',
      path: '/api/requests',
      request_id: 'web',
      outcome: 'ALLOWED',
      status: 200,
      reason: null,
      call_id: 'make',
    });
    expect(Math.abs((row!['at'] as Date).getTime() - before)).toBeLessThan(60_000);
  });

  test('a change that was allowed and not done, with its status', async () => {
    await app.call('POST', '/api/requests/request/web/run', { ...as(ann, 'run'), body: {} });
    expect(await rowsOf('run')).toMatchObject([
      { operation: 'POST /api/requests/request/:requestId/run', request_id: 'web', outcome: 'ALLOWED', status: 409 },
    ]);
  });

  test('a change that waits behind another call of a connection that breaks off', async () => {
    const call = (line: string, id: string, body = '') =>
      `${line} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Token ${ann}\r\nX-Request-Id: ${id}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const queued = JSON.stringify({ ...web, id: 'queued' });
    await sendBytes(
      app.url,
      `${call('GET /api/racks', 'first')}${call('POST /api/requests', 'queued', queued)}X\r\n\r\n`,
    );
    expect(await rowsOf('queued')).toMatchObject([{ caller: 'ann', operation: 'POST /api/requests' }]);
  });

  test('a refusal, of reads too, and why', async () => {
    await app.call('DELETE', '/api/requests/request/web', as(bob, 'delete'));
    await app.call('GET', '/api/requests/request/web', as(bob, 'read'));
    const refused = { caller: 'bob', request_id: 'web', outcome: 'REFUSED', status: 403 };
    const reason = expect.stringContaining("'bob' needs one of these groups");
    expect(await rowsOf('delete')).toMatchObject([
      { ...refused, operation: 'DELETE /api/requests/request/:requestId', reason },
    ]);
    expect(await rowsOf('read')).toMatchObject([
      { ...refused, operation: 'GET /api/requests/request/:requestId', reason },
    ]);
  });

  test('a caller of whom it is not known who they are; the same again at once is not another one', async () => {
    for (let again = 3; again > 0; again--) {
      await app.call('POST', '/api/requests', { ...as('muster_wrong', 'who'), body: web });
    }
    await app.call('GET', '/api/requests', as(undefined, 'who'));
    const rows = await rowsOf('who', 2);
    expect(rows).toHaveLength(2);
    expect(rows).toMatchObject([
      { caller: null, proven_by: null, operation: 'POST /api/requests', outcome: 'REFUSED', status: 401 },
      { caller: null, operation: 'GET /api/requests', outcome: 'REFUSED', status: 401 },
    ]);
    expect(JSON.stringify(rows)).not.toContain('muster_wrong');
  });

  test('a page of another origin', async () => {
    const headers = { ...as(ann, 'page').headers, Origin: 'https://evil.example' };
    await app.call('POST', '/api/requests', { headers, body: web });
    expect(await rowsOf('page')).toMatchObject([{ caller: null, outcome: 'REFUSED', status: 403 }]);
  });

  test('a file of a task that was read, with its path; a page that reads it on and on has one a minute', async () => {
    const path = '/api/sandbox/web-d1-1-1-host-rack/read?path=stdout&offset=';
    for (const offset of [0, 10, 20]) await app.call('GET', `${path}${offset}`, as(ann, 'file'));
    await app.call('GET', `${path.replace('stdout', 'a%00b')}0`, as(ann, 'file'));
    const rows = await rowsOf('file', 2);
    expect(rows).toHaveLength(2);
    expect(rows[0]).toMatchObject({ caller: 'ann', outcome: 'ALLOWED', request_id: 'web', path: `${path}0` });
  });

  test('no other read', async () => {
    await app.call('GET', '/api/requests', as(ann, 'list'));
    await app.call('POST', '/api/nothing/here', { ...as(ann, 'nothing'), body: {} });
    await app.call('DELETE', '/api/requests/request/none', as(ann, 'last'));
    await rowsOf('last');
    expect(await app.sql("SELECT 1 FROM audit WHERE call_id IN ('list', 'nothing')")).toEqual([]);
  });
});

test('while authentication is off the built-in user has the rows', async () => {
  const open = await startAuthApp({});
  await open.call('POST', '/api/requests', { ...as(undefined, 'open'), body: web });
  expect(await rowsOf('open', 1, open)).toMatchObject([{ caller: 'scheduler', issuer: null, outcome: 'ALLOWED' }]);
  await open.close();
});

test('what was asked for right before the stop is written', async () => {
  const { url: databaseUrl, remove } = await createDatabase();
  const stopped = await startAuthApp({}, { databaseUrl });
  for (let left = 20; left > 0; left--)
    await stopped.call('POST', '/api/requests', { body: { ...web, id: `web-${left}` } });
  await stopped.close();
  const next = await startAuthApp({}, { databaseUrl });
  expect(await next.sql('SELECT count(*)::int AS count FROM audit')).toEqual([{ count: 20 }]);
  await next.close();
  await remove();
});

test('a trail that cannot be written stops no call, and is written later', async () => {
  await app.sql('ALTER TABLE audit RENAME TO away');
  const call = (callId: string) => app.call('POST', '/api/requests', { ...as(ann, callId), body: web });
  expect((await call('lost')).status).toBe(200);
  await waitFor('the entry to be lost', async () =>
    /muster_audit_entries_lost_total [1-9]/.test(
      String(
        (await app.call('GET', '/metrics', { token: await app.tokenOf({ id: 'root', groups: ['admins'] }) })).body,
      ),
    ),
  );
  await app.sql('ALTER TABLE away RENAME TO audit');
  await call('kept');
  await rowsOf('kept');
});

describe('rows go', () => {
  const fill = (count: number, caller: string | null, age: string) =>
    app.sql(
      `INSERT INTO audit (at, call_id, caller_id, address, operation, path, outcome)
       SELECT now() - $3::interval, 'old', $2, '::1', 'x', '/', 'ALLOWED' FROM generate_series(1, $1::int)`,
      [count, caller, age],
    );
  const left = async () => app.sql('SELECT caller_id, count(*)::int FROM audit GROUP BY 1 ORDER BY 1');

  test('by their age', async () => {
    await fill(5, 'ann', '31 days');
    await fill(7, 'bob', '29 days');
    await app.get(AuditTrail).clean();
    expect(await left()).toEqual([{ caller_id: 'bob', count: 7 }]);
  });

  test('by their number: those of unknown callers first', async () => {
    await fill(100, 'ann', '2 days');
    await fill(950, null, '1 day');
    await app.get(AuditTrail).clean();
    expect(await left()).toEqual([
      { caller_id: 'ann', count: 100 },
      { caller_id: null, count: 900 },
    ]);
    await fill(1_000, 'bob', '0');
    await app.get(AuditTrail).clean();
    expect(await left()).toEqual([{ caller_id: 'bob', count: 1_000 }]);
  });
});

test('calls that end while the service stops are written, each once', async () => {
  const { url: databaseUrl, remove } = await createDatabase();
  onTestFinished(remove);
  const own = await startAuthApp({ auth: { enabled: true, adminGroups: ['admins'] } }, { databaseUrl });
  const store = own.get(AuditRepository);
  const write = store.write.bind(store);
  const written: string[] = [];
  const gates: (() => void)[] = [];
  let isOpen = false;
  vi.spyOn(store, 'write').mockImplementation(async (tx, entries) => {
    written.push(...entries.map(({ callId }) => callId));
    // As long as it takes: the database would end a transaction that rests.
    await tx.query('SET LOCAL idle_in_transaction_session_timeout = 0');
    if (!isOpen) await new Promise<void>((resolve) => gates.push(resolve));
    await write(tx, entries);
  });
  const token = await own.tokenOf({ id: 'root', groups: ['admins'] });
  /** So many that they are written at once. */
  const calls = async (name: string): Promise<string[]> => {
    const ids = Array.from({ length: 500 }, (_, n) => `${name}-${n}`);
    await Promise.all(ids.map((id) => own.call('DELETE', '/api/requests/request/none', as(token, id))));
    return ids;
  };
  const trail = own.get(AuditTrail);
  await own.call('POST', '/api/requests', { ...as(token, 'first'), body: web });
  const stopped = trail.beforeApplicationShutdown();
  await waitFor('the first batch', () => gates.length === 1);
  const ids = ['first', ...(await calls('second'))];
  expect(gates).toHaveLength(1);
  gates[0]!();
  await waitFor('the second batch', () => gates.length === 2);
  ids.push(...(await calls('third')));
  expect(gates).toHaveLength(2);
  isOpen = true;
  gates[1]!();
  await stopped;
  await own.close();
  expect(written.toSorted()).toEqual(ids.toSorted());
}, 60_000);

describe('GET /api/audit', () => {
  interface Entry {
    at: number;
    caller?: string;
    callId: string;
    [name: string]: unknown;
  }
  let root: string;
  beforeAll(async () => {
    root = await app.tokenOf({ id: 'root', groups: ['admins'] });
  });
  beforeEach(() => app.sql('TRUNCATE audit'));
  const start = Date.UTC(2026, 0, 5);
  /** Three of a microsecond, so that the time alone puts them in no order. */
  const fill = (count: number) =>
    app.sql(
      `INSERT INTO audit (at, call_id, caller_id, request_id, address, operation, path, outcome, status)
       SELECT to_timestamp($2::double precision) + (n / 3) * interval '1 microsecond', 'call-' || n,
         CASE n % 3 WHEN 0 THEN 'ann' WHEN 1 THEN 'bob' END, CASE n % 2 WHEN 0 THEN 'web' END, '::1', 'POST /x', '/x',
         CASE n % 5 WHEN 0 THEN 'REFUSED' ELSE 'ALLOWED' END, 200
       FROM generate_series(1, $1::int) AS n`,
      [count, start / 1_000],
    );
  const read = async (query: string): Promise<{ ids: number[]; next: string | null; entries: Entry[] }> => {
    const answer = await app.call('GET', `/api/audit?${query}`, { token: root });
    expect(answer).toMatchObject({ status: 200 });
    const entries = answer.body as unknown as Entry[];
    const ids = entries.map(({ callId }) => Number(callId.replace('call-', '')));
    return { ids, next: answer.headers.get('x-next-cursor'), entries };
  };
  const upTo = (count: number) => Array.from({ length: count }, (_each, index) => index + 1);

  test('is for administrators alone, and says what the view says', async () => {
    await app.call('DELETE', '/api/requests/request/web', as(bob, 'delete'));
    const [row] = await rowsOf('delete');
    expect((await app.call('GET', '/api/audit', as(ann, 'forbidden'))).status).toBe(403);
    expect((await app.call('GET', '/api/audit', as(undefined, 'unknown'))).status).toBe(401);
    // Written within a second: not among the rows of the next test.
    await Promise.all([rowsOf('forbidden'), rowsOf('unknown')]);
    const { entries } = await read('caller=bob');
    const { at, proven_by: provenBy, request_id: requestId, call_id: callId, ...others } = row!;
    expect(entries).toEqual([{ ...others, at: (at as Date).getTime(), provenBy, requestId, callId }]);
  });

  test('goes from the newest to the oldest, page by page, without one twice or left out', async () => {
    await fill(250);
    const first = await read('');
    expect([first.ids, first.next]).toEqual([upTo(250).toReversed().slice(0, 100), expect.any(String)]);
    const all: number[] = [];
    for (let cursor = '*'; ;) {
      const { ids, next } = await read(`limit=7&cursor=${cursor}`);
      all.push(...ids);
      if (next === null) break;
      cursor = next;
    }
    expect(all).toEqual(upTo(250).toReversed());
  });

  test('has those of a caller, about a request, with an outcome, of a time', async () => {
    await fill(60);
    expect((await read('caller=ann')).ids).toEqual(
      upTo(60)
        .filter((n) => n % 3 === 0)
        .toReversed(),
    );
    expect((await read('requestId=web&outcome=refused')).ids).toEqual([60, 50, 40, 30, 20, 10]);
    const later = new Date(start + 1).toISOString();
    expect((await read(`from=${later}`)).ids).toEqual([]);
    expect((await read(`to=${later}&limit=2`)).ids).toEqual([60, 59]);
    expect((await read(`to=${start}`)).ids).toEqual([]);
    expect((await read(`from=${start}&caller=bob&limit=1`)).ids).toEqual([58]);
  });

  test.each([
    ['outcome=maybe', 'outcome'],
    ['from=yesterday', 'from'],
    ['to=-1', 'to'],
    ['limit=10001', 'limit'],
    ['limit=x', 'limit'],
    ['cursor=x', 'cursor'],
    [`cursor=${Buffer.from('web').toString('base64url')}`, 'cursor'],
    [`cursor=${Buffer.from('1'.repeat(19) + ' 1').toString('base64url')}`, 'cursor'],
    [`caller=${'x'.repeat(501)}`, 'caller'],
    [`requestId=${'x'.repeat(501)}`, 'requestId'],
  ])('refuses %s: 400', async (query, field) => {
    const answer = await app.call('GET', `/api/audit?${query}`, { token: root });
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ field }] } });
  });
});
