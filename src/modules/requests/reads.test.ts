import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openRequestsRoom, type RequestsRoom } from '../../../test/support/requests-room.js';

let room: RequestsRoom;
beforeAll(async () => {
  room = await openRequestsRoom();
  await room.request('alpha', { instances: 2 });
  await room.request('Beta', { requestType: 'WORKER' });
  await room.request('cron', { requestType: 'SCHEDULED', schedule: '* * * * *' });
  await room.request('paused');
  await room.request('cool');
  await room.request('finished', { requestType: 'SCHEDULED', schedule: '* * * * *' });
  await room.request('unpausing');
  await room.request('deleting');
  for (const [id, state] of [
    ['paused', 'PAUSED'],
    ['cool', 'SYSTEM_COOLDOWN'],
    ['finished', 'FINISHED'],
    ['unpausing', 'DEPLOYING_TO_UNPAUSE'],
    ['deleting', 'DELETING'],
  ]) {
    await room.sql('UPDATE request SET state = $2 WHERE id = $1', [id, state]);
  }
  room.clock.millis += 1000;
  await room.deploy('alpha');
  room.clock.millis += 1000;
  await room.deploy('cron');
  await room.task('alpha', 1);
  await room.task('alpha', 2);
});
afterAll(() => room.close());

const ids = (parents: readonly { request: { id: string } }[]): string[] => parents.map(({ request }) => request.id);

describe('lists', () => {
  test.each([
    ['/api/requests', ['cron', 'alpha', 'Beta', 'cool', 'deleting', 'finished', 'paused', 'unpausing']],
    ['/api/requests/', ['cron', 'alpha', 'Beta', 'cool', 'deleting', 'finished', 'paused', 'unpausing']],
    ['/api/requests/active', ['cron', 'alpha', 'Beta', 'unpausing']],
    ['/api/requests/paused', ['paused']],
    ['/api/requests/cooldown', ['cool']],
    ['/api/requests/finished', ['finished']],
    ['/api/requests?limit=2', ['cron', 'alpha']],
    ['/api/requests?requestType=worker&requestType=SCHEDULED', ['cron', 'Beta', 'finished']],
    ['/api/requests/active?requestType=SERVICE&limit=1', ['alpha']],
    ['/api/requests?requestType=&limit=0&useWebCache=false&filterRelevantForUser=true&limit=', undefined],
  ])('%s', async (path, expected) => {
    const parents = await room.list(path);
    if (expected) expect(ids(parents)).toEqual(expected);
    else expect(parents).toHaveLength(8);
  });

  test('show request, state and deploys, and no more', async () => {
    const parents = await room.list('/api/requests?limit=2');
    expect(parents[1]).toEqual({
      request: { id: 'alpha', requestType: 'SERVICE', instances: 2 },
      state: 'ACTIVE',
      requestDeployState: {
        requestId: 'alpha',
        activeDeploy: { requestId: 'alpha', deployId: 'd1', timestamp: expect.any(Number) },
      },
    });
    const [without] = await room.list('/api/requests/paused');
    expect(Object.keys(without!)).toEqual(['request', 'state']);
  });

  test('add tasks and expiring actions when asked, in the order of the last event then', async () => {
    const parents = await room.list('/api/requests?includeFullRequestData=true');
    const alpha = parents.find(({ request }) => request.id === 'alpha')!;
    expect(Object.keys(alpha).sort()).toEqual(['request', 'requestDeployState', 'state', 'taskIds']);
    expect(alpha.taskIds.notYetHealthy).toHaveLength(2);
    expect(ids(parents)).toEqual(['cron', 'alpha', 'deleting', 'unpausing', 'finished', 'cool', 'paused', 'Beta']);
  });

  test.each([
    ['limit=abc', 'limit'],
    ['limit=-1', 'limit'],
    ['useWebCache=banana', 'useWebCache'],
    ['requestType=FOO', 'requestType'],
  ])('%s is 400', async (query, field) => {
    expect(await room.call('GET', `/api/requests?${query}`)).toRefuse(400, 'INVALID_REQUEST', { field });
  });

  test('`property` selects members', async () => {
    const { body } = await room.call('GET', '/api/requests/paused?property=request.id');
    expect(body).toEqual([{ request: { id: 'paused' } }]);
  });
});

