import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startAuthApp, type Answer, type AuthApp } from '../../../test/support/auth/auth-app.js';
import type { Request } from '../../core/model/request.js';
import { FollowUps } from './follow-ups.service.js';
import { Database } from '../../platform/database/database.js';
import { lockAwaited } from '../../../test/support/lock-waits.js';

let app: AuthApp;
const tokens: Record<string, string> = {};
beforeAll(async () => {
  app = await startAuthApp({ auth: { enabled: true, adminGroups: ['admins'] } });
  for (const [id, group] of Object.entries({ ann: 'web', bob: 'shop', alma: 'admins' }))
    tokens[id] = await app.tokenOf({ id, groups: [group], email: `${id}@example.com` });
});
afterAll(() => app.close());
// In the order in which the leader, which goes on, locks rows.
beforeEach(() =>
  app.sql(
    `DELETE FROM request; DELETE FROM request_cleanup; DELETE FROM flow; DELETE FROM flow_run; DELETE FROM flow_fan_in`,
  ),
);

const call = (who: string, method: string, path: string, body?: unknown): Promise<Answer> =>
  app.call(method, path, { token: tokens[who], body });
const after = (...ids: string[]) => ids.map((requestId) => ({ requestId, on: 'SUCCESS' }));
const save = (id: string, own: Partial<Request> | object = {}, who = 'ann') =>
  call(who, 'POST', '/api/requests', { id, requestType: 'ON_DEMAND', group: 'web', ...own });
const saved = async (...parameters: Parameters<typeof save>) =>
  expect((await save(...parameters)).status, parameters[0]).toBe(200);
const problems = ({ body }: Answer) =>
  (body['errors'] as { field: string; rule: string }[]).map(({ field, rule }) => `${field} ${rule}`);
/** The end of a run as the scheduler stores it. */
const ended = (requestId: string, state: 'TASK_FINISHED' | 'TASK_FAILED' = 'TASK_FINISHED', own: object = {}) =>
  app
    .get(Database)
    .transaction((tx) =>
      app
        .get(FollowUps)
        .after(
          tx,
          [{ taskId: { id: `${requestId}-d1-1-1-h-r`, requestId }, state, endedAt: 5, pendingTask: own as never }],
          Date.now(),
        ),
    );
const flowOf = `a-d1-1-1-h-r`;

describe('a request that follows', () => {
  test('is answered as it was sent, and one that does not has none of the members', async () => {
    await saved('a');
    const { body } = await save('b', { after: [{ requestId: 'a', on: 'END' }], afterMode: 'ANY', argsFrom: 'PARENT' });
    expect(body['request']).toMatchObject({
      after: [{ requestId: 'a', on: 'END' }],
      afterMode: 'ANY',
      argsFrom: 'PARENT',
    });
    const { request } = (await call('ann', 'GET', '/api/requests/request/a')).body;
    for (const member of ['after', 'afterMode', 'argsFrom']) expect(request).not.toHaveProperty(member);
  });
  test.each<[string, object, string[]]>([
    ['nobody that is there', { after: after('nobody') }, ['after.0.requestId exists']],
    ['a service', { after: after('service') }, ['after.0.requestId runs']],
    ['itself', { after: after('b') }, ['after.0.requestId cycle']],
    ['a word that is none', { after: [{ requestId: 'a', on: 'LATER' }] }, ['after.0.on oneOf']],
    ['no word', { after: [{ requestId: 'a' }] }, ['after.0.on required']],
    ['with its schedule', { requestType: 'SCHEDULED', schedule: '* * * * *', after: after('a') }, ['after notAllowed']],
    ['nobody in a mode', { afterMode: 'ALL' }, ['afterMode consistent']],
  ])('%s is 400', async (_name, own, expected) => {
    await saved('a');
    await saved('service', { requestType: 'SERVICE' });
    const answer = await save('b', own, 'alma');
    expect([answer.status, problems(answer)]).toEqual([400, expected]);
  });
  test('all of jobs that no request leads to is 400, as is one that has followed any of them', async () => {
    for (const id of ['a', 'b']) await saved(id);
    const all = await save('c', { after: after('a', 'b') });
    expect([all.status, problems(all)]).toEqual([400, ['after commonFlow']]);
    await saved('c', { after: after('a', 'b'), afterMode: 'ANY' });
    expect(problems(await save('c', { after: after('a', 'b') }))).toEqual(['after commonFlow']);
    await saved('b', { after: after('a') });
    await saved('c', { after: after('a', 'b') });
  });
  test('a service that has taken the place of its job is 400, once that is said anew', async () => {
    await saved('a');
    await saved('b', { after: after('a') });
    await app.sql(`DELETE FROM request WHERE id = 'a'`);
    await saved('a', { requestType: 'SERVICE' });
    await saved('b', { after: after('a'), owners: ['ann@example.com'] });
    expect(problems(await save('b', { after: [{ requestId: 'a', on: 'END' }] }))).toEqual(['after.0.requestId runs']);
  });
  test('what follows it is 400 and names the cycle', async () => {
    await saved('a');
    await saved('b', { after: after('a') });
    await saved('c', { after: after('b') });
    const answer = await save('a', { after: after('c') });
    expect([answer.status, problems(answer)]).toEqual([400, ['after.0.requestId cycle']]);
    expect(answer.body.message).toContain("'a' -> 'b' -> 'c' -> 'a'");
  });
  test('what begins to follow it at the same time: one of the two is 400', async () => {
    for (let turn = 0; turn < 8; turn++) {
      const [a, b] = [`a${turn}`, `b${turn}`];
      await saved(a);
      await saved(b);
      const answers = await Promise.all([save(a, { after: after(b) }), save(b, { after: after(a) })]);
      expect(answers.map(({ status }) => status).toSorted((x, y) => x - y)).toEqual([200, 400]);
    }
  });
  test('cannot begin to with a deploy', async () => {
    await saved('a');
    await saved('b');
    const answer = await call('ann', 'POST', '/api/deploys', {
      deploy: { requestId: 'b', id: 'd1', command: 'true' },
      updatedRequest: { id: 'b', requestType: 'ON_DEMAND', group: 'web', after: after('a') },
    });
    expect([answer.status, problems(answer)]).toEqual([400, ['updatedRequest.after unchanged']]);
  });
  test('needs a caller who may read whom it follows, whether or not there is one', async () => {
    await saved('theirs', { group: 'shop' }, 'bob');
    for (const parent of ['theirs', 'nobody']) {
      expect((await save('b', { after: after(parent) })).status).toBe(403);
    }
    await saved('b', { after: after('theirs') }, 'alma');
    await saved('b', { after: after('theirs'), numRetriesOnFailure: 1 });
  });
});

