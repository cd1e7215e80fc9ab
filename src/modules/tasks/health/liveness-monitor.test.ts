import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { insertDeploy, insertRequest, insertTask } from '../../../../test/support/builders.js';
import { FixedLeadership } from '../../../../test/support/fixed-leadership.js';
import { aWhile, HealthScene, type Program } from '../../../../test/support/health-scene.js';
import { toldEvents } from '../../../../test/support/told-events.js';
import { waitFor } from '../../../../test/support/wait-for.js';
import type { LivenessOptions, HealthcheckOptions } from '../../../core/model/deploy.js';
import type { TaskId } from '../../../core/model/task.js';
import { Leadership } from '../../../platform/leadership/leadership.js';
import { SickTasks } from './sick-tasks.service.js';
import { LivenessMonitor } from './liveness-monitor.service.js';

let scene: HealthScene;

beforeAll(async () => {
  scene = await HealthScene.start();
});
afterAll(() => scene.close());
afterEach(async () => {
  await scene.tx.query('TRUNCATE task');
  await monitor().runOnce(Date.now());
  await scene.tx.query('TRUNCATE task_liveness, replacement_wave, pending_request, live_event, disabled_action');
  await scene.clear();
});

const monitor = (): LivenessMonitor => scene.rooms.app.get(LivenessMonitor);
const look = async (): Promise<void> => {
  scene.rooms.app.get(SickTasks).forgetDecisions();
  await monitor().runOnce(Date.now());
  await monitor().decide(Date.now());
};
const quick: LivenessOptions = { intervalSeconds: 0.02, timeoutSeconds: 1, failureThreshold: 3 };
const deploy = (liveness: LivenessOptions = {}, instances = 1, options: HealthcheckOptions = {}): Promise<void> =>
  scene.deploy({ ...options, liveness: { ...quick, ...liveness } }, { instances });

/** A task that has passed its health check. */
async function healthyTask(program: Pick<Program, 'port'>, instanceNo = 1, requestId = 'web'): Promise<TaskId> {
  const taskId = await insertTask(scene.tx, {
    requestId,
    instanceNo,
    host: '127.0.0.1',
    ports: [program.port],
    startedAt: Date.now(),
    updates: [['TASK_RUNNING', Date.now()]],
  });
  await scene.tx.query('UPDATE task SET healthchecks_finished = true WHERE task_id = $1', [taskId.id]);
  return taskId;
}

const ordered = (): Promise<{ task_id: string; message: string }[]> =>
  scene.tx.query(`SELECT task_id, message FROM task_cleanup WHERE cleanup_type = 'UNHEALTHY_TASK' ORDER BY task_id`);
const failing = (): Promise<{ task_id: string; failures: number; sick_since: Date | null; waits_for: string }[]> =>
  scene.tx.query('SELECT * FROM task_liveness ORDER BY task_id');
const isSick = async (count = 1): Promise<boolean> =>
  (await failing()).filter(({ sick_since: since }) => since !== null).length === count;
const waitsFor = async (): Promise<(string | null)[]> => (await failing()).map((row) => row.waits_for);

test('a task that was healthy and fails again is told of, and replaced: a new one is asked for', async () => {
  let status = 200;
  const program = await scene.program(() => ({ status }));
  await deploy();
  const { id } = await healthyTask(program);
  await look();
  await waitFor('checks after it had passed', () => program.asked > 2);
  expect(await failing()).toEqual([]);
  status = 503;
  await waitFor('the order', async () => (await ordered()).length > 0);
  expect(await ordered()).toEqual([{ task_id: id, message: 'Task failed 3 liveness checks in a row (status 503)' }]);
  expect(await scene.tx.query('SELECT pending_type, deploy_id FROM pending_request')).toEqual([
    { pending_type: 'TASK_BOUNCE', deploy_id: 'd1' },
  ]);
  expect(await scene.tx.query('SELECT count FROM replacement_wave')).toEqual([{ count: 1 }]);
  expect(await toldEvents(scene.tx, 'HEALTH')).toMatchObject([
    { taskId: id, eventType: 'UNHEALTHY', message: 'status 503' },
  ]);
  await look();
  const { asked } = program;
  await aWhile();
  expect(program.asked).toBe(asked);
});

test('fewer failures than the threshold are forgotten when a check passes, and one that recovers is told of', async () => {
  let status = 500;
  const program = await scene.program(() => ({ status }));
  await deploy({ failureThreshold: 3, action: 'NONE' });
  const { id } = await healthyTask(program);
  await look();
  await waitFor('sickness', () => isSick());
  await look();
  expect([await waitsFor(), await ordered()]).toEqual([['ACTION_NONE'], []]);
  status = 204;
  await waitFor('health', async () => (await failing()).length === 0);
  expect((await toldEvents(scene.tx, 'HEALTH')).map(({ taskId, eventType }) => [taskId, eventType])).toEqual([
    [id, 'UNHEALTHY'],
    [id, 'RECOVERED'],
  ]);
});

