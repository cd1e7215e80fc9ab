import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Deploy, DeployHistory } from '../../src/core/model/deploy.js';
import type { DeployGate, GateResult } from '../../src/core/model/gate.js';
import type { DeployPlanDto } from '../../src/scheduler/plan/dto/plan.dto.js';
import { Prometheus } from '../support/prometheus.js';
import { createDatabase } from '../support/test-database.js';
import { waitFor } from '../support/wait-for.js';
import { type Api, portsOf } from './support/api.js';
import { muster } from './support/muster-command.js';
import { Installation, type Instance } from './support/product.js';

/* Gates of deploys on the built product, with a real Prometheus that reads the metrics of real tasks. */

/** Its share of failed calls is that of its version. */
const program = `require('node:http').createServer((request, response) => {
  const labels = 'request_id="' + process.env.TASK_REQUEST_ID + '",deploy_id="' + process.env.TASK_DEPLOY_ID + '"';
  response.end(request.url === '/metrics' ? 'error_ratio{' + labels + '} ' + process.env.ERRORS + '\\n' : 'fine');
}).listen(Number(process.env.PORT), '127.0.0.1');`;

const average = (deploy: string) => `avg(error_ratio{request_id="$REQUEST_ID",deploy_id="${deploy}"})`;
/** The canary may have five failed calls in a hundred more than the rest. */
const compared: DeployGate = {
  type: 'PROMETHEUS',
  query: `${average('$DEPLOY_ID')} - ${average('$ACTIVE_DEPLOY_ID')}`,
  threshold: { operator: 'LT', value: 0.05 },
  intervalMillis: 1_000,
  count: 2,
  // Until the first metrics are read there is no number.
  inconclusiveLimit: 100,
  inconclusive: 'PAUSE',
};

const deployOf = (requestId: string, id: string, errors: number, gates?: DeployGate[]): Deploy => ({
  requestId,
  id,
  command: 'node',
  arguments: ['-e', program],
  env: { ERRORS: String(errors) },
  resources: { cpus: 0.1, memoryMb: 64, numPorts: 1 },
  healthcheck: { uri: '/', intervalSeconds: 1, startupIntervalSeconds: 1 },
  ...(gates && { canaryDeploySettings: { enableCanaryDeploy: true, canaryCycleCount: 1, gates } as never }),
});

