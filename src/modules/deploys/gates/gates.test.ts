import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { DeployGate } from '../../../core/model/gate.js';
import { canarySettings } from '../../../../test/support/fixtures/deploys.js';
import { insertRequest } from '../../../../test/support/builders.js';
import { startReceiver, type HttpReceiver } from '../../../../test/support/http-receiver.js';
import { caller, RollingService } from '../../../../test/support/rolling-service.js';
import { testSettings } from '../../../../test/support/test-settings.js';
import { toldEvents } from '../../../../test/support/told-events.js';
import { waitFor } from '../../../../test/support/wait-for.js';
import { builtInUser, type User } from '../../../core/authorization/index.js';
import { DisabledActionRepository } from '../../../platform/actions/disabled-action.repository.js';
import type { Settings } from '../../../platform/settings/settings.js';
import { ExplainService } from '../../../scheduler/explain/explain.service.js';
import { DeploysPoller } from '../deploys.poller.js';
import { DeploysService } from '../deploys.service.js';
import { DeployGateRepository } from './deploy-gate.repository.js';
import { GateAnswers, type GateReply } from './gate-answers.service.js';
import { GatesPoller } from './gates.poller.js';

let service: RollingService;
let judge: HttpReceiver;
beforeEach(async () => (judge = await startReceiver()));
afterEach(async () => {
  await service.world.close();
  await judge.close();
});

const key = { requestId: 'web', deployId: 'v2' };
const bob: User = { ...builtInUser, id: 'bob', email: 'bob@example.com', authenticated: true };
const answer = (reply: Partial<GateReply> = {}, user = bob) =>
  service.world.get(GateAnswers).answer(key, { approves: true, ...reply }, user);
const results = () => service.world.get(DeployGateRepository).results(service.world.db.pool, key);
const states = async () => (await results()).map(({ step, gate, state }) => `${step}.${gate} ${state}`);

const allowed = { allowedTargets: ['127.0.0.1'] };

/** Three instances of v1, and v2 with these gates in two steps: one instance, then all. */
async function deployed(gates: DeployGate[], settings: Partial<Settings> = {}): Promise<void> {
  service = await RollingService.start({ gates: { ...allowed, requestTimeoutMillis: 300 }, ...settings });
  service.behave(() => ({ startAfter: 500 }));
  await service.save();
  await service.deploy('v1');
  await service.run(8);
  service.leastServing = Number.POSITIVE_INFINITY;
  const canaryDeploySettings = canarySettings({ allowedTasksFailuresPerGroup: 1, canaryCycleCount: 1, gates });
  await service.deploy('v2', { canaryDeploySettings });
  await service.run(8);
}
const running = async () => (await service.running()).toSorted();

