import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { aWhile, HealthScene, type Program } from '../../../../test/support/health-scene.js';
import { waitFor } from '../../../../test/support/wait-for.js';
import type { RequestParent } from '../../../core/model/request.js';
import type { TaskHistory } from '../../../core/model/task.js';
import { HistoryModule } from '../../history/history.module.js';
import { ExpiringPoller } from '../../requests/expiring/expiring.poller.js';
import { RequestsModule } from '../../requests/requests.module.js';

let scene: HealthScene;

beforeAll(async () => {
  scene = await HealthScene.start({ considerTaskHealthyAfterRunningForSeconds: 0 }, [RequestsModule, HistoryModule]);
});
afterAll(() => scene.close());
afterEach(() => scene.clear());

const skip = (body: object) =>
  scene.rooms.call<RequestParent>('PUT', '/api/requests/request/web/skip-healthchecks', body);
const taskIds = async () => (await scene.rooms.get<RequestParent>('/api/requests/request/web')).body.taskIds!;
const history = async (taskId: string) =>
  (await scene.rooms.get<TaskHistory>(`/api/history/task/${taskId}`)).body.healthcheckResults;

/** A task that fails its checks, and has done so once. */
async function failing(): Promise<{ program: Program; id: string }> {
  const program = await scene.program(() => ({ status: 503, text: 'not yet' }));
  await scene.deploy({});
  const { id } = await scene.run([program.port]);
  scene.announce();
  await waitFor('a failed check', async () => (await scene.results()).length > 0);
  return { program, id };
}

test('results are told in the history of the task, while it runs', async () => {
  const { id } = await failing();
  expect((await history(id))[0]).toEqual({
    taskId: expect.objectContaining({ id, instanceNo: 1 }),
    timestamp: expect.any(Number),
    startup: false,
    statusCode: 503,
    durationMillis: expect.any(Number),
    responseBody: 'not yet',
  });
});

describe('turning the skip on', () => {
  test('gives every active task a passed result that names the user, and ends its checks', async () => {
    const { program, id } = await failing();
    expect((await taskIds()).notYetHealthy).toHaveLength(1);
    expect((await skip({ skipHealthchecks: true })).status).toBe(200);
    expect((await taskIds()).healthy).toHaveLength(1);
    await scene.look();
    const asked = program.asked;
    await aWhile();
    expect(program.asked).toBe(asked);
    const told = await history(id);
    expect(told.filter((result) => result.statusCode === 200)).toEqual([
      expect.objectContaining({ startup: false, responseBody: expect.stringMatching(/^Health checks skipped by \S/) }),
    ]);
  });

  test('does so once: repeating it changes no result', async () => {
    await failing();
    await skip({ skipHealthchecks: true });
    await skip({ skipHealthchecks: true });
    expect((await scene.results()).filter((result) => result.status_code === 200)).toHaveLength(1);
  });

  test('leaves out tasks that have ended and those whose checks are finished', async () => {
    await failing();
    const ended = await scene.run([1], 2);
    const finished = await scene.run([1], 3);
    await scene.tx.query('UPDATE task SET ended_at = now() WHERE task_id = $1', [ended.id]);
    await scene.tx.query('UPDATE task SET healthchecks_finished = true WHERE task_id = $1', [finished.id]);
    await skip({ skipHealthchecks: true });
    const given = (await scene.results()).filter((result) => result.status_code === 200);
    expect(given.map((result) => result.task_id)).not.toContain(ended.id);
    expect(given.map((result) => result.task_id)).not.toContain(finished.id);
    expect(given).toHaveLength(1);
  });

  test('writes UPDATED in the history of the request', async () => {
    await failing();
    await skip({ skipHealthchecks: true, message: 'known to be slow' });
    const found = await scene.tx.query('SELECT event_type, message FROM request_history');
    expect(found).toEqual([{ event_type: 'UPDATED', message: 'known to be slow' }]);
  });
});

describe('turning it off', () => {
  test('asks no task again that was active while it was on: it stays healthy, and its checks are finished', async () => {
    const { program } = await failing();
    await skip({ skipHealthchecks: true });
    await scene.look();
    // A check that was under way arrives late.
    await aWhile();
    const asked = program.asked;
    await skip({ skipHealthchecks: false });
    await scene.look();
    await aWhile();
    expect(program.asked).toBe(asked);
    expect((await taskIds()).healthy).toHaveLength(1);
    expect(await scene.isFinished()).toBe(true);
  });

  test('leaves a task healthy that began to run while it was on, without asking it', async () => {
    await failing();
    await skip({ skipHealthchecks: true });
    const unasked = await scene.program(() => ({ status: 503 }));
    await scene.run([unasked.port], 2);
    await skip({ skipHealthchecks: false });
    await scene.look();
    await aWhile();
    expect(unasked.asked).toBe(0);
    expect((await taskIds()).healthy.map(({ instanceNo }) => instanceNo)).toEqual([1, 2]);
  });

  test('has tasks asked that begin to run afterwards', async () => {
    await failing();
    await skip({ skipHealthchecks: true });
    await skip({ skipHealthchecks: false });
    const later = await scene.program(() => ({ status: 503 }));
    await scene.run([later.port], 2);
    scene.announce();
    await waitFor('a check', () => later.asked > 0);
    expect((await taskIds()).notYetHealthy.map(({ instanceNo }) => instanceNo)).toEqual([2]);
  });

  test('takes nothing back that was said while a check was in flight: its failure is not stored', async () => {
    const program = await scene.program(() => undefined);
    await scene.deploy({ responseTimeoutSeconds: 0.3 });
    await scene.run([program.port]);
    scene.announce();
    await waitFor('the check', () => program.asked > 0);
    await skip({ skipHealthchecks: true });
    await skip({ skipHealthchecks: false });
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect((await scene.results()).map((result) => result.status_code)).toEqual([200]);
    expect((await taskIds()).healthy).toHaveLength(1);
  });

  test('comes by itself when its time is over', async () => {
    await failing();
    await skip({ skipHealthchecks: true, durationMillis: 1 });
    const later = await scene.program(() => ({ status: 503 }));
    await new Promise((resolve) => setTimeout(resolve, 5));
    await scene.rooms.app.get(ExpiringPoller).runOnce(Date.now());
    await scene.run([later.port], 2);
    scene.announce();
    await waitFor('a check', () => later.asked > 0);
    const { body } = await scene.rooms.get<RequestParent>('/api/requests/request/web');
    expect([body.request.skipHealthchecks, body.expiringSkipHealthchecks]).toEqual([undefined, undefined]);
  });
});
