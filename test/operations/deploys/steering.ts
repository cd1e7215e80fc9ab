import { expect, test } from 'vitest';
import type { DeployHistory, PendingDeploy } from '../../../src/core/model/deploy.js';
import type { RequestParent } from '../../../src/core/model/request.js';
import type { Scene } from '../scene.js';

const cancel = 'DELETE /api/deploys/deploy/{deployId}/request/{requestId}';
const update = 'POST /api/deploys/update';
const list = 'GET /api/deploys/pending';
const failed = 'GET /api/deploys/failed';
/** It takes so long to count as healthy that its deploy stays in progress. */
const lingering = { considerHealthyAfterRunningForSeconds: 600, deployHealthTimeoutSeconds: 900 };

export function steering(scene: Scene): void {
  const { operations } = scene;
  const ofRequest = async (id: string) =>
    (await operations.call<PendingDeploy[]>(list, 200)).filter(({ deployMarker }) => deployMarker.requestId === id);

  test('a deploy in progress is listed until it is cancelled; asking twice changes nothing', async () => {
    await scene.request({ id: 'cancelled' });
    const started = await scene.deploy('cancelled', lingering);
    const [pending] = await ofRequest('cancelled');
    expect(pending!.deployMarker).toEqual(started.pendingDeployState!.deployMarker);
    expect(pending!.currentDeployState).toBe('WAITING');
    const params = { requestId: 'cancelled', deployId: 'v1' };
    const answer = await operations.call<RequestParent>(cancel, 200, { params });
    expect(answer.requestDeployState?.pendingDeploy?.deployId).toBe('v1');
    expect((await operations.api.deployEnded('cancelled', 'v1')).deployResult?.deployState).toBe('CANCELED');
    expect(await ofRequest('cancelled')).toEqual([]);
    const failures = await operations.call<DeployHistory[]>(failed, 200);
    expect(failures.map(({ deployMarker }) => deployMarker.requestId)).not.toContain('cancelled');
    expect((await scene.refuses(cancel, 400, { params })).code).toBe('NOT_PENDING');
    await operations.api.running('cancelled', 0);
    const { requestDeployState, activeDeploy, pendingDeploy } = await scene.one('cancelled');
    expect([requestDeployState, activeDeploy, pendingDeploy]).toEqual([undefined, undefined, undefined]);
  });

  test('only the deploy in progress is cancelled: another is 400, one of an unknown request 404', async () => {
    await scene.request({ id: 'uncancelled' });
    await scene.deploy('uncancelled', lingering);
    const refusal = await scene.refuses(cancel, 400, { params: { requestId: 'uncancelled', deployId: 'v2' } });
    expect([refusal.code, refusal.message]).toEqual(['NOT_PENDING', expect.stringContaining('v2')]);
    await scene.refuses(cancel, 404, { params: { requestId: 'nowhere', deployId: 'v1' } });
    expect(await ofRequest('uncancelled')).toHaveLength(1);
  });

  test('a deploy that does not go on by itself is given its next target', async () => {
    await scene.request({ id: 'steered', instances: 3 });
    await scene.deploy('steered', { deployInstanceCountPerStep: 1, autoAdvanceDeploySteps: false });
    await scene.until(
      'steered',
      'to finish its first step',
      ({ pendingDeployState }) => pendingDeployState!.deployProgress!.stepComplete,
    );
    const body = { requestId: 'steered', deployId: 'v1', targetActiveInstances: 3 };
    const { pendingDeployState } = await operations.call<RequestParent>(update, 200, { body });
    expect(pendingDeployState!.deployMarker.deployId).toBe('v1');
    expect((await operations.api.deployEnded('steered', 'v1')).deployResult?.deployState).toBe('SUCCEEDED');
    expect(await operations.api.running('steered', 3)).toHaveLength(3);
    expect((await scene.refuses(update, 400, { body })).code).toBe('NOT_PENDING');
  });

  test('a target has to be from one to the instances, of the deploy in progress of a request', async () => {
    await scene.request({ id: 'untouched', instances: 2 });
    await scene.deploy('untouched', { ...lingering, deployInstanceCountPerStep: 1 });
    const body = { requestId: 'untouched', deployId: 'v1', targetActiveInstances: 2 };
    for (const targetActiveInstances of [0, 3, '2', undefined]) {
      const refusal = await scene.refuses(update, 400, { body: { ...body, targetActiveInstances } });
      expect(refusal.errors).toMatchObject([{ field: 'targetActiveInstances' }]);
    }
    for (const member of ['requestId', 'deployId']) {
      const { errors } = await scene.refuses(update, 400, { body: { ...body, [member]: undefined } });
      expect(errors).toMatchObject([{ field: member }]);
    }
    expect((await scene.refuses(update, 400, { body: { ...body, deployId: 'v2' } })).code).toBe('NOT_PENDING');
    await scene.refuses(update, 404, { body: { ...body, requestId: 'nowhere' } });
    expect((await ofRequest('untouched'))[0]!.deployProgress!.targetActiveInstances).toBe(1);
  });
}
