import { expect, test } from 'vitest';
import type { AppliedDto } from '../../../src/modules/deploys/apply/apply.dto.js';
import { asBob } from '../people.js';
import { sleeping, type Scene } from '../scene.js';

const apply = 'POST /api/requests/apply';

export function applying(scene: Scene): void {
  const { operations } = scene;

  test('a request and its deploy are made, changed and left alone', async () => {
    const request = { id: 'applied', requestType: 'WORKER', group: 'web' };
    const { id: _none, ...deploy } = sleeping('applied');
    const call = (body: object, query: Record<string, boolean> = {}) =>
      operations.call<AppliedDto>(apply, 200, { body, query });
    const dry = await call({ request, deploy }, { dryRun: true, largeScaleDownAcknowledged: true });
    expect(dry).toMatchObject({ requestId: 'applied', request: 'CREATED', deploy: 'STARTED', notes: [] });
    const body = { request, deploy, message: 'the first', unpauseOnSuccessfulDeploy: true };
    const { deployId } = await call(body);
    expect(deployId).toBe(dry.deployId);
    const { deployResult, deployMarker } = await operations.api.deployEnded('applied', deployId!);
    expect([deployResult?.deployState, deployMarker.message]).toEqual(['SUCCEEDED', 'the first']);
    expect(await call(body)).toMatchObject({ request: 'UNCHANGED', deploy: 'UNCHANGED', deployId, changes: [] });
    expect(await call({ request: { ...request, instances: 2 } })).toMatchObject({
      request: 'CHANGED',
      changes: ['request.instances'],
    });
  });

  test('is refused as by the operations that take one of the two', async () => {
    await scene.request({ id: 'unapplied' });
    const slow = sleeping('unapplied', { considerHealthyAfterRunningForSeconds: 600 });
    const none = await scene.refuses(apply, 400, { body: { deploy: { ...slow, command: undefined } } });
    expect([none.code, none.errors[0]?.field]).toEqual(['INVALID_DEPLOY', 'deploy.command']);
    const unknown = await scene.refuses(apply, 404, { body: { deploy: sleeping('nowhere') } });
    expect(unknown.code).toBe('REQUEST_NOT_FOUND');
    await operations.call(apply, 200, { body: { deploy: slow } });
    const second = await scene.refuses(apply, 409, { body: { deploy: sleeping('unapplied', { id: 'v2' }) } });
    expect(second.code).toBe('DEPLOY_IN_PROGRESS');
    const foreign = { id: 'foreign', requestType: 'WORKER', group: 'db' };
    expect((await scene.refuses(apply, 403, { body: { request: foreign }, headers: asBob })).code).toBe('FORBIDDEN');
  });
}
