import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ClusterDriver } from '../../src/cluster/cluster-driver.js';
import { makePendingTaskId } from '../../src/core/task-id.js';
import { TaskHistoryMoveRepository } from '../../src/modules/history/task-history-move.repository.js';
import { Tokens } from '../../src/modules/auth/tokens/tokens.service.js';
import { authSettings, callWith, type Answer } from '../support/auth/auth-app.js';
import { expectedAccess } from '../support/auth/expected-access.js';
import { operationsOf } from '../support/auth/guarded-app.js';
import {
  insertDeploy,
  insertPendingTask,
  insertRequest,
  insertTask,
  makePendingTask,
  start,
} from '../support/builders.js';
import { FileDriver, sandboxRoot } from '../support/file-driver.js';
import { startTestApp, type TestApp } from '../support/test-app.js';

/** Ann, of group web, owns the request `vault`; everything in it that is worth reading has this word in it. */
const secret = 'swordfish';
const groups = { ann: ['web'], bob: ['evil'], eve: [], rita: ['readers'], alma: ['admins'] } as const;
type Who = keyof typeof groups;

let app: TestApp<ClusterDriver>;
let taskId: string;
let endedTaskId: string;
const tokens = {} as Record<Who, string>;
const driver = new FileDriver();
const pendingTaskId = makePendingTaskId({
  requestId: 'vault',
  deployId: 'd1',
  nextRunAt: start * 2,
  instanceNo: 2,
  pendingType: 'ONEOFF',
  createdAt: start,
});

beforeAll(async () => {
  app = await startTestApp({
    driver,
    settings: authSettings({ auth: { enabled: true, adminGroups: ['admins'], failuresBeforeDelay: 100_000 } }),
  });
  const { pool } = app.database;
  for (const who of Object.keys(groups) as Who[]) {
    const user = { id: who, groups: [...groups[who]], scopes: [], authenticated: true };
    tokens[who] = (await app.app.get(Tokens, { strict: false }).create({ user }, user)).text;
  }
  const vault = {
    id: 'vault',
    group: 'web',
    readOnlyGroups: ['readers'],
    instances: 1,
    owners: [`${secret}@web.example`],
  };
  await insertRequest(pool, { request: vault, activeDeployId: 'd1' });
  await insertRequest(pool, { request: { id: 'mine', group: 'evil', requestType: 'ON_DEMAND' } });
  await pool.query(
    `INSERT INTO request_history (request_id, created_at, event_type, message, request) VALUES ('vault', now(), 'CREATED', $1, $2)`,
    [secret, JSON.stringify(vault)],
  );
  const deploy = {
    requestId: 'vault',
    command: `echo ${secret}`,
    env: { PLAIN: secret, DB_PASSWORD: secret },
    metadata: { note: secret },
  };
  await insertDeploy(pool, {
    deploy,
    message: secret,
    result: { deployState: 'SUCCEEDED', timestamp: start } as never,
  });
  const row = { requestId: 'vault', directory: 'known', runId: 'run1', commandLineArguments: [secret] };
  ({ id: taskId } = await insertTask(pool, { ...row, updates: [['TASK_RUNNING', start, { message: secret }]] }));
  ({ id: endedTaskId } = await insertTask(pool, {
    ...row,
    instanceNo: 3,
    updates: [['TASK_FAILED', start, { message: secret }]],
  }));
  for (const id of [taskId, endedTaskId]) driver.put(id, 'stdout', secret);
  await app.database.leaderTransaction((tx) =>
    app.app.get(TaskHistoryMoveRepository, { strict: false }).move(tx, [endedTaskId]),
  );
  await insertPendingTask(pool, makePendingTask({ pendingTaskId, message: secret, cmdLineArgsList: [secret] }));
});
afterAll(() => app.close());

const call = (who: Who, method: string, path: string, body?: unknown): Promise<Answer> =>
  callWith(`${app.url}${path}`, method, { token: tokens[who], body });
/** As it came, whatever it is. */
const textOf = ({ body }: Answer): string => (typeof body === 'string' ? body : JSON.stringify(body));