describe('a service that starts after another', () => {
  const service = (id: string, ...startAfter: string[]) =>
    save(id, { requestType: 'SERVICE', ...(startAfter.length > 0 && { startAfter }) });
  test('and is named by it is 400 and names the cycle', async () => {
    for (const [id, ...named] of [['db'], ['queue', 'db'], ['web', 'queue']] as const)
      expect((await service(id, ...named)).status).toBe(200);
    const answer = await service('db', 'web');
    expect([answer.status, problems(answer)]).toEqual([400, ['startAfter.0 cycle']]);
    expect(answer.body.message).toContain("'db' -> 'queue' -> 'web' -> 'db'");
  });
  test('of two that name each other at the same time one is 400', async () => {
    for (let turn = 0; turn < 8; turn++) {
      const [a, b] = [`a${turn}`, `b${turn}`];
      await service(a);
      await service(b);
      const answers = await Promise.all([service(a, b), service(b, a)]);
      expect(answers.map(({ status }) => status).toSorted((x, y) => x - y)).toEqual([200, 400]);
    }
  });
  test.each([
    ['that is not there', 'nobody', 'startAfter.0 exists'],
    ['that is a job', 'job', 'startAfter.0 runs'],
  ])('%s is 400', async (_name, named, problem) => {
    await saved('job');
    const answer = await save('web', { requestType: 'SERVICE', startAfter: [named] }, 'alma');
    expect([answer.status, problems(answer)]).toEqual([400, [problem]]);
  });
  test('needs a caller who may read that one', async () => {
    await saved('theirs', { group: 'shop', requestType: 'SERVICE' }, 'bob');
    expect((await service('web', 'theirs')).status).toBe(403);
  });
  test('keeps that one from its removal, unless it is forced', async () => {
    await service('db');
    await service('web', 'db');
    const answer = await call('ann', 'DELETE', '/api/requests/request/db', {});
    expect([answer.status, answer.body.code]).toEqual([409, 'REQUEST_HAS_FOLLOWERS']);
    expect(answer.body.message).toContain("is named in startAfter of 'web'");
    expect((await call('ann', 'DELETE', '/api/requests/request/db', { force: true })).status).toBe(200);
  });
  test('is in no flow', async () => {
    await service('db');
    await service('web', 'db');
    const { body } = await call('ann', 'GET', '/api/requests/request/web/flow');
    expect(JSON.stringify(body)).not.toContain('db');
  });
});

describe('the removal of a request', () => {
  const remove = (id: string, body: object = {}) => call('ann', 'DELETE', `/api/requests/request/${id}`, body);
  test('that others follow is 409 and names them, unless it is forced', async () => {
    await saved('a');
    await saved('b', { after: after('a') });
    await saved('c', { after: after('a') });
    const answer = await remove('a');
    expect([answer.status, answer.body.code]).toEqual([409, 'REQUEST_HAS_FOLLOWERS']);
    expect(answer.body.message).toContain("'b', 'c'");
    expect((await remove('b')).status).toBe(200);
    expect((await remove('c')).status).toBe(200);
    expect((await remove('a')).status).toBe(200);
  });
  test('that others follow is done with force', async () => {
    await saved('a');
    await saved('b', { after: after('a') });
    expect((await remove('a', { force: true })).status).toBe(200);
  });
  test('waits for one that begins to follow it, and is refused then', async () => {
    await saved('a');
    await saved('b');
    let removed = Promise.resolve<Answer | undefined>(undefined);
    await app.get(Database).transaction(async (tx) => {
      await tx.query('SELECT pg_advisory_xact_lock(7102, 1)');
      await tx.query(`UPDATE request SET document = document || $1 WHERE id = 'b'`, [
        JSON.stringify({ after: after('a') }),
      ]);
      removed = remove('a');
      await lockAwaited({ query: app.sql });
    });
    expect(await removed).toMatchObject({ status: 409 });
  });
});