describe('MANUAL', () => {
  test('after each step the deploy waits for an approval, and serves in full meanwhile', async () => {
    await deployed([{ type: 'MANUAL', message: 'ask support' }]);
    await service.run(20);
    expect(await running()).toEqual(['v1', 'v1', 'v1', 'v2']);
    expect((await service.world.get(ExplainService).request('web', builtInUser)).waitingGate).toMatchObject({
      deployId: 'v2',
      step: 1,
      gate: 1,
      message: 'Gate 1 (MANUAL) after step 1 waits for an approval (ask support) by any caller',
    });
    expect(await answer({ message: 'fine' })).toMatchObject({ state: 'PASSED', user: bob.email, message: 'fine' });
    await service.run(10);
    expect(await states()).toEqual(['1.1 PASSED', '2.1 WAITING']);
    expect(await running()).toEqual(['v1', 'v1', 'v2', 'v2', 'v2']);
    await answer();
    await service.run(4);
    expect(await service.result('v2')).toMatchObject({ deployState: 'SUCCEEDED' });
    expect(await running()).toEqual(['v2', 'v2', 'v2']);
    expect(service.leastServing).toBe(3);
  });

  test('a rejection rolls the deploy back, and says by whom', async () => {
    await deployed([{ type: 'MANUAL' }]);
    await answer({ approves: false, message: 'too slow' });
    await service.run(4);
    expect(await service.result('v2')).toMatchObject({
      deployState: 'FAILED',
      message: 'Gate 1 (MANUAL) after step 1 failed: rejected by bob@example.com: too slow',
    });
    expect(await running()).toEqual(['v1', 'v1', 'v1']);
    const { failedDeploy, waitingGate } = await service.world.get(ExplainService).request('web', builtInUser);
    expect([waitingGate, failedDeploy?.lookAtFirst]).toEqual([
      undefined,
      'Look first at gates in the history of the deploy, with the measurements of the one that failed',
    ]);
  });

  test('an approval that is repeated changes nothing, and does not pass the next step', async () => {
    await deployed([{ type: 'MANUAL' }]);
    const first = await answer({ step: 1, gate: 1 });
    await service.run(10);
    expect(await answer({ step: 1, gate: 1 })).toEqual(first);
    expect(await states()).toEqual(['1.1 PASSED', '2.1 WAITING']);
    await expect(answer({ step: 1, gate: 1, approves: false })).rejects.toMatchObject({ code: 'GATE_NOT_WAITING' });
  });

  test('without an answer in time it fails', async () => {
    await deployed([{ type: 'MANUAL', timeoutMillis: 5_000 }]);
    await service.run(8);
    expect((await service.result('v2'))?.message).toBe(
      'Gate 1 (MANUAL) after step 1 failed: nobody approved it within 5 s',
    );
  });

  test('where another user has to approve, the one who deployed may not', async () => {
    await deployed([{ type: 'MANUAL', requireOtherApprover: true }], {
      auth: { ...testSettings().auth, enabled: true },
    });
    await expect(answer({}, { ...caller, authenticated: true })).rejects.toMatchObject({ code: 'OWN_DEPLOY' });
    expect(await states()).toEqual(['1.1 WAITING']);
    await answer();
    expect(await states()).toEqual(['1.1 PASSED']);
  });

  test('while deploys are frozen for its group, it can be rejected only', async () => {
    await deployed([{ type: 'MANUAL' }]);
    const { world } = service;
    const freeze = { message: 'code freeze', automaticallyClearable: false, exceptGroups: ['other'] };
    await world.db.transaction((tx) => world.get(DisabledActionRepository).disable(tx, { type: 'DEPLOY', ...freeze }));
    await expect(answer()).rejects.toMatchObject({ code: 'ACTION_DISABLED' });
    expect(await states()).toEqual(['1.1 WAITING']);
    expect(await answer({ approves: false })).toMatchObject({ state: 'FAILED' });
  });

  test('a cancel leaves no gate that waits, and nothing can be approved then', async () => {
    await deployed([{ type: 'MANUAL' }]);
    await service.cancel('v2');
    await service.run(4);
    expect(await service.result('v2')).toMatchObject({ deployState: 'CANCELED' });
    expect(await states()).toEqual(['1.1 CANCELED']);
    await expect(answer()).rejects.toMatchObject({ code: 'NOT_PENDING' });
  });

  test('a larger target is refused: the gates say when the deploy goes on', async () => {
    await deployed([{ type: 'MANUAL' }]);
    await expect(service.world.get(DeploysService).update(key, 3)).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      errors: [{ field: 'targetActiveInstances', rule: 'gates' }],
    });
  });
});

describe('BAKE', () => {
  test('a healthy time lets the deploy go on; a task that is lost and forgiven begins it anew', async () => {
    await deployed([{ type: 'BAKE', durationMillis: 10_000 }]);
    expect(await states()).toEqual(['1.1 WAITING']);
    const [canary] = (await service.world.active('web')).filter(({ taskId }) => taskId.deployId === 'v2');
    service.world.cluster.finish(canary!.taskId.id, 'TASK_FAILED');
    await service.run(9);
    expect(await states()).toEqual(['1.1 WAITING']);
    expect(await running()).toEqual(['v1', 'v1', 'v1', 'v2']);
    await service.run(50);
    expect(await service.result('v2')).toMatchObject({ deployState: 'SUCCEEDED' });
    expect(await states()).toEqual(['1.1 PASSED', '2.1 PASSED']);
    expect(service.leastServing).toBe(3);
  });
});

