import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makePendingTaskId, makeTaskId } from '../../core/task-id.js';
import { endpointNeeds } from './access/endpoint-needs.js';
import { createDatabase } from '../../../test/support/test-database.js';
import {
  allowedByGroups,
  allowedByScopes,
  expectedAccess,
  roles,
  scopeSets,
  type Ask,
  type Role,
  type ScopeSet,
} from '../../../test/support/auth/expected-access.js';
import { GuardedApp, letThrough } from '../../../test/support/auth/guarded-app.js';

const groups = { group: 'web', readWriteGroups: ['writer'], readOnlyGroups: ['reader'] };
const shop = { id: 'shop', requestType: 'SERVICE', ...groups };
const auth = {
  enabled: true,
  tokenCreationsPerMinute: 10_000,
  adminGroups: ['admin'],
  jitaGroups: ['jita'],
  globalReadOnlyGroups: ['globalReader'],
  globalReadWriteGroups: ['globalWriter'],
  scopes: { admin: ['ADMIN'], write: ['WRITE'], read: ['READ'], deploy: ['DEPLOY'], approve: [] },
};

const taskId = makeTaskId({
  requestId: 'shop',
  deployId: 'd1',
  startedAt: 1,
  instanceNo: 1,
  host: 'h',
  rackId: 'r',
}).id;
const pendingTaskId = makePendingTaskId({
  requestId: 'shop',
  deployId: 'd1',
  nextRunAt: 1,
  instanceNo: 1,
  pendingType: 'NEW_DEPLOY',
  createdAt: 1,
}).id;
const parameters: Record<string, string> = { requestId: 'shop', taskId, pendingTaskId, scheduledTaskId: pendingTaskId };
const bodies: Record<string, unknown> = {
  'POST /api/requests': shop,
  'POST /api/requests/apply': { request: shop },
  'POST /api/requests/request/:requestId/groups': groups,
  'POST /api/requests/request/:requestId/groups/auth-check': groups,
  'POST /api/deploys': { deploy: { requestId: 'shop', id: 'd2' } },
  'POST /api/deploys/plan': { deploy: { requestId: 'shop', id: 'd2' } },
  'POST /api/deploys/update': { requestId: 'shop', deployId: 'd1', targetActiveInstances: 1 },
  'PUT /api/requests/request/:requestId/scale': { instances: 2 },
  'POST /api/requests/request/:requestId/scale/plan': { instances: 2 },
  'PUT /api/requests/request/:requestId/priority': { priority: 0.5 },
  'POST /api/requests/request/:requestId/backfill': { from: 0, to: 1 },
  'POST /api/requests/request/:requestId/backfill/plan': { from: 0, to: 1 },
  'POST /api/groups': { id: 'g', requestIds: ['shop'] },
  'POST /api/flows/:flowId/rerun': { from: 'shop' },
  'PUT /api/users/settings/preferences': { preferences: {} },
  'POST /api/users/settings': { starredRequestIds: [] },
  'POST /api/users/settings/starred-requests': {},
  'DELETE /api/users/settings/starred-requests': {},
  'POST /api/schedules/preview': { schedule: '0 0 * * *' },
  'POST /api/logs/search': { requestsAndDeploys: { shop: [] }, taskIds: [taskId] },
};

/** Without one its operations are not there. Nothing is asked of it. */
const objstore = { endpoint: 'http://127.0.0.1:9', objstoreBucket: 'logs' };

let databaseUrl: string;
let remove: () => Promise<void>;
beforeAll(async () => {
  ({ url: databaseUrl, remove } = await createDatabase());
});
afterAll(() => remove());

/** The operation, called for the request `shop`: through, or refused with which code. */
async function outcome(app: GuardedApp, operation: string, token?: string): Promise<string> {
  const [method, route] = operation.split(' ') as [string, string];
  const path = route.replaceAll(/:(\w+)/g, (_all, name: string) => encodeURIComponent(parameters[name] ?? 'x'));
  const files = /\/(download|open)$/.test(path) ? `?path=${encodeURIComponent(`/sandboxes/${taskId}/stdout`)}` : '';
  const { status, body } = await app.call(method, `${path}${files}`, { body: bodies[operation], token });
  return status === letThrough ? 'through' : `${status} ${body.code}`;
}

const refusalOf = (operation: string): string =>
  operation.includes('/groups') && operation.includes('/request/') ? '401 GROUPS_NOT_PERMITTED' : '403 FORBIDDEN';

function describeMode(
  mode: string,
  callers: readonly [Role, ScopeSet][],
  may: (ask: Ask, who: [Role, ScopeSet]) => boolean,
) {
  describe(`in mode ${mode}`, () => {
    let app: GuardedApp;
    beforeAll(async () => {
      app = await GuardedApp.start(databaseUrl, { auth: { ...auth, authMode: mode }, objstore });
      await app.sql(
        `INSERT INTO request (id, request_type, state, changed_at, document) VALUES ('shop', 'SERVICE', 'ACTIVE', now(), $1)
         ON CONFLICT DO NOTHING`,
        [JSON.stringify(shop)],
      );
    });
    afterAll(() => app.close());

    test('every endpoint declares what it needs, and the table here knows it', () => {
      const operations = app.operations();
      expect(operations.length).toBeGreaterThan(150);
      expect(operations.filter((operation) => !Object.hasOwn(endpointNeeds, operation))).toEqual([]);
      expect(operations.filter((operation) => !expectedAccess.has(operation))).toEqual([]);
    });

    test('a caller who is not authenticated gets 401, but for what is open', async () => {
      for (const operation of app.operations()) {
        const expected = expectedAccess.get(operation) === 'open' ? 'through' : '401 UNAUTHENTICATED';
        expect(await outcome(app, operation), operation).toBe(expected);
      }
    });

    test.each(callers)('%s with scopes %s', async (role, scopes) => {
      const withScopes = scopes === 'none' ? [] : scopes.split('+');
      const id = `${role}-${scopes}`;
      const token = await app.tokenOf({ id, groups: [role], scopes: withScopes, authenticated: true });
      const wrong: string[] = [];
      for (const operation of app.operations()) {
        const expected = may(expectedAccess.get(operation)!, [role, scopes]) ? 'through' : refusalOf(operation);
        const found = await outcome(app, operation, token);
        if (found !== expected) wrong.push(`${operation}: ${found}, not ${expected}`);
      }
      expect(wrong).toEqual([]);
    });
  });
}

describeMode(
  'GROUPS',
  roles.map((role) => [role, 'none']),
  (ask, [role]) => allowedByGroups[ask].includes(role),
);

describeMode(
  'GROUPS_SCOPES',
  roles.flatMap((role) => scopeSets.map((scopes): [Role, ScopeSet] => [role, scopes])),
  (ask, [role, scopes]) =>
    scopes === 'ADMIN' || (allowedByScopes[ask].roles.includes(role) && allowedByScopes[ask].scopes.includes(scopes)),
);
