import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { aWhile, HealthScene } from '../../../../test/support/health-scene.js';
import { waitFor } from '../../../../test/support/wait-for.js';
import { Leadership } from '../../../platform/leadership/leadership.js';
import { Wake } from '../../../platform/wake/wake.js';
import { NewTaskCheckPoller } from './new-task-check.poller.js';

let scene: HealthScene;

beforeAll(async () => {
  scene = await HealthScene.start();
});
afterAll(() => scene.close());
afterEach(async () => {
  vi.restoreAllMocks();
  await scene.clear();
});

const change = (sql: string) => scene.tx.query(`UPDATE request SET version = version + 1, ${sql}`);

describe('the end of a task', () => {
  test('cancels its next check', async () => {
    const program = await scene.program(() => ({ status: 503 }));
    await scene.deploy({});
    await scene.run([program.port]);
    scene.announce();
    await waitFor('a check', () => program.asked > 0);
    await scene.tx.query(`UPDATE task SET ended_at = now(), state = 'TASK_FAILED'`);
    await scene.look();
    const asked = program.asked;
    await aWhile();
    expect(program.asked).toBe(asked);
  });

  test('ends the check in flight, and nothing is stored of it', async () => {
    const program = await scene.program(() => undefined);
    await scene.deploy({});
    await scene.run([program.port]);
    scene.announce();
    await waitFor('a check', () => program.asked > 0);
    await scene.tx.query(`UPDATE task SET ended_at = now(), state = 'TASK_FAILED'`);
    await scene.look();
    await waitFor('its connection to be closed', async () => (await program.open()) === 0);
    expect(await scene.results()).toEqual([]);
  });

  test('that is not noticed yet: the result is not stored', async () => {
    let ended: Promise<unknown> | undefined;
    const program = await scene.program(() => {
      ended ??= scene.tx.query(`UPDATE task SET ended_at = now(), state = 'TASK_FAILED'`);
      return undefined;
    });
    await scene.deploy({ responseTimeoutSeconds: 0.2 });
    await scene.run([program.port]);
    scene.announce();
    await waitFor('the check', () => ended);
    await ended;
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect([await scene.results(), program.asked]).toEqual([[], 1]);
  });
});

test('a failed check of a task whose checks were closed meanwhile is not stored', async () => {
  const program = await scene.program(() => ({ status: 503 }));
  await scene.deploy({});
  await scene.run([program.port]);
  scene.announce();
  await waitFor('a check', async () => (await scene.results()).length > 0);
  await scene.tx.query('UPDATE task SET healthchecks_finished = true');
  // One that was being stored meanwhile is there by then.
  await scene.look();
  const { length } = await scene.results();
  await aWhile();
  expect((await scene.results()).length).toBe(length);
});

test('a request that begins to skip checks ends them at once, and goes on with them when it does no more', async () => {
  const program = await scene.program(() => ({ status: 503 }));
  await scene.deploy({});
  await scene.run([program.port]);
  scene.announce();
  await waitFor('a check', () => program.asked > 0);
  await change(`document = document || '{"skipHealthchecks": true}'`);
  await scene.look();
  const asked = program.asked;
  await aWhile();
  expect(program.asked).toBe(asked);
  await change(`document = document - 'skipHealthchecks'`);
  await scene.look();
  await waitFor('another check', () => program.asked > asked);
});

test('a deploy in progress that skips checks does not ask, and its tasks stay healthy when it is over', async () => {
  const program = await scene.program(() => ({ status: 503 }));
  await scene.deploy({}, {}, { skipHealthchecksOnDeploy: true });
  await change(`pending_deploy_id = 'd1', active_deploy_id = NULL`);
  await scene.run([program.port]);
  await scene.look();
  await aWhile();
  await change(`pending_deploy_id = NULL, active_deploy_id = 'd1'`);
  await scene.look();
  await aWhile();
  expect(program.asked).toBe(0);
});

test('the first check waits for the startup delay', async () => {
  const program = await scene.program();
  await scene.deploy({ startupDelaySeconds: 0.5 });
  await scene.run([program.port]);
  const begun = performance.now();
  await scene.look();
  await waitFor('the check', () => program.asked > 0);
  expect(performance.now() - begun).toBeGreaterThan(400);
});

test('one check of a task at a time, however often it is looked for', async () => {
  const program = await scene.program(() => undefined);
  await scene.deploy({});
  await scene.run([program.port]);
  await scene.look();
  await waitFor('the check', () => program.asked > 0);
  for (let looks = 0; looks < 5; looks++) {
    await change('changed_at = now()');
    await scene.look();
  }
  await aWhile();
  expect([program.asked, await program.open()]).toEqual([1, 1]);
});

describe('who is told of a result', () => {
  const told = () => vi.spyOn(scene.rooms.app.get(Wake), 'signalOf');
  const looks = () => vi.spyOn(scene.rooms.app.get(NewTaskCheckPoller), 'lookNow');

  test('deploys and cleanups are, when it settles the matter, and not of one failure among others', async () => {
    let status = 503;
    const program = await scene.program(() => ({ status }));
    await scene.deploy({});
    await scene.run([program.port]);
    const signal = told();
    await scene.look();
    await waitFor('failed checks', async () => (await scene.results()).length >= 2);
    expect(signal).not.toHaveBeenCalledWith(expect.anything(), 'deploys', 'cleanup');
    status = 200;
    await waitFor('word of it', () => signal.mock.calls.some(([, topic]) => topic === 'deploys'));
  });

  test.each([
    { name: 'a status that fails at once, outside a deploy in progress', status: 500, pending: false, expected: 1 },
    { name: 'not of one within: the deploy sees it', status: 500, pending: true, expected: 0 },
    { name: 'not of another failure', status: 503, pending: false, expected: 0 },
    {
      name: 'a passed check of a task that the load balancer is to know',
      status: 200,
      pending: false,
      balanced: true,
      expected: 1,
    },
    { name: 'not of one that it need not know', status: 200, pending: false, expected: 0 },
  ])('the watcher of new tasks is, of $name', async ({ status, pending, balanced, expected }) => {
    const program = await scene.program(() => ({ status }));
    await scene.deploy({ failureStatusCodes: [500] }, { loadBalanced: balanced });
    if (pending) await change(`pending_deploy_id = 'd1'`);
    await scene.run([program.port]);
    const lookNow = looks();
    await scene.look();
    await waitFor('a result', async () => (await scene.results()).length > 0);
    await aWhile();
    expect(lookNow).toHaveBeenCalledTimes(expected);
  });
});

test('an instance that leads no more asks no task', async () => {
  const own = await HealthScene.start();
  try {
    const program = await own.program(() => ({ status: 503 }));
    await own.deploy({});
    await own.run([program.port]);
    await own.look();
    await waitFor('a check', () => program.asked > 0);
    await own.rooms.app.get(Leadership).stop();
    const asked = program.asked;
    await aWhile();
    expect(program.asked).toBe(asked);
    await own.clear();
  } finally {
    await own.close();
  }
});
