import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { RequestParent } from '../../../src/core/model/request.js';
import { waitFor } from '../../support/wait-for.js';
import { ann } from '../people.js';
import { sleeping, type Scene } from '../scene.js';

const pause = 'POST /api/requests/request/{requestId}/pause';
const permanently = 'DELETE /api/requests/request/{requestId}/pause';
const unpause = 'POST /api/requests/request/{requestId}/unpause';
const exitCooldown = 'POST /api/requests/request/{requestId}/exit-cooldown';

export function pausing(scene: Scene): void {
  const { operations } = scene;

  describe('a pause', () => {
    test('needs no body, ends the tasks and lasts until a user ends it; then they come back', async () => {
      await scene.running({ id: 'resting' });
      const params = { requestId: 'resting' };
      const paused = await operations.call<RequestParent>(pause, 200, { params });
      expect([paused.state, paused.expiringPause]).toEqual(['PAUSED', undefined]);
      expect(await scene.lastEvent('resting')).toMatchObject({ eventType: 'PAUSED', user: ann.email });
      expect((await scene.refuses(pause, 409, { params })).code).toMatch(/REQUEST_(PAUSED|BEING_CLEANED)/);
      await operations.api.running('resting', 0);
      const body = { message: 'rested', actionId: 'mine', skipHealthchecks: true };
      const unpaused = await operations.call<RequestParent>(unpause, 200, { params, body });
      expect(unpaused.state).toBe('ACTIVE');
      expect(await scene.lastEvent('resting')).toMatchObject({ eventType: 'UNPAUSED', message: 'rested' });
      await operations.api.running('resting', 1);
      expect((await scene.refuses(unpause, 409, { params })).code).toBe('REQUEST_NOT_PAUSED');
    });

    test('may spare the runs of a job and end by itself, unless that is taken back', async () => {
      await scene.running({ id: 'napping', requestType: 'ON_DEMAND' });
      const params = { requestId: 'napping' };
      await operations.call('POST /api/requests/request/{requestId}/run', 200, { params });
      const [task] = await operations.api.running('napping', 1);
      const runShellCommandBeforeKill = { name: 'look', options: [], user: 'ann', logfileName: 'last-look' };
      const body = {
        killTasks: false,
        durationMillis: 600_000,
        actionId: 'mine',
        message: 'a nap',
        runShellCommandBeforeKill,
      };
      const { expiringPause } = await operations.call<RequestParent>(pause, 200, { params, body });
      expect(expiringPause).toMatchObject({
        requestId: 'napping',
        user: ann.email,
        expiringAPIRequestObject: body,
      });
      expect((await scene.one('napping')).expiringPause).toEqual(expiringPause);
      expect(await scene.lastEvent('napping')).toMatchObject({ eventType: 'PAUSED', message: 'a nap' });
      const permanent = await operations.call<RequestParent>(permanently, 200, { params });
      expect([permanent.state, permanent.expiringPause]).toEqual(['PAUSED', undefined]);
      expect((await scene.refuses(permanently, 404, { params })).code).toBe('EXPIRING_ACTION_NOT_FOUND');
      await waitFor('the task to be told', async () => (await scene.one('napping')).taskIds!.cleaning.length === 1);
      expect(await operations.api.activeTasks('napping')).toMatchObject([{ taskId: task!.taskId }]);
    });

    test('ends by itself after its time', async () => {
      await scene.request({ id: 'dozing' });
      const params = { requestId: 'dozing' };
      await operations.call(pause, 200, { params, body: { durationMillis: 500 } });
      await scene.until('dozing', 'to be active', ({ state }) => state === 'ACTIVE');
    });

    test('is refused with a duration or a shell command that is none, and nothing is paused', async () => {
      await scene.request({ id: 'awake' });
      const params = { requestId: 'awake' };
      for (const durationMillis of [-1, 'long', 1.5]) {
        const { errors } = await scene.refuses(pause, 400, { params, body: { durationMillis } });
        expect(errors).toMatchObject([{ field: 'durationMillis' }]);
      }
      const unknown = { runShellCommandBeforeKill: { name: 'nothing-of-ours' } };
      expect((await scene.refuses(pause, 403, { params, body: unknown })).code).toBe('UNKNOWN_SHELL_COMMAND');
      const option = { runShellCommandBeforeKill: { name: 'look', options: ['closer'] } };
      expect((await scene.refuses(pause, 400, { params, body: option })).message).toContain('closer');
      expect((await scene.one('awake')).state).toBe('ACTIVE');
    });
  });

  test('a cooldown is listed, and ended by hand; the answer has the state as it was', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'cooling-'));
    chmodSync(folder, 0o755);
    const mayFail = join(folder, 'fail');
    try {
      const command = `while [ ! -e ${mayFail} ]; do sleep 0.2; done; exit 1`;
      await scene.running({ id: 'cooling' }, { command });
      const params = { requestId: 'cooling' };
      expect((await scene.refuses(exitCooldown, 409, { params })).code).toBe('REQUEST_NOT_IN_COOLDOWN');
      writeFileSync(mayFail, '');
      await scene.until('cooling', 'to cool down', ({ state }) => state === 'SYSTEM_COOLDOWN');
      const listed = await operations.call<RequestParent[]>('GET /api/requests/cooldown', 200);
      expect(listed.map(({ request }) => request.id)).toEqual(['cooling']);
      rmSync(mayFail);
      const body = { message: 'mended', actionId: 'mine', skipHealthchecks: true };
      const answer = await operations.call<RequestParent>(exitCooldown, 200, { params, body });
      expect(answer.state).toBe('SYSTEM_COOLDOWN');
      expect((await scene.one('cooling')).state).toBe('ACTIVE');
      expect(await scene.lastEvent('cooling')).toMatchObject({
        eventType: 'EXITED_COOLDOWN',
        user: ann.id,
        message: 'mended',
      });
      await operations.api.running('cooling', 1);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test.each([pause, permanently, unpause, exitCooldown] as const)(
    '%s of an unknown request is 404',
    async (operation) => {
      const { code, message } = await scene.refuses(operation, 404, { params: { requestId: 'nowhere' } });
      expect([code, message]).toEqual(['REQUEST_NOT_FOUND', `No request with id 'nowhere'`]);
    },
  );

  test('a paused request is deployed only if it is to be unpaused', async () => {
    await scene.request({ id: 'kept-paused' });
    await operations.call(pause, 200, { params: { requestId: 'kept-paused' } });
    const deploy = sleeping('kept-paused');
    expect((await scene.refuses('POST /api/deploys', 409, { body: { deploy } })).code).toBe('REQUEST_PAUSED');
    await operations.call('POST /api/deploys', 200, { body: { deploy, unpauseOnSuccessfulDeploy: true } });
    await scene.until('kept-paused', 'to be active', ({ state, activeDeploy }) => state === 'ACTIVE' && !!activeDeploy);
  });
}
