import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startAuthApp, type Answer, type AuthApp } from '../../../test/support/auth/auth-app.js';
import { waitFor } from '../../../test/support/wait-for.js';
import { IdempotentCalls } from './idempotent-calls.interceptor.js';

let app: AuthApp;
let ann: string;
let bob: string;
const job = { id: 'job', requestType: 'ON_DEMAND' };
const runs = '/api/requests/request/job/run';

beforeAll(async () => {
  app = await startAuthApp({ auth: { enabled: true } });
  ann = await app.tokenOf({ id: 'ann' });
  bob = await app.tokenOf({ id: 'bob' });
  await call('POST', '/api/requests', { body: job });
  const deploy = { requestId: 'job', id: 'd1', command: 'true', resources: { cpus: 0.1, memoryMb: 8 } };
  await call('POST', '/api/deploys', { body: { deploy } });
  await waitFor('the deploy', async () => {
    const { body } = await call('GET', '/api/requests/request/job');
    return 'activeDeploy' in body;
  });
});
afterAll(() => app.close());

interface Sent {
  key?: string;
  body?: unknown;
  token?: string;
}
const call = (method: string, path: string, { key, body, token = ann }: Sent = {}): Promise<Answer> =>
  app.call(method, path, { body, token, headers: key === undefined ? {} : { 'Idempotency-Key': key } });
const run = (key: string | undefined, sent: Omit<Sent, 'key'> = {}): Promise<Answer> =>
  call('POST', runs, { key, body: {}, ...sent });

/** Runs that were asked for, whatever has become of them. */
let asked = 0;
const runsSince = async (): Promise<number> => {
  const counted = await app.sql('SELECT count(*)::int AS count FROM noted_run');
  return (counted[0]!['count'] as number) - asked;
};
beforeAll(async () => {
  await app.sql('CREATE TABLE noted_run (id text)');
  await app.sql(`CREATE FUNCTION note_run() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN INSERT INTO noted_run VALUES (NEW.request_id); RETURN NEW; END $$`);
  await app.sql('CREATE TRIGGER note_run AFTER INSERT ON pending_request FOR EACH ROW EXECUTE FUNCTION note_run()');
});
beforeEach(async () => {
  asked += await runsSince();
});

/** As a process leaves it that died: `acted` before, or before it did anything. */
const abandon = async (key: string, acted: boolean): Promise<void> => {
  const before = await app.sql('SELECT scope FROM idempotent_call');
  expect((await run(key)).status).toBe(200);
  await app.sql(
    `UPDATE idempotent_call SET status = NULL, content_type = NULL, body = NULL, instance_id = 'gone', begun_at = now() - interval '1 minute',
       acted_at = CASE WHEN $2 THEN acted_at END WHERE scope <> ALL ($1::text[])`,
    [before.map(({ scope }) => scope), acted],
  );
};

describe('a call with a key that is repeated', () => {
  test('gets the first answer again, and is done once', async () => {
    const first = await run('once', { body: { runId: 'fixed' } });
    const second = await run('once', { body: { runId: 'fixed' } });
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(second.body).toEqual(first.body);
    expect(second.headers.get('content-type')).toBe(first.headers.get('content-type'));
    expect([first, second].map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, 'true']);
    expect(await runsSince()).toBe(1);
  });

  test('is done once when many come at the same time', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => run('at-once')));
    for (const { status, body, headers } of answers) {
      if (status === 200) continue;
      expect([status, body.code, headers.get('retry-after')]).toEqual([409, 'IDEMPOTENT_CALL_RUNNING', '1']);
    }
    expect(answers.filter(({ status, headers }) => status === 200 && !headers.has('idempotent-replayed'))).toHaveLength(
      1,
    );
    expect((await run('at-once')).status).toBe(200);
    expect(await runsSince()).toBe(1);
  }, 30_000);

  test('gets the first answer also where that was a refusal, or empty', async () => {
    const starred = '/api/users/settings/starred-requests';
    for (const again of [null, 'true']) {
      const refused = await call('POST', '/api/requests/request/job/unpause', { key: 'refused', body: {} });
      expect([refused.status, refused.headers.get('idempotent-replayed')]).toEqual([409, again]);
      const empty = await call('POST', starred, { key: 'empty', body: { starredRequestIds: ['a'] } });
      expect([empty.status, empty.body, empty.headers.get('idempotent-replayed')]).toEqual([204, '', again]);
    }
  });

  test('with another body or query is refused: 422; members in another order are the same', async () => {
    expect((await run('mine', { body: { runId: 'a', message: 'm' } })).status).toBe(200);
    const code = 'IDEMPOTENCY_KEY_REUSED';
    expect(await run('mine', { body: { runId: 'b', message: 'm' } })).toMatchObject({ status: 422, body: { code } });
    expect(
      (await call('POST', `${runs}?minimal=true`, { key: 'mine', body: { runId: 'a', message: 'm' } })).status,
    ).toBe(422);
    expect((await run('mine', { body: { message: 'm', runId: 'a' } })).status).toBe(200);
    expect(await runsSince()).toBe(1);
  });

  test('is another call where its caller, method or path is another one', async () => {
    await run('shared');
    const others = [run('shared', { token: bob }), call('DELETE', '/api/requests/request/nothing', { key: 'shared' })];
    for (const { headers } of await Promise.all(others)) expect(headers.has('idempotent-replayed')).toBe(false);
    expect(await runsSince()).toBe(2);
  });

  test('still needs what it needed: a caller who is not known gets no answer', async () => {
    await run('secret');
    expect(await run('secret', { token: 'muster_0123456789abcdef_none' })).toMatchObject({ status: 401 });
  });
});

