import { describe, expect, test } from 'vitest';
import type { Request, RequestParent } from '../../../src/core/model/request.js';
import { ann, asBob, asNobody } from '../people.js';
import { noTasks, type Scene } from '../scene.js';

/** Every member that a long-running request can have. */
const fullService = {
  id: 'full',
  requestType: 'SERVICE',
  owners: ['ann@example.com'],
  instances: 2,
  rackSensitive: true,
  loadBalanced: false,
  rackAffinity: ['rack1'],
  slavePlacement: 'OPTIMISTIC',
  requiredSlaveAttributes: { disk: 'ssd' },
  allowedSlaveAttributes: { gpu: 'yes' },
  slaveAttributeMinimums: { zone: { a: 50 } },
  group: 'web',
  readWriteGroups: ['editors'],
  readOnlyGroups: ['readers'],
  bounceAfterScale: true,
  skipHealthchecks: true,
  emailConfigurationOverrides: { TASK_LOST: ['ADMINS'] },
  taskLogErrorRegex: 'ERROR',
  taskLogErrorRegexCaseSensitive: true,
  taskPriorityLevel: 0.5,
  maxTasksPerOffer: 3,
  allowBounceToSameHost: true,
  requiredRole: '*',
  dataCenter: 'here',
  hideEvenNumberAcrossRacksHint: true,
} satisfies Request;

/** And every further one that a job can have. */
const fullJob = {
  id: 'full-job',
  requestType: 'SCHEDULED',
  schedule: '*/5 * * * *',
  scheduleType: 'CRON',
  scheduleTimeZone: 'Europe/Berlin',
  instances: 1,
  numRetriesOnFailure: 2,
  killOldNonLongRunningTasksAfterMillis: 1_000,
  taskExecutionTimeLimitMillis: 2_000,
  scheduledExpectedRuntimeMillis: 3_000,
  waitAtLeastMillisAfterTaskFinishesForReschedule: 4_000,
} satisfies Request;

