import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { FixedLeadership } from '../../../../test/support/fixed-leadership.js';
import { aWhile, HealthScene, type Program } from '../../../../test/support/health-scene.js';
import { toldEvents } from '../../../../test/support/told-events.js';
import { waitFor } from '../../../../test/support/wait-for.js';
import type { HealthcheckOptions } from '../../../core/model/deploy.js';
import type { Request } from '../../../core/model/request.js';
import { Leadership } from '../../../platform/leadership/leadership.js';
import { Wake } from '../../../platform/wake/wake.js';
import { HealthMonitor } from './health-monitor.service.js';

let scene: HealthScene;

beforeAll(async () => {
  scene = await HealthScene.start();
});
afterAll(() => scene.close());
afterEach(() => scene.clear());

test('a running task is asked until it passes, and then no more', async () => {
  let status = 503;
  const program = await scene.program(() => ({ status, text: `status ${status}` }));
  await scene.deploy({});
  const { id } = await scene.run([program.port]);
  scene.announce();
  await waitFor('two failed checks', async () => (await scene.results()).length >= 2);
  expect((await scene.results())[0]).toMatchObject({
    status_code: 503,
    response_body: 'status 503',
    startup: false,
    error_message: null,
  });
  expect(await scene.isFinished()).toBe(false);
  status = 200;
  await waitFor('the passed check', () => scene.isFinished());
  const asked = program.asked;
  expect((await scene.results()).at(-1)).toMatchObject({ status_code: 200, response_body: 'status 200' });
  await scene.rooms.app.get(HealthMonitor).runOnce(Date.now() + 60_000);
  scene.announce();
  await aWhile();
  expect(program.asked).toBe(asked);
  expect((await toldEvents(scene.tx, 'HEALTH')).map(({ taskId }) => taskId)).toEqual([id]);
});

test('while operators have switched health checks off no task is asked; when they come back it goes on', async () => {
  const program = await scene.program(() => ({ status: 503 }));
  await scene.deploy({});
  await scene.run([program.port]);
  scene.announce();
  await waitFor('a check', () => program.asked > 0);
  await scene.tx.query(
    `INSERT INTO disabled_action (action, message, automatically_clearable) VALUES ('RUN_HEALTH_CHECKS', 'm', false)`,
  );
  await scene.look();
  const asked = program.asked;
  await aWhile();
  expect(program.asked).toBe(asked);
  await scene.tx.query('TRUNCATE disabled_action');
  scene.rooms.app.get(Wake).signal('actions');
  await waitFor('another check', () => program.asked > asked);
});

test('a task that does not listen yet is asked again soon, and only the last refusal is kept once it passes', async () => {
  const program = await scene.program();
  const { port } = program;
  await program.close();
  await scene.deploy({});
  await scene.run([port]);
  scene.announce();
  await waitFor('refused checks', async () => (await scene.results()).length >= 2);
  expect((await scene.results()).map((result) => result.startup)).not.toContain(false);
  await scene.program(undefined, port);
  await waitFor('the passed check', () => scene.isFinished());
  expect((await scene.results()).filter((result) => result.startup)).toEqual([]);
});

test.each<{ name: string; options: HealthcheckOptions; program: Program['answer']; last: object }>([
  {
    name: 'no answer in time',
    options: { maxRetries: 0, responseTimeoutSeconds: 0.2 },
    program: () => undefined,
    last: { error_message: 'No answer within 200 ms', startup: false },
  },
  {
    name: 'a status that fails at once',
    options: { failureStatusCodes: [500] },
    program: () => ({ status: 500 }),
    last: { status_code: 500 },
  },
  {
    name: 'more failures than forgiven',
    options: { maxRetries: 2 },
    program: () => ({ status: 404 }),
    last: { status_code: 404 },
  },
  {
    name: 'a port it does not have',
    options: { portIndex: 1, maxRetries: 0 },
    program: () => ({ status: 200 }),
    last: { error_message: 'The task has no port 1' },
  },
])('$name ends the checks', async ({ options, program: answer, last }) => {
  const program = await scene.program(answer);
  await scene.deploy(options);
  await scene.run([program.port]);
  scene.announce();
  const expected = (options.maxRetries ?? 0) + 1;
  await waitFor('the last check', async () => (await scene.results()).length === expected);
  await scene.look();
  await aWhile();
  expect(await scene.results()).toHaveLength(expected);
  expect((await scene.results()).at(-1)).toMatchObject(last);
});

