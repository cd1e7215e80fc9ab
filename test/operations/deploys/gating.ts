import { expect, test } from 'vitest';
import type { DeployHistory } from '../../../src/core/model/deploy.js';
import type { GateResult } from '../../../src/core/model/gate.js';
import type { RequestExplanationDto } from '../../../src/scheduler/explain/dto/explanation.dto.js';
import { waitFor } from '../../support/wait-for.js';
import { sleeping, type Scene } from '../scene.js';

const approve = 'POST /api/deploys/deploy/{deployId}/request/{requestId}/approve';
const reject = 'POST /api/deploys/deploy/{deployId}/request/{requestId}/reject';
const explain = 'GET /api/requests/request/{requestId}/explain';
const history = 'GET /api/history/request/{requestId}/deploy/{deployId}';

export function gating(scene: Scene): void {
  const { operations } = scene;
  const canaryDeploySettings = { enableCanaryDeploy: true, gates: [{ type: 'MANUAL' }] } as never;
  /** The request with a deploy that waits for its first gate. */
  async function waiting(requestId: string) {
    await scene.request({ id: requestId, instances: 1 });
    await operations.call('POST /api/deploys', 200, {
      body: { deploy: sleeping(requestId, { canaryDeploySettings }) },
    });
    const params = { requestId, deployId: 'v1' };
    const waitingGate = await waitFor(
      `a gate of ${requestId}`,
      async () => (await operations.call<RequestExplanationDto>(explain, 200, { params })).waitingGate,
    );
    return { params, waitingGate };
  }

  test('a deploy waits for its gate, is explained, and goes on when it is approved', async () => {
    const { params, waitingGate } = await waiting('approved');
    expect(waitingGate).toMatchObject({ deployId: 'v1', step: 1, gate: 1, type: 'MANUAL', state: 'WAITING' });
    for (const [body, field] of [
      [{ step: 0 }, 'step'],
      [{ gate: 11 }, 'gate'],
      [{ message: 7 }, 'message'],
    ] as const)
      expect((await scene.refuses(approve, 400, { params, body })).errors).toMatchObject([{ field }]);
    const other = await scene.refuses(approve, 409, { params, body: { step: 2 } });
    expect(other.code).toBe('GATE_NOT_WAITING');
    const body = { message: 'fine', step: 1, gate: 1 };
    const passed = await operations.call<GateResult>(approve, 200, { params, body });
    expect(passed).toMatchObject({ step: 1, gate: 1, state: 'PASSED', message: 'fine' });
    expect((await operations.api.deployEnded('approved', 'v1')).deployResult?.deployState).toBe('SUCCEEDED');
    const { gates } = await operations.call<DeployHistory>(history, 200, { params });
    expect(gates).toEqual([{ ...passed, measurements: [] }]);
    expect((await scene.refuses(approve, 400, { params, body })).code).toBe('NOT_PENDING');
  });

  test('a rejection ends the deploy', async () => {
    const { params } = await waiting('rejected');
    const failed = await operations.call<GateResult>(reject, 200, { params, body: { message: 'no' } });
    expect(failed).toMatchObject({ state: 'FAILED', message: 'rejected by a user: no' });
    const { deployResult } = await operations.api.deployEnded('rejected', 'v1');
    expect(deployResult).toMatchObject({
      deployState: 'FAILED',
      message: 'Gate 1 (MANUAL) after step 1 failed: rejected by a user: no',
    });
    await scene.refuses(reject, 404, { params: { requestId: 'nowhere', deployId: 'v1' }, body: {} });
  });
}
