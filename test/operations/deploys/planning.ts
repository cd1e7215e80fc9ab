import { describe, expect, test } from 'vitest';
import type { DeployPlanDto, ScalePlanDto } from '../../../src/scheduler/plan/dto/plan.dto.js';
import { sleeping, type Scene } from '../scene.js';

const planDeploy = 'POST /api/deploys/plan';
const planScale = 'POST /api/requests/request/{requestId}/scale/plan';

export function planning(scene: Scene): void {
  const { operations } = scene;

  describe('the plan of a deploy', () => {
    test('says what would change and happen, changes nothing, and is what can be done until something changes', async () => {
      const [old] = await scene.running({ id: 'planned' }, { env: { COLOUR: 'red' } });
      const before = await scene.one('planned');
      const body = { deploy: sleeping('planned', { id: 'v2', env: { COLOUR: 'blue' } }), message: 'blue is new' };
      const plan = await operations.call<DeployPlanDto>(planDeploy, 200, { body });
      expect(plan).toMatchObject({
        requestId: 'planned',
        deployId: 'v2',
        activeDeployId: 'v1',
        starting: 1,
        stopping: 1,
      });
      expect(plan.changes).toEqual([
        { path: 'deploy.env.COLOUR', from: 'red', to: 'blue' },
        { path: 'deploy.id', from: 'v1', to: 'v2' },
      ]);
      expect(plan.steps).toMatchObject([
        {
          start: [{ instanceNo: 1 }],
          stop: [{ taskId: old!.taskId }],
          fits: { tasks: 1, fitting: 1, reason: 'PLACEABLE' },
        },
      ]);
      expect(await scene.one('planned')).toEqual(before);
      const { checkIndex } = plan;
      await operations.call('POST /api/deploys', 200, { body, query: { checkIndex } });
      const late = { body: { deploy: sleeping('planned', { id: 'v3' }) }, query: { checkIndex } };
      expect((await scene.refuses('POST /api/deploys', 409, late)).code).toBe('CHANGED_MEANWHILE');
    });

    test('says of a first deploy that does not fit why', async () => {
      await scene.request({ id: 'too-big', requiredSlaveAttributes: { disk: 'ssd' } });
      const plan = await operations.call<DeployPlanDto>(planDeploy, 200, { body: { deploy: sleeping('too-big') } });
      expect([plan.activeDeployId, plan.fits, plan.starting]).toEqual([undefined, false, 1]);
      const rejections = [{ reason: expect.stringMatching(/ATTRIBUTE/), slaves: 1 }];
      expect(plan.steps[0]!.fits).toMatchObject({ tasks: 1, fitting: 0, slaves: 1, rejections });
    });

    test('is refused as the deploy would be', async () => {
      await scene.running({ id: 'unplanned' });
      const used = { deploy: sleeping('unplanned') };
      const dashed = { deploy: sleeping('unplanned', { id: 'a-b' }) };
      const unknown = { deploy: sleeping('nowhere') };
      const pause = 'POST /api/requests/request/{requestId}/pause';
      for (const [status, body] of [
        [400, used],
        [400, dashed],
        [400, {}],
        [400, undefined],
        [404, unknown],
      ] as const) {
        const planned = withoutCallId(await scene.refuses(planDeploy, status, { body }));
        const real = withoutCallId(await scene.refuses('POST /api/deploys', status, { body }));
        expect(planned).toEqual(real);
      }
      await operations.call(pause, 200, { params: { requestId: 'unplanned' } });
      const body = { deploy: sleeping('unplanned', { id: 'v2' }) };
      expect((await scene.refuses(planDeploy, 409, { body })).code).toBe('REQUEST_PAUSED');
      const unpausing = { ...body, unpauseOnSuccessfulDeploy: true };
      await operations.call(planDeploy, 200, { body: unpausing, query: { largeScaleDownAcknowledged: true } });
      expect((await scene.one('unplanned')).state).toBe('PAUSED');
    });
  });

  describe('the plan of a scale', () => {
    test('names the tasks that would start or go, changes nothing, and is what can be done', async () => {
      const tasks = await scene.running({ id: 'plan-scale', instances: 2 });
      const params = { requestId: 'plan-scale' };
      const up = await operations.call<ScalePlanDto>(planScale, 200, { params, body: { instances: 3 } });
      expect(up).toMatchObject({ requestId: 'plan-scale', from: 2, to: 3, starting: 1, stopping: 0, fits: true });
      expect(up.steps[0]!.start).toEqual([{ instanceNo: 3 }]);
      const down = await operations.call<ScalePlanDto>(planScale, 200, { params, body: { instances: 1 } });
      expect(down.changes).toEqual([{ path: 'request.instances', from: 2, to: 1 }]);
      const second = tasks.find(({ taskId }) => taskId.instanceNo === 2)!;
      expect(down.steps.flatMap(({ stop }) => stop)).toEqual([{ taskId: second.taskId, cleanupType: 'SCALING_DOWN' }]);
      expect((await scene.one('plan-scale')).request.instances).toBe(2);
      const scale = 'PUT /api/requests/request/{requestId}/scale';
      const { checkIndex } = down;
      await operations.call(scale, 200, { params, body: { instances: 1 }, query: { checkIndex } });
      const late = { params, body: { instances: 3 }, query: { checkIndex } };
      expect((await scene.refuses(scale, 409, late)).code).toBe('CHANGED_MEANWHILE');
    });

    test('is refused as the scale would be', async () => {
      await scene.request({ id: 'unscaled', instances: 20 });
      const params = { requestId: 'unscaled' };
      const scale = 'PUT /api/requests/request/{requestId}/scale';
      for (const [status, of, body] of [
        [400, params, { instances: 20 }],
        [400, params, { instances: 26 }],
        [400, params, { instances: 2 }],
        [400, params, { instances: 'two' }],
        [400, params, undefined],
        [404, { requestId: 'nowhere' }, { instances: 2 }],
      ] as const) {
        const planned = withoutCallId(await scene.refuses(planScale, status, { params: of, body }));
        expect(planned).toEqual(withoutCallId(await scene.refuses(scale, status, { params: of, body })));
      }
      const query = { largeScaleDownAcknowledged: true };
      const plan = await operations.call<ScalePlanDto>(planScale, 200, { params, body: { instances: 2 }, query });
      expect([plan.from, plan.to, plan.steps.flatMap(({ start, stop }) => [...start, ...stop])]).toEqual([20, 2, []]);
    });
  });
}

/** Each call has an id of its own. */
const withoutCallId = (refusal: object): Record<string, unknown> => ({ ...refusal, requestId: undefined });