test('of a service that fails as a whole no more are replaced at once than allowed, and the others say why', async () => {
  const program = await scene.program(() => ({ status: 500 }));
  await deploy({ maxUnhealthyReplacements: 2 }, 5);
  for (let no = 1; no <= 5; no++) await healthyTask(program, no);
  await look();
  await waitFor('sickness of all', () => isSick(5));
  await look();
  const gone = new Set((await ordered()).map((row) => row.task_id));
  expect([1, 2]).toContain(gone.size);
  const waiting = (await failing()).filter((row) => !gone.has(row.task_id));
  expect(waiting.map((row) => row.waits_for)).not.toContain(null);
  expect(['LIMIT', 'BACK_OFF']).toEqual(expect.arrayContaining(waiting.map((row) => row.waits_for)));
});

test('a leader that reaches no task of several requests replaces none, and does when it reaches one again', async () => {
  const gone = await scene.program();
  const other = await scene.program();
  await Promise.all([gone.close(), other.close()]);
  await deploy();
  await insertRequest(scene.tx, { request: { id: 'api' }, activeDeployId: 'd1' });
  await insertDeploy(scene.tx, {
    deploy: { requestId: 'api', healthcheck: { uri: '/', liveness: { ...quick, action: 'NONE' } } },
  });
  const { id } = await healthyTask(gone);
  await healthyTask(other, 1, 'api');
  await look();
  await waitFor('sickness', () => isSick(2));
  await look();
  expect(await ordered()).toEqual([]);
  expect(await waitsFor()).toContain('CANNOT_JUDGE');
  await scene.program(undefined, other.port);
  await waitFor('the order', async () => (await ordered()).length > 0);
  expect((await ordered()).map((row) => row.task_id)).toEqual([id]);
});

test('a new leader goes on with what the last one had counted, and keeps its pauses', async () => {
  const program = await scene.program(() => ({ status: 500 }));
  await deploy({ failureThreshold: 50 }, 3);
  const [first, second] = [await healthyTask(program, 1), await healthyTask(program, 2)];
  for (const { id } of [first, second])
    await scene.tx.query(
      `INSERT INTO task_liveness (task_id, request_id, failures, failing_since, sick_since) VALUES ($1, 'web', 49, now(), NULL)`,
      [id],
    );
  await scene.tx.query(
    `INSERT INTO replacement_wave (request_id, deploy_id, count, last_at) VALUES ('web', 'd1', 6, now())`,
  );
  (scene.rooms.app.get(Leadership) as FixedLeadership).start();
  await waitFor('sickness', () => isSick(2));
  await waitFor('a decision', async () => {
    await look();
    return (await waitsFor()).every((reason) => reason === 'BACK_OFF');
  });
  expect(await ordered()).toEqual([]);
});

test('a task that a former leader found sick is not replaced before this one has asked it', async () => {
  const program = await scene.program(() => undefined);
  await deploy({ timeoutSeconds: 60 });
  const { id } = await healthyTask(program);
  await scene.tx.query(
    `INSERT INTO task_liveness (task_id, request_id, failures, failing_since, sick_since) VALUES ($1, 'web', 3, now(), now())`,
    [id],
  );
  await look();
  expect([await ordered(), await waitsFor()]).toEqual([[], ['CANNOT_JUDGE']]);
});

test('a task that is not asked any more is neither sick nor well', async () => {
  const program = await scene.program(() => ({ status: 500 }));
  await deploy({ action: 'NONE' });
  await healthyTask(program);
  await look();
  await waitFor('sickness', () => isSick());
  await scene.tx.query(`UPDATE request SET document = document || '{"skipHealthchecks": true}'`);
  await look();
  expect(await failing()).toEqual([]);
});

describe('a task is not asked for its liveness', () => {
  test.each<{ name: string; change: string }>([
    { name: 'before it has passed its health check', change: 'UPDATE task SET healthchecks_finished = false' },
    { name: 'when it was launched to skip checks', change: 'UPDATE task SET skip_healthchecks = true' },
    {
      name: 'while its request skips checks',
      change: `UPDATE request SET document = document || '{"skipHealthchecks": true}'`,
    },
    {
      name: 'when its deploy does not ask for it',
      change: `UPDATE deploy_history SET data = data #- '{deploy,healthcheck,liveness}'`,
    },
    { name: 'when it has ended', change: `UPDATE task SET ended_at = now(), state = 'TASK_FAILED'` },
    {
      name: 'while operators have switched health checks off',
      change: `INSERT INTO disabled_action (action, message, automatically_clearable) VALUES ('RUN_HEALTH_CHECKS', 'm', false)`,
    },
  ])('$name', async ({ change }) => {
    const program = await scene.program();
    await deploy();
    await healthyTask(program);
    await scene.tx.query(change);
    await look();
    await aWhile();
    expect([program.asked, await failing()]).toEqual([0, []]);
  });
});

test('by TCP a task passes when it accepts a connection, at first and later on', async () => {
  const program = await scene.program();
  await scene.deploy({ uri: undefined, type: 'TCP', liveness: quick });
  await scene.run([program.port]);
  scene.announce();
  await waitFor('the passed check', () => scene.isFinished());
  expect((await scene.results()).at(-1)).toMatchObject({
    status_code: 200,
    response_body: 'The connection was accepted',
  });
  await look();
  await program.close();
  await waitFor('the order', async () => (await ordered()).length > 0);
  expect((await ordered())[0]!.message).toMatch(/^Task failed 3 liveness checks in a row \(.*ECONNREFUSED/);
});