describe('a flow', () => {
  beforeEach(async () => {
    await saved('a');
    await saved('b', { after: after('a') });
    await saved('secret', { after: [{ requestId: 'a', on: 'END' }], group: 'shop' }, 'alma');
  });
  const runsIn = ({ body }: Answer) =>
    (body['runs'] as { requestId: string; state: string }[]).map(({ requestId, state }) => [requestId, state]);

  test('is shown to those who may read some of its requests, without the others', async () => {
    expect((await call('ann', 'GET', `/api/flows/${flowOf}`)).body.code).toBe('FLOW_NOT_FOUND');
    await ended('a');
    const seen = await call('ann', 'GET', `/api/flows/${flowOf}`);
    expect(runsIn(seen)).toEqual([
      ['a', 'SUCCESS'],
      ['b', 'WAITING'],
    ]);
    expect(seen.body).toMatchObject({ id: flowOf, requestId: 'a', refusedRuns: 0 });
    const others = await call('bob', 'GET', `/api/flows/${flowOf}`);
    expect([runsIn(others), others.body['requestId']]).toEqual([[['secret', 'WAITING']], undefined]);
    expect((others.body['runs'] as { parentRuns: string[] }[])[0]?.parentRuns).toEqual([]);
    tokens['eve'] ??= await app.tokenOf({ id: 'eve', groups: ['none'] });
    expect((await call('eve', 'GET', `/api/flows/${flowOf}`)).status).toBe(404);
  });
  test('tells around a request who follows whom, as far as the caller may read', async () => {
    await ended('a', 'TASK_FAILED');
    const { body } = await call('ann', 'GET', '/api/requests/request/b/flow');
    expect(body).toMatchObject({
      requests: [
        { requestId: 'a', requestType: 'ON_DEMAND', state: 'ACTIVE', lastRun: { state: 'FAILURE', flowId: flowOf } },
        { requestId: 'b' },
      ],
      edges: [{ requestId: 'b', parentId: 'a', on: 'SUCCESS' }],
      isComplete: true,
    });
    expect((body['requests'] as unknown[]).length).toBe(2);
    expect((await call('bob', 'GET', '/api/requests/request/b/flow')).status).toBe(403);
  });
  test('runs again from a request on: refused while that goes on, and counted as the first run of it', async () => {
    const rerun = (from: string, who = 'ann') => call(who, 'POST', `/api/flows/${flowOf}/rerun`, { from });
    await ended('a', 'TASK_FAILED', { cmdLineArgsList: ['x'] });
    await app.sql(`UPDATE flow_run SET ended_at = now() WHERE request_id = 'secret'`);
    expect((await rerun('b')).body.code).toBe('FLOW_NOT_FOUND');
    expect((await rerun('a', 'bob')).status).toBe(403);
    expect((await call('ann', 'POST', `/api/flows/${flowOf}/rerun`, {})).status).toBe(400);
    expect(runsIn(await rerun('a'))).toEqual([
      ['a', 'FAILURE'],
      ['a', 'WAITING'],
    ]);
    expect((await rerun('a')).body.code).toBe('FLOW_RUNNING');
    for (const [state, code] of [
      ['FINISHED', 'REQUEST_FINISHED'],
      ['DELETING', 'REQUEST_BEING_CLEANED'],
    ]) {
      await app.sql(`UPDATE request SET state = $1 WHERE id = 'a'`, [state]);
      expect((await rerun('a')).body.code).toBe(code);
    }
    await app.sql(`UPDATE request SET state = 'ACTIVE' WHERE id = 'a'`);
    const [again] = await app.sql(`SELECT run_id, trigger, asked FROM flow_run WHERE ended_at IS NULL`);
    expect(again).toMatchObject({ trigger: 'RUN_NOW', asked: { cmdLineArgsList: ['x'], user: 'ann@example.com' } });
    await app.get(Database).transaction((tx) =>
      app.get(FollowUps).after(
        tx,
        [
          {
            taskId: { id: 'a-d1-2-1-h-r', requestId: 'a' },
            state: 'TASK_FINISHED',
            endedAt: 6,
            pendingTask: { flowId: flowOf, runId: again!['run_id'] } as never,
          },
        ],
        Date.now(),
      ),
    );
    expect(runsIn(await call('ann', 'GET', `/api/flows/${flowOf}`))).toEqual([
      ['a', 'FAILURE'],
      ['a', 'SUCCESS'],
      ['b', 'WAITING'],
    ]);
    expect(
      await app.sql(`SELECT request_id, status FROM v_flow WHERE flow_id = $1 AND request_id = 'b'`, [flowOf]),
    ).toEqual([{ request_id: 'b', status: null }]);
  });
});
