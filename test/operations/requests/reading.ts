import { describe, expect, test } from 'vitest';
import type { CrashLoopInfo } from '../../../src/core/model/crash-loop.js';
import type { RequestBatch, RequestParent, RequestWithState } from '../../../src/core/model/request.js';
import { waitFor } from '../../support/wait-for.js';
import type { Balancer } from '../../support/load-balancer/balancer.js';
import { asBob } from '../people.js';
import { noTasks, type Scene } from '../scene.js';
import type { OperationName } from '../ledger.js';

const unknown = { requestId: 'nowhere' };

/** `balancer` is the load balancer of the product. */
export function reading(scene: Scene, balancer: Balancer): void {
  const { operations } = scene;
  /** Ids among the listed requests that begin so. */
  const listed = async (operation: OperationName, prefix: string, input: object = {}): Promise<string[]> => {
    const parents = await operations.call<RequestParent[]>(operation, 200, input);
    return parents.map(({ request }) => request.id).filter((id) => id.startsWith(prefix));
  };

  describe('one request', () => {
    test('is shown with its deploys and tasks, and without them', async () => {
      const [task] = await scene.running({ id: 'looked-at', instances: 1 });
      const input = { params: { requestId: 'looked-at' }, query: { useWebCache: true } };
      const parent = await operations.call<RequestParent>('GET /api/requests/request/{requestId}', 200, input);
      expect(parent).toMatchObject({
        request: { id: 'looked-at', requestType: 'SERVICE', instances: 1 },
        state: 'ACTIVE',
        requestDeployState: { requestId: 'looked-at', activeDeploy: { requestId: 'looked-at', deployId: 'v1' } },
        activeDeploy: { requestId: 'looked-at', id: 'v1', command: 'sleep 1000' },
        taskIds: { ...noTasks, healthy: [task!.taskId] },
      });
      const simple = 'GET /api/requests/request/{requestId}/simple';
      const { request, state } = parent;
      expect(await operations.call<RequestWithState>(simple, 200, input)).toEqual({
        request,
        state,
        timestamp: expect.any(Number),
      });
      for (const operation of ['GET /api/requests/request/{requestId}', simple] as const) {
        const refusal = await scene.refuses(operation, 404, { params: unknown });
        expect([refusal.code, refusal.message]).toEqual(['REQUEST_NOT_FOUND', `No request with id 'nowhere'`]);
        const query = { useWebCache: 'banana' };
        expect((await scene.refuses(operation, 400, { ...input, query })).message).toContain('useWebCache');
      }
    });

    test('of another group is not shown: 403', async () => {
      await scene.request({ id: 'private', group: 'db' });
      const input = { params: { requestId: 'private' }, headers: asBob };
      await scene.refuses('GET /api/requests/request/{requestId}', 403, input);
      const batch = { query: { id: ['private'] }, headers: asBob };
      expect(await operations.call('GET /api/requests/batch', 200, batch)).toEqual({
        requests: [],
        notFound: ['private'],
      });
    });
  });

  test('runs of schedules are told ahead; bounds that are none are 400, an unknown request 404', async () => {
    await scene.request({ id: 'planned', requestType: 'SCHEDULED', schedule: '0 0 1 1 *' });
    await scene.deploy('planned', { command: 'true' });
    await scene.until('planned', 'its deploy', ({ activeDeploy }) => activeDeploy !== undefined);
    const upcoming = 'GET /api/schedules/upcoming';
    const query = { requestId: 'planned', from: '2030-01-01', to: '2030-01-02', limit: 10 };
    expect(await operations.call(upcoming, 200, { query })).toEqual({
      from: Date.UTC(2030, 0, 1),
      to: Date.UTC(2030, 0, 2),
      runs: [{ requestId: 'planned', at: Date.UTC(2030, 0, 1), timeZone: 'UTC' }],
      isComplete: true,
    });
    expect((await scene.refuses(upcoming, 400, { query: { limit: 10_001 } })).message).toContain('limit');
    await scene.refuses(upcoming, 404, { query: unknown });
  });

  test('planned times of the past are run, shown and canceled; a second backfill of them is 400, of a paused job 409', async () => {
    const create = 'POST /api/requests/request/{requestId}/backfill';
    const one = '/api/requests/request/{requestId}/backfill/{backfillId}';
    const params = { requestId: 'nightly' };
    await scene.request({ id: 'nightly', requestType: 'SCHEDULED', schedule: '0 0 1 1 *' });
    await scene.deploy('nightly', { command: 'sleep 600' });
    await scene.until('nightly', 'its deploy', ({ activeDeploy }) => activeDeploy !== undefined);
    const body = { from: Date.UTC(2020, 0, 1), to: Date.UTC(2023, 0, 1) };
    const plan = 'POST /api/requests/request/{requestId}/backfill/plan';
    const last = Date.UTC(2022, 0, 1);
    expect(await operations.call(plan, 200, { params, body })).toEqual({ runs: 3, skipped: 0, first: body.from, last });
    const { id } = await operations.call<{ id: string }>(create, 200, { params, body });
    expect(await operations.call(plan, 200, { params, body })).toEqual({ runs: 0, skipped: 3 });
    await scene.refuses(plan, 400, { params, body: { from: 1, to: 1 } });
    await scene.refuses(plan, 404, { params: unknown, body });
    expect(await operations.call('GET /api/requests/request/{requestId}/backfills', 200, { params })).toMatchObject([
      { id, queued: 1, waiting: 2 },
    ]);
    expect((await scene.refuses(create, 400, { params, body })).message).toContain('force');
    expect(await operations.call(`GET ${one}` as const, 200, { params: { ...params, backfillId: id } })).toMatchObject({
      times: [{ scheduledAt: body.from, runId: `${id}-${body.from}` }, {}, {}],
    });
    const canceled = await operations.call(`DELETE ${one}` as const, 200, { params: { ...params, backfillId: id } });
    expect(canceled).toMatchObject({ waiting: 0 });
    await scene.refuses(create, 404, { params: unknown, body });
    await operations.call('POST /api/requests/request/{requestId}/pause', 200, { params, body: { killTasks: true } });
    await scene.refuses(create, 409, { params, body });
  });

  test('the times of a schedule are told before a request has it; what cannot be read is 400', async () => {
    const preview = 'POST /api/schedules/preview';
    const body = { schedule: '0 0 1 1 *', after: Date.UTC(2029, 11, 31), count: 1 };
    expect(await operations.call(preview, 200, { body })).toEqual({
      times: [
        {
          at: Date.UTC(2030, 0, 1),
          utc: '2030-01-01T00:00:00.000Z',
          local: '2030-01-01T00:00:00+00:00',
          timeZone: 'UTC',
        },
      ],
      end: 'COUNT',
      quartzSchedule: '0 0 0 1 1 ?',
    });
    expect((await scene.refuses(preview, 400, { body: { schedule: '61 * * * *' } })).message).toContain('schedule');
  });

  describe('lists', () => {
    const deploy = (id: string) => scene.deploy(id);

    test('have those first that were deployed last, cut off at the limit, of the wanted types', async () => {
      await scene.request({ id: 'list-1' });
      await scene.request({ id: 'list-2', requestType: 'WORKER' });
      await scene.request({ id: 'list-3', requestType: 'ON_DEMAND' });
      for (const id of ['list-2', 'list-1', 'list-3']) await deploy(id);
      const all = 'GET /api/requests';
      expect(await listed(all, 'list-', { query: { useWebCache: true } })).toEqual(['list-3', 'list-1', 'list-2']);
      const query = { requestType: ['worker', 'SERVICE'] };
      expect(await listed(all, 'list-', { query })).toEqual(['list-1', 'list-2']);
      expect(await operations.call(all, 200, { query: { limit: 2 } })).toHaveLength(2);
      for (const [name, value] of [
        ['limit', 'abc'],
        ['limit', -1],
        ['requestType', 'DAEMON'],
      ] as const) {
        expect((await scene.refuses(all, 400, { query: { [name]: value } })).message).toContain(name);
      }
    });

    test('say more of each when they are asked to', async () => {
      await scene.request({ id: 'detailed' });
      const params = { requestId: 'detailed' };
      const body = { instances: 2, durationMillis: 600_000 };
      await operations.call('PUT /api/requests/request/{requestId}/scale', 200, { params, body });
      const one = async (query: object) => {
        const input = { query: { requestType: 'SERVICE', ...query } };
        const found = await operations.call<RequestParent[]>('GET /api/requests', 200, input);
        return found.find(({ request }) => request.id === 'detailed')!;
      };
      const { request, state, expiringScale, taskIds } = await scene.one('detailed');
      expect(await one({})).toEqual({ request, state });
      expect(await one({ includeFullRequestData: true })).toEqual({ request, state, expiringScale, taskIds });
    });

    test('are by state: active, paused, finished, and so are ids', async () => {
      await scene.request({ id: 'state-active' });
      await scene.request({ id: 'state-paused' });
      const params = { requestId: 'state-paused' };
      await operations.call('POST /api/requests/request/{requestId}/pause', 200, { params });
      const soon = new Date(Date.now() + 3_000).toISOString().replaceAll(/[-:]|\..*/g, '');
      const schedule = `DTSTART=${soon} RRULE:FREQ=DAILY;COUNT=1`;
      await scene.request({ id: 'state-finished', requestType: 'SCHEDULED', scheduleType: 'RFC5545', schedule });
      await scene.deploy('state-finished', { command: 'true' });
      await scene.until('state-finished', 'to finish', ({ state }) => state === 'FINISHED');
      const filters = { useWebCache: false, filterRelevantForUser: false, includeFullRequestData: true, limit: 900 };
      for (const [word, requestType] of [
        ['active', 'SERVICE'],
        ['paused', 'SERVICE'],
        ['finished', 'SCHEDULED'],
      ] as const) {
        const query = { ...filters, requestType };
        expect(await listed(`GET /api/requests/${word}`, 'state-', { query })).toEqual([`state-${word}`]);
        expect(await listed(`GET /api/requests/${word}`, '', { query: { requestType: 'RUN_ONCE' } })).toEqual([]);
      }
      const ids = (query: Record<string, string | string[]>) =>
        operations.call('GET /api/requests/ids', 200, { query: { useWebCache: 'true', ...query } });
      const prefix = { requestIdLike: 'STATE-' };
      expect(await ids(prefix)).toEqual(['state-active', 'state-finished', 'state-paused']);
      expect(await ids({ ...prefix, state: ['paused', 'FINISHED'] })).toEqual(['state-finished', 'state-paused']);
      expect((await scene.refuses('GET /api/requests/ids', 400, { query: { state: 'ASLEEP' } })).message).toContain(
        'state',
      );
      const active = await operations.call<string[]>('GET /api/requests/ids/active', 200, {
        query: { useWebCache: true },
      });
      expect(active.filter((id) => id.startsWith('state-'))).toEqual(['state-active']);
    });

    test('show callers what they may read, and on demand only what concerns them', async () => {
      for (const [id, group] of [
        ['whose-bob', 'web'],
        ['whose-ann', 'db'],
        ['whose-all', undefined],
      ] as const) {
        await scene.request({ id, group });
      }
      const mine = { headers: asBob };
      const readable = ['whose-all', 'whose-bob'];
      expect((await listed('GET /api/requests', 'whose-', mine)).toSorted()).toEqual(readable);
      const ids = { ...mine, query: { requestIdLike: 'whose-' } };
      expect(await operations.call('GET /api/requests/ids', 200, ids)).toEqual(readable);
      const query = { filterRelevantForUser: true };
      expect(await listed('GET /api/requests', 'whose-', { ...mine, query })).toEqual(['whose-bob']);
      const headers = asBob;
      const body = { starredRequestIds: ['whose-all'] };
      await operations.call('POST /api/users/settings/starred-requests', 204, { headers, body });
      // What a caller cares for comes first.
      expect(await listed('GET /api/requests', 'whose-', { ...mine, query })).toEqual(['whose-all', 'whose-bob']);
    });
  });

  test('several requests are read at once; those that are not there are named', async () => {
    await scene.request({ id: 'batch-1' });
    await scene.request({ id: 'batch-2', instances: 2 });
    const query = { id: ['batch-2', 'nowhere', 'batch-1'] };
    const { requests, notFound } = await operations.call<RequestBatch>('GET /api/requests/batch', 200, { query });
    expect(requests).toEqual([await scene.one('batch-1'), await scene.one('batch-2')]);
    expect(notFound).toEqual(['nowhere']);
    expect(await operations.call('GET /api/requests/batch', 200)).toEqual({ requests: [], notFound: [] });
  });

  test('crash loops are shown by request, newest first', async () => {
    await scene.running({ id: 'looping' });
    const [older, newer] = [Date.now() - 60_000, Date.now() - 30_000];
    const insert = `INSERT INTO crash_loop (request_id, deploy_id, loop_type, started_at, ended_at)
      VALUES ('looping', 'v1', 'OOM', to_timestamp($1 / 1000.0), to_timestamp($2 / 1000.0)),
      ('looping', 'v1', 'SLOW_FAILURES', to_timestamp($2 / 1000.0), NULL)`;
    await operations.sql(insert, [older, newer]);
    const path = 'GET /api/requests/request/{requestId}/crashloops';
    const loops = await operations.call<CrashLoopInfo[]>(path, 200, { params: { requestId: 'looping' } });
    const known = { requestId: 'looping', deployId: 'v1' };
    expect(loops).toEqual([
      { ...known, type: 'SLOW_FAILURES', start: newer },
      { ...known, type: 'OOM', start: older, end: newer },
    ]);
    const all = await operations.call<Record<string, CrashLoopInfo[]>>('GET /api/requests/crashloops', 200);
    expect(all['looping']).toEqual(loops);
    await scene.refuses(path, 404, { params: unknown });
  });

  test('a deleted request whose service is still in the load balancer is listed', async () => {
    balancer.script = ({ action }) => (action === 'DELETE' ? 'WAITING' : undefined);
    const groups = { serviceBasePath: '/balanced', loadBalancerGroups: ['web'] };
    const resources = { cpus: 0.1, memoryMb: 16, numPorts: 1 };
    await scene.running({ id: 'balanced', loadBalanced: true }, { ...groups, resources });
    const params = { requestId: 'balanced' };
    const body = { deleteFromLoadBalancer: true };
    await operations.call('DELETE /api/requests/request/{requestId}', 200, { params, body });
    await scene.untilGone('balanced');
    const list = 'GET /api/requests/lbcleanup';
    expect(await operations.call(list, 200, { query: { useWebCache: true } })).toEqual(['balanced']);
    const asked = await waitFor('the load balancer to be asked', () =>
      balancer.received.find(({ action }) => action === 'DELETE'),
    );
    await balancer.settle(asked.loadBalancerRequestId, 'SUCCESS');
    await waitFor('the list to be empty', async () => (await operations.call<string[]>(list, 200)).length === 0);
  });
}