describe('HTTP', () => {
  const asks = (changes: Partial<DeployGate> = {}): DeployGate => ({
    type: 'HTTP',
    uri: `${judge.url}/$REQUEST_ID/$DEPLOY_ID/$ACTIVE_DEPLOY_ID`,
    intervalMillis: 1_000,
    count: 3,
    ...changes,
  });
  const measured = async () => (await results()).map(({ measurements }) => measurements.map(({ outcome }) => outcome));

  test('enough good answers let the deploy go on, and each is kept', async () => {
    await deployed([asks()]);
    await service.run(20);
    expect(await service.result('v2')).toMatchObject({ deployState: 'SUCCEEDED' });
    expect(await measured()).toEqual([Array(3).fill('PASSED'), Array(3).fill('PASSED')]);
    expect(new Set(judge.calls.map(({ url }) => url))).toEqual(new Set(['/web/v2/v1']));
  });

  test('a bad number rolls the deploy back, with the number', async () => {
    judge.answer = (_call, response) => response.end('{"errors": 0.25}');
    await deployed([asks({ valuePath: 'errors', threshold: { operator: 'LT', value: 0.1 } })]);
    expect(await service.result('v2')).toMatchObject({
      deployState: 'FAILED',
      message: 'Gate 1 (HTTP) after step 1 failed: 1 measurement failed; the last: 0.25 is not below 0.1',
    });
    expect(await running()).toEqual(['v1', 'v1', 'v1']);
    expect((await results())[0]).toMatchObject({ state: 'FAILED', measurements: [{ value: 0.25, outcome: 'FAILED' }] });
  });

  test.each([
    { name: 'that never answers', answer: () => undefined, why: /no answer within 300 ms/ },
    {
      name: 'whose answer never ends',
      answer: (_call: unknown, response: { write: (text: string) => unknown }) => response.write('1'),
      why: /no answer within 300 ms/,
    },
    {
      name: 'whose answer is too large',
      answer: (_call: unknown, response: { end: (text: string) => unknown }) => response.end('1'.repeat(70_000)),
      why: /more than 65536 bytes/,
    },
  ])('a service $name passes nothing, and fails the gate or pauses it', async ({ answer: given, why }) => {
    judge.answer = given as HttpReceiver['answer'];
    await deployed([asks({ threshold: { operator: 'GT', value: 0 }, failureLimit: 1, inconclusive: 'PAUSE' })]);
    await service.run(4);
    expect(await states()).toEqual(['1.1 PAUSED']);
    expect((await results())[0]!.measurements).toEqual([
      { at: expect.any(Number), outcome: 'INCONCLUSIVE', message: expect.stringMatching(why) },
      { at: expect.any(Number), outcome: 'INCONCLUSIVE', message: expect.stringMatching(why) },
    ]);
    // Nothing is asked while a person has to decide.
    const { length } = judge.calls;
    await service.run(4);
    expect(judge.calls).toHaveLength(length);
    await answer({ approves: false });
    await service.run(2);
    expect(await service.result('v2')).toMatchObject({ deployState: 'FAILED' });
  });

  test('a host that is not allowed is not asked, whatever its name means', async () => {
    await deployed([asks({ uri: judge.url.replace('127.0.0.1', 'localhost') })], {
      gates: { requestTimeoutMillis: 300 },
    });
    expect((await service.result('v2'))?.message).toMatch(/has no address that gates.allowedTargets allows/);
    expect(judge.calls).toEqual([]);
  });

  test('a redirect is not followed', async () => {
    judge.answer = (call, response) =>
      call.url === '/else' ? response.end() : response.writeHead(302, { location: '/else' }).end();
    await deployed([asks()]);
    expect((await service.result('v2'))?.message).toMatch(/it answered 302, not 200 to 299/);
    expect(judge.calls.map(({ url }) => url)).not.toContain('/else');
  });

  test('a leader that was overtaken while it asked stores nothing', async () => {
    await deployed([{ type: 'MANUAL' }, asks({ count: 1 })], { gates: { ...allowed, requestTimeoutMillis: 60_000 } });
    await answer();
    await service.world.get(DeploysPoller).runOnce(service.world.now);
    let release = (): void => undefined;
    judge.answer = (_call, response) => void (release = () => response.end());
    const pass = service.world
      .get(GatesPoller)
      .runOnce(service.world.now)
      .catch((cause: unknown) => String(cause));
    await waitFor('the question', () => judge.calls.length === 1);
    const former = await service.world.overtake();
    release();
    expect(await pass).toMatch(/lead/i);
    expect((await results())[1]).toMatchObject({ state: 'WAITING', measurements: [] });
    judge.answer = 200;
    await service.run(2);
    expect((await results())[1]).toMatchObject({ state: 'PASSED', passes: 1 });
    await former.close();
  });
});

test('gates are told of as they are opened and decided', async () => {
  await deployed([{ type: 'MANUAL' }]);
  await answer();
  const told = (await toldEvents(service.world.db.pool, 'DEPLOY')).filter(({ eventType }) => eventType === 'GATE');
  expect(told).toMatchObject([
    { requestId: 'web', deployId: 'v2', step: 1, gate: 1, gateState: 'WAITING' },
    { requestId: 'web', deployId: 'v2', step: 1, gate: 1, gateState: 'PASSED', user: bob.email },
  ]);
});

test('of one group no more gates are read for a pass than it may have, however many are due', async () => {
  await deployed([{ type: 'MANUAL' }]);
  const { pool } = service.world.db;
  const progress = JSON.stringify({ step: 1, stepLaunchComplete: true });
  for (const [group, requests] of Object.entries({ many: 5, few: 1 }))
    for (let number = 1; number <= requests; number++) {
      const requestId = `${group}${number}`;
      await insertRequest(pool, { request: { id: requestId, group } });
      await pool.query(
        `INSERT INTO pending_deploy (request_id, deploy_id, state, progress) VALUES ($1, 'd', 'WAITING', $2)`,
        [requestId, progress],
      );
      await pool.query(
        `INSERT INTO deploy_gate (request_id, deploy_id, step, gate, type, state, since, next_at, passes, failures, inconclusive)
         VALUES ($1, 'd', 1, 1, 'HTTP', 'WAITING', now(), now(), 0, 0, 0)`,
        [requestId],
      );
    }
  const read = await service.world.get(DeployGateRepository).measured(pool, 100, 2);
  expect(read.map(({ requestId }) => requestId).toSorted()).toEqual(['few1', 'many1', 'many2']);
});