describe('ids', () => {
  test.each([
    ['/api/requests/ids', ['Beta', 'alpha', 'cool', 'cron', 'deleting', 'finished', 'paused', 'unpausing']],
    ['/api/requests/ids?requestIdLike=C', ['cool', 'cron']],
    ['/api/requests/ids?requestIdLike=b', ['Beta']],
    ['/api/requests/ids?requestIdLike=%25', []],
    [
      '/api/requests/ids?requestIdLike=',
      ['Beta', 'alpha', 'cool', 'cron', 'deleting', 'finished', 'paused', 'unpausing'],
    ],
    ['/api/requests/ids?state=PAUSED&state=system-cooldown', ['cool', 'paused']],
    ['/api/requests/ids/active?useWebCache=true', ['Beta', 'alpha', 'cron', 'unpausing']],
  ])('%s', async (path, expected) => {
    const { body } = await room.call('GET', path);
    expect([...(body as unknown as string[])].sort()).toEqual(expected);
  });
});

describe('one', () => {
  test('is shown with everything around it', async () => {
    const { status, body } = await room.call('GET', '/api/requests/request/alpha?useWebCache=true');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      request: { id: 'alpha' },
      state: 'ACTIVE',
      requestDeployState: { requestId: 'alpha', activeDeploy: { deployId: 'd1' } },
      activeDeploy: { requestId: 'alpha', id: 'd1', command: 'sleep 100' },
    });
    expect(body.taskIds.notYetHealthy.map((task) => task.instanceNo)).toEqual([1, 2]);
    expect(Object.keys(body)).not.toContain('pendingDeploy');
  });

  test('shows its deploy in progress', async () => {
    await room.request('deploying');
    await room.deploy('deploying', 'old');
    await room.deploy('deploying', 'new');
    await room.sql(`UPDATE request SET active_deploy_id = 'old', pending_deploy_id = 'new' WHERE id = 'deploying'`);
    await room.sql(
      `INSERT INTO pending_deploy (request_id, deploy_id, state, progress) VALUES ('deploying', 'new', 'WAITING', '{"targetActiveInstances": 1}')`,
    );
    const { body } = await room.call('GET', '/api/requests/request/deploying');
    expect(body).toMatchObject({
      activeDeploy: { id: 'old' },
      pendingDeploy: { id: 'new' },
      pendingDeployState: {
        deployMarker: { deployId: 'new' },
        currentDeployState: 'WAITING',
        deployProgress: { targetActiveInstances: 1 },
      },
    });
  });

  test('is shown without what is around it', async () => {
    const { body } = await room.call('GET', '/api/requests/request/paused/simple');
    expect(body).toEqual({
      request: { id: 'paused', requestType: 'SERVICE' },
      state: 'PAUSED',
      timestamp: expect.any(Number),
    });
  });

  test.each(['/api/requests/request/nope', '/api/requests/request/nope/simple', '/api/requests/request/nope/run/r1'])(
    '%s is 404 and names the id',
    async (path) => {
      const { status, body } = await room.call('GET', path);
      expect([status, body.status]).toEqual([404, 404]);
      expect(body.message).toContain('nope');
    },
  );

  test.each(['/api/requests/request/', '/api/requests/request/a%00b'])(
    '%s is an error in the common shape',
    async (path) => {
      const { status, body } = await room.call('GET', path);
      expect(status).toBeGreaterThanOrEqual(400);
      expect(status).toBeLessThan(500);
      expect(Object.keys(body).sort()).toEqual(['code', 'errors', 'message', 'requestId', 'status']);
    },
  );
});

test('lists say when requests run next where that is asked for, of so many as can be worked out at once', async () => {
  const listed = await room.list('/api/requests?nextRuns=true&limit=100&property=request.id&property=nextRuns');
  expect(listed.find(({ request }) => request.id === 'cron')?.nextRuns).toHaveLength(5);
  expect(listed.find(({ request }) => request.id === 'alpha')).toEqual({ request: { id: 'alpha' } });
  for (const parent of await room.list('/api/requests?limit=100')) expect(parent).not.toHaveProperty('nextRuns');
  for (const limit of ['', '&limit=101']) {
    const answer = await room.call('GET', `/api/requests?nextRuns=true${limit}`);
    expect(answer).toRefuse(400, 'INVALID_REQUEST', { message: 'nextRuns needs a limit of at most 100' });
  }
});

test('a batch tells which ids there are and which not', async () => {
  const { body } = await room.call('GET', '/api/requests/batch?id=alpha&id=nope&id=cron&id=nope');
  expect(ids(body.requests)).toEqual(['alpha', 'cron']);
  expect(body.requests[0]?.activeDeploy?.id).toBe('d1');
  expect(body.requests[1]?.nextRuns).toHaveLength(5);
  expect(body.notFound).toEqual(['nope']);
  expect((await room.call('GET', '/api/requests/batch')).body).toEqual({ requests: [], notFound: [] });
});
