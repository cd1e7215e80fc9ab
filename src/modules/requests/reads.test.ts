import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { builtInCaller } from '../../platform/http/caller.js';
import { RequestLists } from './request-lists.service.js';
import { type Body, openRequestsRoom, type RequestsRoom } from '../../../test/support/requests-room.js';

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

  test('are kept until a request changes, whatever else is committed', async () => {
    const lists = room.app.get(RequestLists);
    const list = () => lists.list({}, builtInCaller);
    const first = await list();
    await room.sql(`COMMENT ON TABLE request IS 'Requests'`);
    expect(await list()).toBe(first);
    await room.sql(`UPDATE request SET version = version WHERE id = 'cool'`);
    const second = await list();
    expect(second).not.toBe(first);
    expect(second).toEqual(first);
    await room.request('comes-and-goes');
    expect(ids(await list())).toContain('comes-and-goes');
    await room.sql(`DELETE FROM request WHERE id = 'comes-and-goes'`);
    expect(await list()).toEqual(first);
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
    expect(await room.call('GET', `/api/requests?${query}`)).toRefuse(400, 'INVALID_PARAMETER', { field });
  });

  test('`property` selects members', async () => {
    const { body } = await room.call('GET', '/api/requests/paused?property=request.id');
    expect(body).toEqual([{ request: { id: 'paused' } }]);
  });
});

/** All pages of a list, from one to the next as the answers say. */
async function pagesOf(path: string, between?: (page: number) => Promise<unknown>): Promise<unknown[][]> {
  const pages: unknown[][] = [];
  for (let cursor: string | null = '*'; cursor !== null;) {
    const answer: Response = await fetch(`${room.url}${path}${path.includes('?') ? '&' : '?'}cursor=${cursor}`);
    expect([path, answer.status]).toEqual([path, 200]);
    pages.push((await answer.json()) as unknown[]);
    cursor = answer.headers.get('x-next-cursor');
    await between?.(pages.length);
  }
  return pages;
}

describe('pages', () => {
  const all = ['Beta', 'alpha', 'cool', 'cron', 'deleting', 'finished', 'paused', 'unpausing'];
  test.each([
    ['/api/requests?limit=3', [all.slice(0, 3), all.slice(3, 6), all.slice(6)]],
    ['/api/requests?limit=4', [all.slice(0, 4), all.slice(4)]],
    ['/api/requests', [all]],
    ['/api/requests?limit=2&requestType=SCHEDULED', [['cron', 'finished']]],
    ['/api/requests?limit=1&includeFullRequestData=true&filterRelevantForUser=true', all.map((id) => [id])],
    [
      '/api/requests/active?limit=2',
      [
        ['Beta', 'alpha'],
        ['cron', 'unpausing'],
      ],
    ],
    ['/api/requests/paused?limit=1', [['paused']]],
    ['/api/requests/cooldown?limit=1', [['cool']]],
    ['/api/requests/finished?limit=1', [['finished']]],
  ])('%s', async (path, expected) => {
    expect((await pagesOf(path)).map((page) => ids(page as Body[]))).toEqual(expected);
  });

  test.each([
    ['/api/requests/ids?limit=5', [all.slice(0, 5), all.slice(5)]],
    ['/api/requests/ids?limit=1&requestIdLike=C', [['cool'], ['cron']]],
    ['/api/requests/ids?limit=9&state=PAUSED', [['paused']]],
    ['/api/requests/ids/active?limit=3', [['Beta', 'alpha', 'cron'], ['unpausing']]],
  ])('%s', async (path, expected) => {
    expect(await pagesOf(path)).toEqual(expected);
  });

  test.each(['', '&includeFullRequestData=true', '&nextRuns=true'])(
    'show what the whole list shows of each request%s',
    async (more) => {
      const whole = await room.list(`/api/requests?limit=100${more}`);
      const paged = (await pagesOf(`/api/requests?limit=3${more}`)).flat() as Body[];
      expect(paged).toEqual(all.map((id) => whole.find(({ request }) => request.id === id)));
      expect(paged.map((entry) => Object.keys(entry))).toEqual(
        all.map((id) => Object.keys(whole.find(({ request }) => request.id === id)!)),
      );
    },
  );

  test('tell when each request runs next', async () => {
    const [page] = (await pagesOf('/api/requests?limit=100&nextRuns=true')) as Body[][];
    const planned = page!.filter(({ nextRuns }) => nextRuns !== undefined);
    expect([ids(planned), planned[0]!.nextRuns.length]).toEqual([['cron'], 5]);
  });

  test.each(['', '&limit=101'])('of more than 100 do not tell it: 400%s', async (limit) => {
    const { status, body } = await room.call('GET', `/api/requests?cursor=*&nextRuns=true${limit}`);
    expect([status, body.errors[0]]).toMatchObject([400, { field: 'limit', rule: 'maximum' }]);
  });

  test.each(['/api/requests', '/api/requests/finished', '/api/requests/ids', '/api/requests/ids/active'])(
    '%s is 400 for a cursor that is none',
    async (path) => {
      for (const cursor of ['abc', '%00', 'AA', '**']) {
        const { status, body } = await room.call('GET', `${path}?limit=1&cursor=${cursor}`);
        expect([cursor, status, body.errors[0]?.field]).toEqual([cursor, 400, 'cursor']);
      }
    },
  );

  test('have what stays once, whatever comes and goes between them', async () => {
    const stays = Array.from({ length: 9 }, (_, number) => `page-${number}-stays`);
    for (const id of stays) await room.request(id);
    await room.request('page-1-goes');
    const pages = await pagesOf('/api/requests?limit=2', async (page) => {
      await room.sql('DELETE FROM request WHERE id = ANY ($1)', [['page-1-goes', `page-${page - 1}-comes`]]);
      await room.request(`page-${page}-comes`);
      await room.request(`a-${page}`);
    });
    const seen = ids(pages.flat() as Body[]);
    expect(seen).toEqual([...new Set(seen)]);
    expect(seen).toEqual(expect.arrayContaining([...all, ...stays]));
    await room.sql(`DELETE FROM request WHERE id ~ '^(page|a)-'`);
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
    expect(answer).toRefuse(400, 'INVALID_PARAMETER', { message: 'nextRuns needs a limit of at most 100' });
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