describe.runIf(Prometheus.isInstalled())('with a real Prometheus', () => {
  let prometheus: Prometheus;
  let installation: Installation;
  let instance: Instance;
  let api: Api;
  beforeAll(async () => {
    prometheus = await Prometheus.start();
    const settings = { prometheus: { uri: prometheus.url }, gates: { requestTimeoutMillis: 1_000 } };
    installation = new Installation({ database: createDatabase, settings });
    instance = await installation.start(['start']);
    ({ api } = instance);
  }, 120_000);
  afterAll(async () => {
    await installation.dispose();
    await prometheus.close();
  }, 90_000);

  /** All its tasks are read from now on, until the deploy has ended. */
  async function endedWhileRead(requestId: string, deployId: string): Promise<DeployHistory> {
    return waitFor(
      `the end of ${deployId} of ${requestId}`,
      async () => {
        prometheus.scrape((await api.activeTasks(requestId)).map((task) => `127.0.0.1:${portsOf(task)[0]}`));
        const history = await api.deployHistory(requestId, deployId);
        return history.deployResult ? history : undefined;
      },
      { timeoutMillis: 120_000 },
    );
  }
  async function serving(id: string): Promise<void> {
    await api.saveRequest({ id, requestType: 'SERVICE', instances: 2 });
    await api.deploy(deployOf(id, 'v1', 0.01));
    expect((await api.deployEnded(id, 'v1')).deployResult?.deployState).toBe('SUCCEEDED');
  }
  const deploysOf = async (id: string) => (await api.activeTasks(id)).map(({ taskId }) => taskId.deployId).toSorted();
  /** Tasks that a rollback takes away end a moment after the deploy. */
  const runsOnly = (id: string, deployId: string) =>
    waitFor(`${id} to run ${deployId} alone`, async () => (await deploysOf(id)).join() === `${deployId},${deployId}`);
  const firstGate = async (id: string, state: GateResult['state']): Promise<GateResult> =>
    waitFor(`a gate of ${id} that is ${state}`, async () => {
      const [gate] = (await api.deployHistory(id, 'v2')).gates ?? [];
      return gate?.state === state ? gate : undefined;
    });

  test('a canary that is as good as the rest is rolled out, and one that is worse is rolled back with its number', async () => {
    await serving('shop');
    await api.deploy(deployOf('shop', 'v2', 0.02, [compared]));
    const good = await endedWhileRead('shop', 'v2');
    expect(good.deployResult?.deployState).toBe('SUCCEEDED');
    expect(good.gates?.map(({ step, state, passes }) => [step, state, passes])).toEqual([
      [1, 'PASSED', 2],
      [2, 'PASSED', 2],
    ]);
    for (const { outcome, value } of good.gates!.flatMap(({ measurements }) => measurements)) {
      if (outcome === 'PASSED') expect(value).toBeCloseTo(0.01);
      else expect([outcome, value]).toEqual(['INCONCLUSIVE', undefined]);
    }

    await api.deploy(deployOf('shop', 'v3', 0.4, [{ ...compared, inconclusiveLimit: 0, inconclusive: 'FAIL' }]));
    // Its metrics are not read yet: no number is no pass.
    expect((await api.deployEnded('shop', 'v3')).deployResult).toMatchObject({
      deployState: 'FAILED',
      message: expect.stringContaining('the query gives 0 values, not one'),
    });
    await api.deploy(deployOf('shop', 'v4', 0.4, [compared, { type: 'MANUAL' }]));
    const bad = await endedWhileRead('shop', 'v4');
    expect(bad.deployResult).toMatchObject({
      deployState: 'FAILED',
      message: expect.stringMatching(
        /^Gate 1 \(PROMETHEUS\) after step 1 failed: 1 measurement failed; the last: 0\.38\d* is not below 0\.05$/,
      ),
    });
    await runsOnly('shop', 'v2');
  }, 300_000);

  test('a query without a number passes nothing', async () => {
    await serving('odd');
    const gate: DeployGate = {
      type: 'PROMETHEUS',
      query: 'vector(0) / vector(0)',
      threshold: { operator: 'LT', value: 1 },
    };
    await api.deploy(deployOf('odd', 'v2', 0, [gate]));
    expect((await api.deployEnded('odd', 'v2')).deployResult?.message).toContain('the query gives NaN');
    await api.deploy(deployOf('odd', 'v3', 0, [{ ...gate, query: 'sum(' }]));
    expect((await api.deployEnded('odd', 'v3')).deployResult?.message).toContain('parse error');
    await runsOnly('odd', 'v1');
  }, 180_000);

  test('a Prometheus that is slow or down passes nothing: a user decides, also with another leader', async () => {
    await serving('blind');
    const gate: DeployGate = { type: 'PROMETHEUS', query: 'vector(0)', threshold: { operator: 'LT', value: 1 } };
    prometheus.freeze(true);
    await api.deploy(deployOf('blind', 'v2', 0, [{ ...gate, inconclusive: 'PAUSE' }]));
    expect((await firstGate('blind', 'PAUSED')).message).toContain('no answer within 1000 ms');
    expect(await deploysOf('blind')).toEqual(['v1', 'v1', 'v2']);
    prometheus.freeze(false);

    await instance.kill9();
    instance = await installation.start(['start']);
    ({ api } = instance);
    const env = { MUSTER_URL: api.url };
    expect((await muster(['explain', 'blind'], { env })).out).toContain('Gate 1 (PROMETHEUS) after step 1 is paused');
    expect(await muster(['approve', 'blind', '-m', 'it is well'], { env })).toMatchObject({
      code: 0,
      out: 'blind v2: gate 1 after step 1 is PASSED\n',
    });
    expect((await api.deployEnded('blind', 'v2')).gates).toMatchObject([
      { step: 1, state: 'PASSED', inconclusive: 1, passes: 0 },
      { step: 2, state: 'PASSED', inconclusive: 0, passes: 1 },
    ]);
    expect(await muster(['approve', 'blind'], { env })).toMatchObject({ code: 6 });

    await prometheus.stop();
    await api.deploy(deployOf('blind', 'v3', 0, [gate]));
    const { deployResult, gates } = await api.deployEnded('blind', 'v3');
    expect(deployResult).toMatchObject({ deployState: 'FAILED', message: expect.stringContaining('ECONNREFUSED') });
    expect(gates).toMatchObject([{ state: 'FAILED', measurements: [{ outcome: 'INCONCLUSIVE' }] }]);
    await runsOnly('blind', 'v2');
  }, 240_000);

  test('a plan names the gates and the least time; contradictions are refused by field', async () => {
    const bake: DeployGate = { type: 'BAKE', durationMillis: 60_000 };
    const planned = await api.post<DeployPlanDto>('deploys/plan', {
      deploy: deployOf('blind', 'v9', 0, [{ type: 'MANUAL', message: 'ask' }, bake, compared]),
    });
    expect(planned.leastMillis).toBe(2 * 61_000);
    expect(planned.steps[0]!.gates).toEqual([
      { gate: 1, type: 'MANUAL', leastMillis: 0, message: 'ask' },
      { gate: 2, type: 'BAKE', leastMillis: 60_000 },
      { gate: 3, type: 'PROMETHEUS', leastMillis: 1_000 },
    ]);
    await expect(
      api.deploy(deployOf('blind', 'v9', 0, [{ type: 'HTTP', uri: 'http://169.254.169.254/latest', query: 'up' }])),
    ).rejects.toThrow(/400 .*gates\.0\.query.*gates\.0\.uri/s);
    await expect(api.deploy(deployOf('blind', 'v9', 0, Array(11).fill(bake) as DeployGate[]))).rejects.toThrow(
      /at most 10/,
    );
  });
});
