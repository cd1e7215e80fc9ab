import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startAuthApp, type Answer, type AuthApp } from '../../../test/support/auth/auth-app.js';
import { lockAwaited } from '../../../test/support/lock-waits.js';
import { makePendingTaskId, makeTaskId } from '../../core/task-id.js';
import { Database } from '../../platform/database/database.js';
import { endpointNeeds } from './access/endpoint-needs.js';

/* What the guard decided holds inside the transaction that acts on it, or is decided again there. */

let app: AuthApp;
const tokens: Record<string, string> = {};
const call = (who: string, method: string, path: string, body?: unknown): Promise<Answer> =>
  app.call(method, path, { token: tokens[who], body });
const request = (id: string, group: string) => ({ id, requestType: 'SERVICE', group });

beforeAll(async () => {
  app = await startAuthApp({
    auth: { enabled: true, adminGroups: ['admins'] },
  });
  for (const [id, group] of Object.entries({ ann: 'web', bob: 'evil', alma: 'admins' })) {
    tokens[id] = await app.tokenOf({ id, groups: [group], email: `${id}@example.com` });
  }
});
afterAll(() => app.close());

describe('a new id that two callers want at the same time', () => {
  test('goes to one of them, 60 times', async () => {
    for (let turn = 0; turn < 60; turn += 1) {
      const id = `race-${turn}`;
      const answers = await Promise.all(
        ['ann', 'bob'].map((who) => call(who, 'POST', '/api/requests', request(id, who === 'ann' ? 'web' : 'evil'))),
      );
      expect(answers.map(({ status }) => status).sort(), id).toEqual([200, 403]);
      const [{ n }] = (await app.sql(`SELECT count(*)::int AS n FROM request_history WHERE request_id = $1`, [id])) as [
        { n: number },
      ];
      expect(n).toBe(1);
    }
  });

  test('goes to both when each may write what the other made', async () => {
    const answers = await Promise.all(
      ['ann', 'ann'].map((who) => call(who, 'POST', '/api/requests', request('both', 'web'))),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  });

  test('is kept from a caller while an administrator is making it', async () => {
    let made = Promise.resolve<Answer | undefined>(undefined);
    await app.get(Database).pool.transaction(async (tx) => {
      await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 7099))', ['slow']);
      await tx.query(
        `INSERT INTO request (id, request_type, state, changed_at, document) VALUES ('slow', 'SERVICE', 'ACTIVE', now(), $1)`,
        [JSON.stringify(request('slow', 'web'))],
      );
      made = call('bob', 'POST', '/api/requests', request('slow', 'evil'));
      await blocked();
    });
    expect(await made).toMatchObject({ status: 403 });
  });
});

/** Until a call waits for what the test's transaction has locked. */
const blocked = () => lockAwaited({ query: app.sql });

const parts = { requestId: 'shop', deployId: 'd1', instanceNo: 1 };
const taskId = makeTaskId({ ...parts, startedAt: Date.now(), host: 'h', rackId: 'r' }).id;
const times = { nextRunAt: 1, createdAt: 1 };
const scheduledTaskId = makePendingTaskId({ ...parts, ...times, pendingType: 'NEW_DEPLOY' }).id;
const parameters: Record<string, string> = {
  requestId: 'shop',
  deployId: 'd1',
  taskId,
  scheduledTaskId,
  flowId: 'f',
  backfillId: 'b',
};
const bodies: Record<string, unknown> = {
  'POST /api/requests': request('shop', 'web'),
  'POST /api/requests/request/:requestId/groups': { group: 'web' },
  'POST /api/requests/request/:requestId/pause': {},
  'POST /api/deploys': { deploy: { requestId: 'shop', id: 'd2', command: 'true' } },
  'POST /api/deploys/update': { requestId: 'shop', deployId: 'd1', targetActiveInstances: 1 },
  'PUT /api/requests/request/:requestId/scale': { instances: 2 },
  'PUT /api/requests/request/:requestId/priority': { priority: 0.5 },
  'PUT /api/requests/request/:requestId/skip-healthchecks': { skipHealthchecks: true },
  'PUT /api/requests/request/:requestId/skipHealthchecks': { skipHealthchecks: true },
  'POST /api/groups': { id: 'g', requestIds: ['shop'] },
  'POST /api/requests/request/:requestId/backfill': { from: 0, to: 1 },
  'POST /api/flows/:flowId/rerun': { from: 'shop' },
  'POST /api/tasks/task/:taskId/metadata': { type: 'note', title: 'a note' },
  'POST /api/tasks/task/:taskId/command': { name: 'ls' },
};
/** These answer without changing anything. */
const reads = ['/plan', '/auth-check', '/logs/search'];
const changes = Object.entries(endpointNeeds)
  .filter(
    ([operation, need]) =>
      !operation.startsWith('GET') && (need.kind === 'openable' ? need.otherwise : need).kind === 'request',
  )
  .map(([operation]) => operation)
  .filter((operation) => !reads.some((end) => operation.endsWith(end)));