test('without a key each call is one of its own, with the same runId too', async () => {
  for (let left = 2; left > 0; left--) await run(undefined, { body: { runId: 'fixed' } });
  expect(await runsSince()).toBe(2);
});

test.each(['', 'x'.repeat(256), 'two words', 'a\u00fc'])('a key is 1 to 255 visible characters: %j', async (key) => {
  const answer = await run(key);
  // An empty header is none for some clients, and one for the service.
  expect(answer).toMatchObject({ status: 400, body: { errors: [{ field: 'Idempotency-Key' }] } });
});

test('a read heeds no key', async () => {
  const answers = [
    await call('GET', '/api/requests', { key: 'r' }),
    await call('GET', '/api/requests/ids', { key: 'r' }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
});

test('a call that failed and changed nothing can be repeated', async () => {
  await app.sql('ALTER TABLE pending_request RENAME TO away');
  expect((await run('failed')).status).toBe(500);
  await app.sql('ALTER TABLE away RENAME TO pending_request');
  const again = await run('failed');
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, null]);
  expect(await runsSince()).toBe(1);
});

describe('when the process died', () => {
  test('after the change and before the answer, a repetition is told that it was done, and does nothing', async () => {
    await abandon('acted', true);
    for (let left = 2; left > 0; left--) {
      expect(await run('acted')).toMatchObject({ status: 409, body: { code: 'IDEMPOTENT_CALL_DONE' } });
    }
    expect(await runsSince()).toBe(1);
  });

  test('before the change, one repetition does it', async () => {
    await abandon('not-acted', false);
    asked += await runsSince();
    const answers = await Promise.all(Array.from({ length: 10 }, () => run('not-acted')));
    expect(answers.filter(({ status, headers }) => status === 200 && !headers.has('idempotent-replayed'))).toHaveLength(
      1,
    );
    expect(await runsSince()).toBe(1);
  }, 30_000);
});

test('a call whose place was taken meanwhile changes nothing', async () => {
  await app.sql(`CREATE FUNCTION lose_claim() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN UPDATE idempotent_call SET claim = 'another'; RETURN NEW; END $$`);
  await app.sql('CREATE TRIGGER lose_claim AFTER INSERT ON pending_request FOR EACH ROW EXECUTE FUNCTION lose_claim()');
  expect(await run('taken')).toMatchObject({ status: 409, body: { code: 'IDEMPOTENT_CALL_RUNNING' } });
  await app.sql('DROP TRIGGER lose_claim ON pending_request');
  expect(await runsSince()).toBe(0);
});

test('of calls that share a transaction, one whose place was taken changes nothing, and the others are done', async () => {
  await app.sql(`CREATE FUNCTION lose_claim_of_one() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN IF NEW.run_id = 'loses' THEN UPDATE idempotent_call SET claim = 'another'; END IF; RETURN NEW; END $$`);
  await app.sql(`CREATE TRIGGER lose_claim_of_one AFTER INSERT ON pending_request
    FOR EACH ROW EXECUTE FUNCTION lose_claim_of_one()`);
  const runIds = ['keeps-1', 'loses', 'keeps-2', 'keeps-3', 'keeps-4'];
  const answers = await Promise.all(runIds.map((runId) => run(`shared-${runId}`, { body: { runId } })));
  await app.sql('DROP TRIGGER lose_claim_of_one ON pending_request');
  expect(answers.map(({ status }) => status)).toEqual([200, 409, 200, 200, 200]);
  expect(await runsSince()).toBe(4);
});

test('after a day it is forgotten', async () => {
  await run('old');
  await app.sql("UPDATE idempotent_call SET begun_at = now() - interval '25 hours'");
  await run('new');
  await app.get(IdempotentCalls).clean();
  expect(await app.sql('SELECT 1 FROM idempotent_call')).toHaveLength(1);
});