export function saving(scene: Scene): void {
  const { operations } = scene;

  describe('POST /api/requests', () => {
    test('answers the new request with every member as it was sent, and it is read back so', async () => {
      const created = await operations.call('POST /api/requests', 200, { body: fullService });
      expect(created).toEqual({ request: fullService, state: 'ACTIVE', taskIds: noTasks });
      expect(await scene.one('full')).toEqual(created);
      expect(await scene.lastEvent('full')).toMatchObject({ eventType: 'CREATED', user: ann.email });
    });

    test('adds the Quartz expression of a cron schedule to a job', async () => {
      const { request } = await operations.call<RequestParent>('POST /api/requests', 200, { body: fullJob });
      expect(request).toEqual({ ...fullJob, quartzSchedule: '0 */5 * * * ?' });
    });

    test('replaces a request as a whole: members that are left out are cleared', async () => {
      await scene.request({ id: 'replaced', instances: 2, dataCenter: 'here' });
      const { request } = await scene.request({ id: 'replaced', owners: ['bob@example.com'] });
      expect(request).toEqual({ id: 'replaced', requestType: 'SERVICE', owners: ['bob@example.com'] });
      expect(await scene.lastEvent('replaced')).toMatchObject({ eventType: 'UPDATED', request });
    });

    test('reads the older members daemon and hideEvenNumberAcrossRacks', async () => {
      const body = { id: 'older', daemon: false, hideEvenNumberAcrossRacks: true };
      const { request } = await operations.call<RequestParent>('POST /api/requests', 200, { body });
      expect(request).toEqual({ id: 'older', requestType: 'ON_DEMAND', hideEvenNumberAcrossRacksHint: true });
    });

    test.each([
      [{ requestType: 'SERVICE' }, 'id'],
      [{ id: 'a b' }, 'id'],
      [{ id: 'x'.repeat(101) }, 'id'],
      [{ id: 'ids' }, 'id'],
      [{ id: 7 }, 'id'],
      [{ id: 'r', requestType: undefined }, 'requestType'],
      [{ id: 'r', requestType: 'service!' }, 'requestType'],
      [{ id: 'r', owners: 'me' }, 'owners'],
      [{ id: 'r', instances: 0 }, 'instances'],
      [{ id: 'r', instances: 26 }, 'instances'],
      [{ id: 'r', instances: 1.5 }, 'instances'],
      [{ id: 'r', instances: '2' }, 'instances'],
      [{ id: 'r', taskPriorityLevel: 1.1 }, 'taskPriorityLevel'],
      [{ id: 'r', maxTasksPerOffer: 0 }, 'maxTasksPerOffer'],
      [{ id: 'r', slavePlacement: 'ANYWHERE' }, 'slavePlacement'],
      [{ id: 'r', slavePlacement: 'SEPARATE', instances: 2 }, 'instances'],
      [{ id: 'r', schedule: '* * * * *' }, 'schedule'],
      [{ id: 'r', numRetriesOnFailure: 1 }, 'numRetriesOnFailure'],
      [{ id: 'r', taskExecutionTimeLimitMillis: 1 }, 'taskExecutionTimeLimitMillis'],
      [{ id: 'r', requestType: 'ON_DEMAND', loadBalanced: true }, 'loadBalanced'],
      [{ id: 'r', requestType: 'RUN_ONCE', rackSensitive: true }, 'rackSensitive'],
      [{ id: 'r', requestType: 'SCHEDULED' }, 'schedule'],
      [{ id: 'r', requestType: 'SCHEDULED', schedule: '* * *' }, 'schedule'],
      [{ id: 'r', requestType: 'SCHEDULED', schedule: 'x', scheduleType: 'RFC5545' }, 'schedule'],
      [{ id: 'r', requestType: 'SCHEDULED', schedule: '* * * * *', instances: 2 }, 'instances'],
      [{ id: 'r', requestType: 'SCHEDULED', schedule: '* * * * *', scheduleTimeZone: 'Moon' }, 'scheduleTimeZone'],
    ])('refuses %j and names the field %s', async (changes, field) => {
      const body = { requestType: 'SERVICE', ...changes };
      const refusal = await scene.refuses('POST /api/requests', 400, { body });
      expect(refusal.errors.map((error) => error.field)).toContain(field);
      expect(refusal.errors.every(({ rule }) => rule !== '')).toBe(true);
      expect(refusal.message).toContain(field);
    });

    test('refuses another type, and another answer to whether it is load balanced', async () => {
      await scene.request({ id: 'kept' });
      const body = { id: 'kept', requestType: 'ON_DEMAND' };
      expect((await scene.refuses('POST /api/requests', 400, { body })).message).toContain('requestType');
      const balanced = { id: 'kept', requestType: 'SERVICE', loadBalanced: true };
      expect((await scene.refuses('POST /api/requests', 400, { body: balanced })).message).toContain('loadBalanced');
      expect((await scene.one('kept')).request).toEqual({ id: 'kept', requestType: 'SERVICE' });
    });
  });

  describe('DELETE /api/requests/request/{requestId}', () => {
    test('ends the tasks and then the request; until it is gone it can be neither changed nor paused', async () => {
      await scene.slowToEnd({ id: 'going' }, 30);
      const params = { requestId: 'going' };
      const body = { message: 'not needed', actionId: 'mine', deleteFromLoadBalancer: true };
      const deleted = await operations.call('DELETE /api/requests/request/{requestId}', 200, { params, body });
      expect(deleted).toEqual({ id: 'going', requestType: 'SERVICE' });
      expect((await scene.one('going')).state).toBe('DELETING');
      expect(await operations.call('GET /api/requests/queued/cleanup', 200)).toContainEqual({
        requestId: 'going',
        cleanupType: 'DELETING',
        user: ann.email,
        timestamp: expect.any(Number),
        removeFromLoadBalancer: true,
        killTasks: true,
        message: 'not needed',
        actionId: 'mine',
      });
      const update = { body: { id: 'going', requestType: 'SERVICE', instances: 2 } };
      expect((await scene.refuses('POST /api/requests', 409, update)).code).toBe('REQUEST_BEING_CLEANED');
      const paused = await scene.refuses('POST /api/requests/request/{requestId}/pause', 409, { params });
      expect(paused.code).toBe('REQUEST_BEING_CLEANED');
      expect(await scene.lastEvent('going')).toMatchObject({ eventType: 'DELETING', message: 'not needed' });
    });

    test('needs no body, and of an unknown request is 404', async () => {
      await scene.request({ id: 'gone' });
      const params = { requestId: 'gone' };
      await operations.call('DELETE /api/requests/request/{requestId}', 200, { params });
      await scene.untilGone('gone');
      await scene.refuses('DELETE /api/requests/request/{requestId}', 404, { params });
      expect(await scene.lastEvent('gone')).toMatchObject({ eventType: 'DELETED', user: ann.email });
    });

    test('refuses a member of another type', async () => {
      await scene.request({ id: 'stays' });
      const body = { deleteFromLoadBalancer: 'maybe' };
      const input = { params: { requestId: 'stays' }, body };
      const { errors } = await scene.refuses('DELETE /api/requests/request/{requestId}', 400, input);
      expect(errors).toMatchObject([{ field: 'deleteFromLoadBalancer' }]);
      expect((await scene.one('stays')).state).toBe('ACTIVE');
    });
  });

  describe('POST /api/requests/request/{requestId}/groups', () => {
    const path = 'POST /api/requests/request/{requestId}/groups';
    const groups = { group: 'db', readWriteGroups: ['editors'], readOnlyGroups: ['readers'] };

    test('replaces all three settings', async () => {
      await scene.request({ id: 'regrouped', group: 'web', readOnlyGroups: ['all'] });
      const params = { requestId: 'regrouped' };
      const body = { ...groups, message: 'moved' };
      const { request } = await operations.call<RequestParent>(path, 200, { params, body });
      expect(request).toEqual({ id: 'regrouped', requestType: 'SERVICE', ...groups });
      expect((await scene.one('regrouped')).request).toEqual(request);
      const event = { eventType: 'UPDATED', user: ann.email, message: 'moved' };
      expect(await scene.lastEvent('regrouped')).toMatchObject(event);
      const { request: cleared } = await operations.call<RequestParent>(path, 200, { params, body: { group: null } });
      const none = { readWriteGroups: [], readOnlyGroups: [] };
      expect(cleared).toEqual({ id: 'regrouped', requestType: 'SERVICE', ...none });
    });

    test('is 401 for who may not hand it on, 400 for groups that are none, 404 without a request', async () => {
      await scene.request({ id: 'guarded', group: 'web' });
      const params = { requestId: 'guarded' };
      await scene.refuses(path, 401, { params, body: groups, headers: asBob });
      await scene.refuses(path, 401, { params, body: groups, headers: asNobody });
      const refusal = await scene.refuses(path, 400, { params, body: { readOnlyGroups: 'all' } });
      expect(refusal.errors).toMatchObject([{ field: 'readOnlyGroups' }]);
      await scene.refuses(path, 400, { params });
      await scene.refuses(path, 404, { params: { requestId: 'nowhere' }, body: groups });
      expect((await scene.one('guarded')).request.group).toBe('web');
    });

    test('auth-check says the same beforehand and changes nothing; the request need not exist', async () => {
      const check = 'POST /api/requests/request/{requestId}/groups/auth-check';
      await scene.request({ id: 'asked-about', group: 'web' });
      const params = { requestId: 'asked-about' };
      expect(await operations.call(check, 200, { params, body: groups })).toBeUndefined();
      await scene.refuses(check, 401, { params, body: groups, headers: asBob });
      await operations.call(check, 200, { params, body: { group: 'web', readOnlyGroups: ['all'] }, headers: asBob });
      expect((await scene.refuses(check, 400, { params, body: { group: 5 } })).errors).toMatchObject([
        { field: 'group' },
      ]);
      await scene.refuses(check, 400, { params });
      expect((await scene.one('asked-about')).request).toEqual({
        id: 'asked-about',
        requestType: 'SERVICE',
        group: 'web',
      });
      const unknown = { requestId: 'nowhere' };
      await operations.call(check, 200, { params: unknown, body: { group: 'web' }, headers: asBob });
      await scene.refuses(check, 401, { params: unknown, body: { group: 'db' }, headers: asBob });
    });
  });
}