describe('groups that change between the check and the act', () => {
  beforeEach(async () => {
    await app.sql(
      `INSERT INTO request (id, request_type, state, changed_at, document) VALUES ('shop', 'SERVICE', 'ACTIVE', now(), $1)
       ON CONFLICT (id) DO UPDATE SET document = excluded.document`,
      [JSON.stringify(request('shop', 'web'))],
    );
  });

  const tables = [
    'request_history',
    'request_cleanup',
    'request_group',
    'task_cleanup',
    'pending_deploy',
    'deploy_history',
    'pending_request',
    'expiring_action',
    'shuffle_blacklist',
    'task_shell_command',
    'task_metadata',
    'flow_run',
    'run_backfill',
  ];
  const contents = async () =>
    Promise.all(tables.map((table) => app.sql(`SELECT count(*)::int AS n, '${table}' AS of FROM ${table}`)));

  test.each(changes)('count for %s', async (operation) => {
    const [method, route] = operation.split(' ') as [string, string];
    const path = route.replaceAll(/:(\w+)/g, (_all, name: string) => encodeURIComponent(parameters[name]!));
    const before = await contents();
    let answer = Promise.resolve<Answer | undefined>(undefined);
    await app.get(Database).pool.transaction(async (tx) => {
      await tx.query(`UPDATE request SET document = $1 WHERE id = 'shop'`, [JSON.stringify(request('shop', 'evil'))]);
      answer = call('ann', method, path, bodies[operation]);
      await blocked();
    });
    expect((await answer)!.status).toBe(operation.endsWith('/groups') && operation.includes('/request/') ? 401 : 403);
    expect(await contents()).toEqual(before);
    expect(await app.sql(`SELECT document->>'group' AS of, state FROM request WHERE id = 'shop'`)).toEqual([
      { of: 'evil', state: 'ACTIVE' },
    ]);
  });

  test('of another field are no reason to refuse', async () => {
    let answer = Promise.resolve<Answer | undefined>(undefined);
    await app.get(Database).pool.transaction(async (tx) => {
      const document = JSON.stringify({ ...request('shop', 'web'), instances: 3 });
      await tx.query(`UPDATE request SET document = $1, version = version + 1 WHERE id = 'shop'`, [document]);
      answer = call('ann', 'POST', '/api/requests/request/shop/bounce');
      await blocked();
    });
    // There is nothing to bounce: the action itself says so.
    expect(await answer).toMatchObject({ status: 409 });
  });

  test('by the request going are seen as well', async () => {
    let answer = Promise.resolve<Answer | undefined>(undefined);
    await app.get(Database).pool.transaction(async (tx) => {
      await tx.query(`DELETE FROM request WHERE id = 'shop'`);
      await tx.query(
        `INSERT INTO request_history (request_id, created_at, event_type, request) VALUES ('shop', now(), 'DELETED', $1)`,
        [JSON.stringify(request('shop', 'evil'))],
      );
      answer = call('ann', 'POST', '/api/requests', request('shop', 'web'));
      await blocked();
    });
    expect(await answer).toMatchObject({ status: 403 });
    expect(await app.sql(`SELECT 1 FROM request WHERE id = 'shop'`)).toEqual([]);
  });
});
