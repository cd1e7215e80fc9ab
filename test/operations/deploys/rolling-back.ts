import { expect, test } from 'vitest';
import type { RollbackDto } from '../../../src/modules/deploys/dto/deploy-request.dto.js';
import { sleeping, type Scene } from '../scene.js';

const rollBack = 'POST /api/deploys/request/{requestId}/rollback';

export function rollingBack(scene: Scene): void {
  const { operations } = scene;
  const succeeds = async (id: string, deployId: string) => {
    const { deployResult } = await operations.api.deployEnded(id, deployId);
    expect(deployResult?.deployState).toBe('SUCCEEDED');
  };

  test('the last version that succeeded is deployed again, or the one that is named', async () => {
    const params = { requestId: 'regretted' };
    await scene.running({ id: 'regretted' }, { env: { COLOUR: 'red' } });
    await scene.deploy('regretted', { id: 'v2', env: { COLOUR: 'blue' } });
    await succeeds('regretted', 'v2');
    const back = await operations.call<RollbackDto>(rollBack, 200, { params });
    expect(back).toMatchObject({ deployId: 'v1.rollback1', rolledBackTo: 'v1' });
    expect(back.pendingDeploy).toMatchObject({ id: 'v1.rollback1', env: { COLOUR: 'red' } });
    expect(back.pendingDeployState!.deployMarker.message).toBe('Rollback to v1');
    expect((await scene.refuses(rollBack, 409, { params })).code).toBe('DEPLOY_IN_PROGRESS');
    await succeeds('regretted', 'v1.rollback1');
    const body = { deployId: 'v2', message: 'blue after all', unpauseOnSuccessfulDeploy: false };
    const query = { largeScaleDownAcknowledged: true };
    const forth = await operations.call<RollbackDto>(rollBack, 200, { params, body, query });
    expect(forth).toMatchObject({ deployId: 'v2.rollback1', rolledBackTo: 'v2' });
    expect(forth.pendingDeployState!.deployMarker.message).toBe('blue after all');
    await succeeds('regretted', 'v2.rollback1');
    expect((await scene.one('regretted')).activeDeploy?.env).toEqual({ COLOUR: 'blue' });
  });

  test('there has to be an earlier version, and the state that was planned with', async () => {
    const params = { requestId: 'forward' };
    await scene.request({ id: 'forward' });
    expect((await scene.refuses(rollBack, 409, { params })).code).toBe('NO_DEPLOY');
    await scene.deploy('forward');
    await succeeds('forward', 'v1');
    expect((await scene.refuses(rollBack, 409, { params })).code).toBe('NO_DEPLOY');
    const active = await scene.refuses(rollBack, 400, { params, body: { deployId: 'v1' } });
    expect(active.errors).toMatchObject([{ field: 'deployId', rule: 'earlier' }]);
    const unknown = await scene.refuses(rollBack, 404, { params, body: { deployId: 'v9' } });
    expect(unknown.code).toBe('DEPLOY_NOT_FOUND');
    await scene.refuses(rollBack, 404, { params: { requestId: 'nowhere' } });
    expect((await scene.refuses(rollBack, 400, { params, body: { deployId: 7 } })).errors).toMatchObject([
      { field: 'deployId' },
    ]);
    for (const stale of [{ query: { checkIndex: '1~1~~' } }, { body: { checkIndex: '1~1~~' } }]) {
      expect((await scene.refuses(rollBack, 409, { params, ...stale })).code).toBe('CHANGED_MEANWHILE');
    }
  });

  test('a paused request is rolled back only if it is to be unpaused', async () => {
    const params = { requestId: 'paused-back' };
    await scene.running({ id: 'paused-back' });
    await operations.call('POST /api/deploys', 200, { body: { deploy: sleeping('paused-back', { id: 'v2' }) } });
    await succeeds('paused-back', 'v2');
    await operations.call('POST /api/requests/request/{requestId}/pause', 200, { params });
    expect((await scene.refuses(rollBack, 409, { params })).code).toBe('REQUEST_PAUSED');
    const body = { unpauseOnSuccessfulDeploy: true };
    await operations.call(rollBack, 200, { params, body });
    await succeeds('paused-back', 'v1.rollback1');
    expect((await scene.one('paused-back')).state).toBe('ACTIVE');
  });
}