const ofVault = (): Record<string, string> => ({
  requestId: 'vault',
  deployId: 'd1',
  taskId,
  pendingTaskId: pendingTaskId.id,
  scheduledTaskId: pendingTaskId.id,
  runId: 'run1',
  slaveId: 's1',
  userId: 'ann',
  format: 'nginx',
});
const pathOf = (route: string, ids = ofVault()): string =>
  route.replaceAll(/:(\w+)/g, (_all, name: string) => encodeURIComponent(ids[name] ?? 'vault'));

/** Everything that can be read, as its path and query; what names the request, and what does not. */
function reads(): { naming: [string, string, unknown?][]; lists: string[] } {
  const routes = operationsOf(app.app)
    // The event stream answers without end; src/modules/events/event-rights.test.ts listens to it.
    .filter((name) => name.startsWith('GET ') && name !== 'GET /api/events')
    .map((name) => name.slice('GET '.length));
  const file = encodeURIComponent(`${sandboxRoot(taskId)}/stdout`);
  return {
    lists: [...routes.filter((route) => !route.includes(':')), '/api/services/endpoints/nginx'],
    naming: [
      ...routes
        .filter((route) => route.includes(':'))
        .map((route): [string, string] => ['GET', `${pathOf(route)}?path=stdout&offset=0`]),
      ...routes
        .filter((route) => route.includes(':taskId'))
        .map((route): [string, string] => [
          'GET',
          `${pathOf(route, { ...ofVault(), taskId: endedTaskId })}?path=stdout&offset=0`,
        ]),
      ...routes
        .filter((route) => !route.includes(':'))
        .map((route): [string, string] => [
          'GET',
          `${route}?requestId=vault&id=vault&requestIdLike=vau&runId=run1&slaveHostname=host-1&path=${file}`,
        ]),
      ['POST', '/api/deploys/plan', { deploy: { id: 'd1', requestId: 'vault', command: 'true' } }],
      ['POST', '/api/requests/request/vault/scale/plan', { instances: 2 }],
      ['POST', '/api/requests/request/vault/backfill/plan', { from: 0, to: 1 }],
      ['POST', '/api/logs/search', { requestsAndDeploys: { vault: ['d1'] }, taskIds: [taskId] }],
      ['GET', '/api/requests/batch?id=mine&id=vault'],
      ['GET', '/api/requests/batch?id=mine,vault'],
      ['GET', `/api/sandbox/${encodeURIComponent(taskId)}/read?path=../${encodeURIComponent(taskId)}/stdout&offset=0`],
      ['GET', '/api/requests/request/mine?requestId=vault&id=vault'],
    ],
  };
}

describe('what is worth reading in the request of another', () => {
  test('is there: administrators read it at many places, its owner at most of them', async () => {
    const found = { alma: 0, ann: 0 };
    const { lists, naming } = reads();
    for (const who of ['alma', 'ann'] as const) {
      for (const path of lists) if (textOf(await call(who, 'GET', path)).includes('vault')) found[who]++;
      for (const [method, path, body] of naming)
        if (textOf(await call(who, method, path, body)).includes(secret)) found[who]++;
    }
    expect(found.alma).toBeGreaterThan(30);
    expect(found.ann).toBeGreaterThan(25);
  });

  test.each(['bob', 'eve'] as const)('is read by %s nowhere', async (who) => {
    const { lists, naming } = reads();
    const leaks: string[] = [];
    for (const path of lists) {
      const text = textOf(await call(who, 'GET', path));
      if (text.includes('vault') || text.includes(secret)) leaks.push(`${path}: ${text.slice(0, 300)}`);
    }
    for (const [method, path, body] of naming) {
      const answer = await call(who, method, path, body);
      if (textOf(answer).includes(secret)) leaks.push(`${method} ${path}: ${textOf(answer).slice(0, 300)}`);
      if (answer.status >= 500) leaks.push(`${method} ${path}: ${answer.status}`);
    }
    expect(leaks).toEqual([]);
  });
});

