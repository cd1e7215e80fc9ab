import { describe, expect, test } from 'vitest';
import type { RequestParent } from '../../../src/core/model/request.js';
import { ann } from '../people.js';
import type { Scene } from '../scene.js';

const scale = 'PUT /api/requests/request/{requestId}/scale';
const keepScale = 'DELETE /api/requests/request/{requestId}/scale';
const bounce = 'POST /api/requests/request/{requestId}/bounce';
const keepBounce = 'DELETE /api/requests/request/{requestId}/bounce';
const unknown = { requestId: 'nowhere' };

export function scaling(scene: Scene): void {
  const { operations } = scene;

  describe('a scale', () => {
    test('changes the number of tasks for good, and says so in the history', async () => {
      await scene.running({ id: 'grown' });
      const params = { requestId: 'grown' };
      const body = { instances: 2, skipHealthchecks: true, message: 'busy', skipEmailNotification: true };
      const { request, expiringScale } = await operations.call<RequestParent>(scale, 200, { params, body });
      expect([request.instances, expiringScale]).toEqual([2, undefined]);
      await operations.api.running('grown', 2);
      const event = { eventType: 'SCALED', user: ann.email, message: 'busy -- Scaled from 1 to 2' };
      expect(await scene.lastEvent('grown')).toMatchObject(event);
      const back = { params, body: { instances: 1 } };
      expect((await operations.call<RequestParent>(scale, 200, back)).request.instances).toBe(1);
      await operations.api.running('grown', 1);
    });

    test('for a while names what it goes back to, until it is made permanent', async () => {
      await scene.request({ id: 'briefly', instances: 3 });
      const params = { requestId: 'briefly' };
      const body = { instances: 2, durationMillis: 600_000, actionId: 'mine', bounce: false, incremental: false };
      const { expiringScale } = await operations.call<RequestParent>(scale, 200, { params, body });
      expect(expiringScale).toEqual({
        requestId: 'briefly',
        user: ann.email,
        startMillis: expect.any(Number),
        actionId: 'mine',
        expiringAPIRequestObject: body,
        revertToInstances: 3,
        bounce: false,
      });
      expect((await scene.one('briefly')).expiringScale).toEqual(expiringScale);
      const kept = await operations.call<RequestParent>(keepScale, 200, { params });
      expect([kept.request.instances, kept.expiringScale]).toEqual([2, undefined]);
      expect((await scene.refuses(keepScale, 404, { params })).code).toBe('EXPIRING_ACTION_NOT_FOUND');
    });

    test('is taken back after its time', async () => {
      await scene.request({ id: 'shortly' });
      await operations.call(scale, 200, {
        params: { requestId: 'shortly' },
        body: { instances: 2, durationMillis: 500 },
      });
      await scene.until('shortly', 'to have one instance', ({ request }) => request.instances === undefined);
    });

    test('may come with a bounce', async () => {
      const [old] = await scene.running({ id: 'refreshed' });
      const params = { requestId: 'refreshed' };
      const body = { instances: 2, bounce: true, incremental: false, actionId: 'mine' };
      await operations.call(scale, 200, { params, body });
      const tasks = await operations.api.running('refreshed', 2);
      expect(tasks.map(({ taskId }) => taskId.id)).not.toContain(old!.taskId.id);
    });

    test.each([
      [{ instances: 1 }, 'instances'],
      [{ instances: 0 }, 'instances'],
      [{ instances: 26 }, 'instances'],
      [{ instances: '2' }, 'instances'],
      [{ instances: 2, durationMillis: -1 }, 'durationMillis'],
      [{ instances: 2, bounce: 'yes' }, 'bounce'],
    ])('refuses %j and names the field %s', async (body, field) => {
      const params = { requestId: `scale-${JSON.stringify(body).replaceAll(/\W/g, '')}` };
      await scene.request({ id: params.requestId });
      const { errors, message } = await scene.refuses(scale, 400, { params, body });
      expect(errors).toMatchObject([{ field }]);
      expect(message).toContain(field);
      expect((await scene.one(params.requestId)).request.instances).toBeUndefined();
    });

    test('is refused without a body: one instance may not be what was meant', async () => {
      await scene.request({ id: 'no-body', instances: 2 });
      await scene.refuses(scale, 400, { params: { requestId: 'no-body' } });
      expect((await scene.one('no-body')).request.instances).toBe(2);
    });

    test('that ends many tasks at once has to be meant', async () => {
      await scene.request({ id: 'large', instances: 20 });
      const input = { params: { requestId: 'large' }, body: { instances: 2 } };
      expect((await scene.refuses(scale, 400, input)).message).toContain('largeScaleDownAcknowledged');
      await operations.call(scale, 200, { ...input, query: { largeScaleDownAcknowledged: true } });
      expect((await scene.one('large')).request.instances).toBe(2);
    });

    test('of a state that is not there any more, or of no request, is refused', async () => {
      await scene.request({ id: 'changed' });
      const input = { params: { requestId: 'changed' }, body: { instances: 2 }, query: { checkIndex: '77~1~~' } };
      expect((await scene.refuses(scale, 409, input)).code).toBe('CHANGED_MEANWHILE');
      expect((await scene.one('changed')).request.instances).toBeUndefined();
      await scene.refuses(scale, 404, { params: unknown, body: { instances: 2 } });
      await scene.refuses(keepScale, 404, { params: unknown });
    });
  });

  describe('a bounce', () => {
    test('replaces the tasks; meanwhile there is no second one, and its time limit can be taken off', async () => {
      const [old] = await scene.slowToEnd({ id: 'bounced' }, 6);
      const params = { requestId: 'bounced' };
      const body = {
        incremental: true,
        skipHealthchecks: true,
        durationMillis: 600_000,
        actionId: 'mine',
        message: 'a new start',
        runShellCommandBeforeKill: { name: 'look' },
      };
      const { expiringBounce, state } = await operations.call<RequestParent>(bounce, 200, { params, body });
      expect(state).toBe('ACTIVE');
      expect(expiringBounce).toEqual({
        requestId: 'bounced',
        deployId: 'v1',
        user: ann.id,
        startMillis: expect.any(Number),
        actionId: 'mine',
        expiringAPIRequestObject: body,
      });
      expect(await scene.lastEvent('bounced')).toMatchObject({
        eventType: 'BOUNCED',
        user: ann.id,
        message: 'a new start',
      });
      expect((await scene.refuses(bounce, 409, { params })).code).toBe('REQUEST_BOUNCING');
      expect((await operations.call<RequestParent>(keepBounce, 200, { params })).expiringBounce).toBeUndefined();
      await scene.refuses(keepBounce, 404, { params });
      await scene.until('bounced', 'to have another task', ({ taskIds }) =>
        taskIds!.healthy.some(({ id }) => id !== old!.taskId.id),
      );
    });

    test('needs no body, and is over when every task is a new one', async () => {
      const old = await scene.running({ id: 'bounced-at-once', instances: 2 });
      const params = { requestId: 'bounced-at-once' };
      await operations.call(bounce, 200, { params });
      const olds = old.map(({ taskId }) => taskId.id);
      await scene.until('bounced-at-once', 'to be over its bounce', ({ expiringBounce, taskIds }) => {
        const healthy = taskIds!.healthy.filter(({ id }) => !olds.includes(id));
        return !expiringBounce && healthy.length === 2;
      });
    });

    test('is for what runs for ever, has a deploy and is not paused', async () => {
      await scene.request({ id: 'a-job', requestType: 'ON_DEMAND' });
      expect((await scene.refuses(bounce, 400, { params: { requestId: 'a-job' } })).message).toContain('ON_DEMAND');
      await scene.request({ id: 'undeployed' });
      const params = { requestId: 'undeployed' };
      expect((await scene.refuses(bounce, 409, { params })).code).toBe('NO_DEPLOY');
      const body = { incremental: 'slowly' };
      expect((await scene.refuses(bounce, 400, { params, body })).errors).toMatchObject([{ field: 'incremental' }]);
      await operations.call('POST /api/requests/request/{requestId}/pause', 200, { params });
      expect((await scene.refuses(bounce, 409, { params })).code).toBe('REQUEST_PAUSED');
      await scene.refuses(bounce, 404, { params: unknown });
      await scene.refuses(keepBounce, 404, { params: unknown });
    });
  });

  test('a bounce needs machines for the tasks that run meanwhile, and a shell command that there is', async () => {
    await scene.running({ id: 'crowded', slavePlacement: 'SEPARATE' });
    const params = { requestId: 'crowded' };
    expect((await scene.refuses(bounce, 400, { params })).message).toContain('slaves');
    const input = {
      params: { requestId: 'commanded' },
      body: { runShellCommandBeforeKill: { name: 'nothing-of-ours' } },
    };
    await scene.running({ id: 'commanded' });
    expect((await scene.refuses(bounce, 403, input)).code).toBe('UNKNOWN_SHELL_COMMAND');
    expect((await scene.one('commanded')).expiringBounce).toBeUndefined();
  });

  test('a scale that comes with a bounce is refused as the bounce would be, and nothing is scaled', async () => {
    await scene.request({ id: 'both', bounceAfterScale: true });
    const params = { requestId: 'both' };
    await operations.call('POST /api/requests/request/{requestId}/pause', 200, { params });
    expect((await scene.refuses(scale, 409, { params, body: { instances: 2 } })).code).toBe('REQUEST_PAUSED');
    expect((await scene.one('both')).request.instances).toBeUndefined();
    const jobs = { params: { requestId: 'jobs' }, body: { instances: 2, bounce: true } };
    await scene.request({ id: 'jobs', requestType: 'ON_DEMAND' });
    expect((await scene.refuses(scale, 400, jobs)).message).toContain('ON_DEMAND');
  });

  describe.each(['skip-healthchecks', 'skipHealthchecks'] as const)('%s', (word) => {
    const skip = `PUT /api/requests/request/{requestId}/${word}` as const;
    const keep = `DELETE /api/requests/request/{requestId}/${word}` as const;

    test('is set for a while, made permanent, and cleared by a call without a body', async () => {
      await scene.request({ id: word, skipHealthchecks: false });
      const params = { requestId: word };
      const body = { skipHealthchecks: true, durationMillis: 600_000, actionId: 'mine', message: 'trust me' };
      const set = await operations.call<RequestParent>(skip, 200, { params, body });
      expect(set.request.skipHealthchecks).toBe(true);
      expect(set.expiringSkipHealthchecks).toEqual({
        requestId: word,
        user: ann.email,
        startMillis: expect.any(Number),
        actionId: 'mine',
        expiringAPIRequestObject: body,
        revertToSkipHealthchecks: false,
      });
      expect(await scene.lastEvent(word)).toMatchObject({ eventType: 'UPDATED', message: 'trust me' });
      const kept = await operations.call<RequestParent>(keep, 200, { params });
      expect([kept.request.skipHealthchecks, kept.expiringSkipHealthchecks]).toEqual([true, undefined]);
      await scene.refuses(keep, 404, { params });
      await operations.call(skip, 200, { params });
      expect((await scene.one(word)).request.skipHealthchecks).toBeUndefined();
      const { errors } = await scene.refuses(skip, 400, { params, body: { skipHealthchecks: 1 } });
      expect(errors).toMatchObject([{ field: 'skipHealthchecks' }]);
      await scene.refuses(skip, 404, { params: unknown, body });
      await scene.refuses(keep, 404, { params: unknown });
    });
  });

  test('a priority is set for a while and made permanent', async () => {
    const set = 'PUT /api/requests/request/{requestId}/priority';
    const keep = 'DELETE /api/requests/request/{requestId}/priority';
    await scene.request({ id: 'urgent', taskPriorityLevel: 0.2 });
    const params = { requestId: 'urgent' };
    const body = { priority: 0.9, durationMillis: 600_000, actionId: 'mine', message: 'now' };
    const { request, expiringPriority } = await operations.call<RequestParent>(set, 200, { params, body });
    expect(request.taskPriorityLevel).toBe(0.9);
    const expiring = { actionId: 'mine', expiringAPIRequestObject: body, revertToPriority: 0.2, user: ann.email };
    expect(expiringPriority).toMatchObject(expiring);
    const kept = await operations.call<RequestParent>(keep, 200, { params });
    expect([kept.request.taskPriorityLevel, kept.expiringPriority]).toEqual([0.9, undefined]);
    await scene.refuses(keep, 404, { params });
    expect((await scene.refuses(set, 400, { params, body: { priority: 1.5 } })).message).toContain('priority');
    await scene.refuses(set, 400, { params });
    await scene.refuses(set, 400, { params, body: { message: 'why' } });
    await scene.refuses(set, 404, { params: unknown, body });
  });
}