test('a port by its number, another method and a path are honoured', async () => {
  const program = await scene.program(({ method, url }) => ({
    status: method === 'POST' && url === '/are/you/ok' ? 200 : 400,
  }));
  await scene.deploy({ uri: 'are/you/ok', portNumber: program.port, method: 'POST' });
  await scene.run([1, program.port]);
  scene.announce();
  await waitFor('the passed check', () => scene.isFinished());
  expect(program.asked).toBe(1);
});

test("a port that is not the task's own is not asked, and the result says so", async () => {
  const program = await scene.program(() => ({ status: 200, text: 'INTERNAL-ONLY-DATA' }));
  await scene.deploy({ uri: '/latest/meta-data', portNumber: program.port, maxRetries: 0 });
  await scene.run([1]);
  scene.announce();
  await waitFor('the result', async () => (await scene.results()).length > 0);
  const text = `Port ${program.port} is none of the task's, which has 1`;
  expect(await scene.results()).toMatchObject([{ error_message: text, response_body: null }]);
  expect(program.asked).toBe(0);
});

describe('a task is not asked', () => {
  test.each<{ name: string; request?: Partial<Request>; options?: HealthcheckOptions; change?: string }>([
    { name: 'when its request skips checks', request: { skipHealthchecks: true } },
    { name: 'when it is a job', request: { requestType: 'ON_DEMAND' } },
    { name: 'when it was launched to skip checks', change: 'UPDATE task SET skip_healthchecks = true' },
    { name: 'when its executor checks it', options: { healthcheckResultFilePath: 'ok' } },
    { name: 'before it runs', change: `UPDATE task SET running_at = NULL, state = 'TASK_STARTING'` },
    { name: 'after it has ended', change: `UPDATE task SET ended_at = now(), state = 'TASK_FAILED'` },
  ])('$name', async ({ request, options = {}, change }) => {
    const program = await scene.program();
    await scene.deploy(options, request);
    await scene.run([program.port]);
    if (change) await scene.tx.query(change);
    await scene.look();
    await aWhile();
    expect([program.asked, await scene.results()]).toEqual([0, []]);
  });
});

test('a new leader goes on where the last one stopped', async () => {
  const program = await scene.program(() => ({ status: 503 }));
  await scene.deploy({ maxRetries: 3 });
  const taskId = await scene.run([program.port]);
  for (const ago of [1_000, 500]) {
    await scene.tx.query(
      'INSERT INTO task_healthcheck (task_id, checked_at, startup, status_code) VALUES ($1, $2, false, 503)',
      [taskId.id, new Date(Date.now() - ago)],
    );
  }
  (scene.rooms.app.get(Leadership) as FixedLeadership).start();
  await waitFor('the rest of the checks', async () => (await scene.results()).length === 4);
  expect(program.asked).toBe(2);
});

test('hundreds of tasks are checked, even when most of them do not answer', async () => {
  const silent = await scene.program(() => undefined);
  const healthy = await scene.program();
  await scene.deploy({ maxRetries: 0, responseTimeoutSeconds: 2 });
  const ids = [];
  for (let no = 1; no <= 300; no++) ids.push(await scene.run([no % 10 === 0 ? healthy.port : silent.port], no));
  scene.announce();
  await waitFor('a result of each', async () => (await scene.results()).length === ids.length, {
    timeoutMillis: 20_000,
  });
  const [{ passed }] = await scene.tx.query('SELECT count(*)::int AS passed FROM task WHERE healthchecks_finished');
  expect(passed).toBe(30);
});