/** Whatever row has to do with the request, but for those that say who asked for what. */
async function rowsOfVault(): Promise<Record<string, string>> {
  const { pool } = app.database;
  const tables: { name: string }[] = await pool.query(
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`,
  );
  const found: Record<string, string> = {};
  for (const { name } of tables.filter(
    (table) => !/audit|waiting_reason|user_settings|usage|utilization/.test(table.name),
  )) {
    const [row]: { rows: string | null }[] = await pool.query(
      `SELECT string_agg(each::text, E'\\n' ORDER BY each::text) AS rows FROM "${name}" AS each WHERE each::text LIKE '%vault%'`,
    );
    if (row!.rows !== null) found[name] = row!.rows;
  }
  return found;
}

describe('the request of another', () => {
  let before: Record<string, string>;
  beforeEach(async () => {
    before = await rowsOfVault();
  });
  const writes = () =>
    operationsOf(app.app)
      .filter((name) => !name.startsWith('GET ') && !['open', 'caller'].includes(expectedAccess.get(name) ?? 'open'))
      .map((name) => name.split(' ') as [string, string]);
  const deploy = (requestId: string, id = 'd9') => ({
    id,
    requestId,
    command: 'true',
    resources: { cpus: 1, memoryMb: 1 },
  });
  const stolen = { id: 'vault', requestType: 'SERVICE', group: 'evil' };
  /** Bodies that name the request in ways that operations read, or might read. */
  const bodies: [string, unknown][] = [
    [
      'plainly',
      {
        ...stolen,
        requestId: 'vault',
        deployId: 'd1',
        requestIds: ['vault'],
        deploy: deploy('vault'),
        instances: 5,
        targetActiveInstances: 1,
      },
    ],
    [
      'in lists',
      { ...stolen, id: ['vault'], requestId: ['vault'], requestIds: [['vault']], deploy: [deploy('vault')] },
    ],
    [
      'in records',
      {
        ...stolen,
        id: { id: 'vault' },
        requestId: { 0: 'vault' },
        deploy: { ...deploy('vault'), requestId: { id: 'vault' } },
      },
    ],
    [
      'beside a request of their own',
      {
        ...stolen,
        id: 'mine',
        requestId: 'mine',
        requestIds: ['mine', 'vault'],
        deploy: deploy('mine'),
        updatedRequest: stolen,
      },
    ],
    [
      'as the request of a deploy that is theirs',
      { deploy: deploy('vault'), updatedRequest: { id: 'mine', requestType: 'ON_DEMAND', group: 'evil' } },
    ],
    ['with blanks around it', { ...stolen, id: ' vault ', requestId: 'vault ', deploy: deploy(' vault') }],
    ['in other letters', { ...stolen, id: 'VAULT', requestId: 'Vault', deploy: deploy('vaulT') }],
    [
      'with what is not seen',
      { ...stolen, id: 'vault\u200b', requestId: 'vault\u200b', deploy: deploy('vault\u200b') },
    ],
  ];

  test.each(bodies)('is not changed when it is named %s', async (_how, body) => {
    const done: string[] = [];
    for (const who of ['bob', 'eve', 'rita'] as const) {
      for (const [method, route] of writes()) {
        if (/^\/api\/(deploys\/plan|requests\/request\/:requestId\/scale\/plan|logs\/search)$/.test(route)) continue;
        for (const ids of [ofVault(), { ...ofVault(), requestId: 'mine' }]) {
          // With an id of their own in the path the body is all that names the other one.
          const isTheirs = ids['requestId'] === 'mine';
          if (isTheirs && (who !== 'bob' || method === 'DELETE' || !route.includes(':requestId'))) continue;
          const { status } = await call(who, method, `${pathOf(route, ids)}?requestId=vault&force=true`, body);
          if (status >= 500 || (status < 300 && !isTheirs && route.includes(':')))
            done.push(`${who}: ${method} ${route}: ${status}`);
        }
      }
    }
    expect(done).toEqual([]);
    expect(await rowsOfVault()).toEqual(before);
  });

  test.each(['bob', 'eve', 'ann', 'rita'] as const)(
    'and what only administrators may do is not done for %s',
    async (who) => {
      const operations = [...expectedAccess].filter(([, ask]) => ask === 'ADMIN').map(([name]) => name);
      expect(operations.length).toBeGreaterThan(40);
      const served = new Set(operationsOf(app.app));
      for (const name of operations.filter((each) => served.has(each))) {
        const [method, route] = name.split(' ') as [string, string];
        for (const body of method === 'GET'
          ? [undefined]
          : [undefined, {}, { user: { id: who, groups: ['admins'] }, id: who, uri: 'http://127.0.0.1:9' }]) {
          expect((await call(who, method, pathOf(route), body)).status, name).toBe(403);
        }
      }
    },
  );
});
