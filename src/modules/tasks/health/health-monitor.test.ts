import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { EntityManager } from 'typeorm';
import type { HealthcheckOptions } from '../../../core/model/deploy.js';
import { FixedLeadership } from '../../../../test/support/fixed-leadership.js';
import { insertDeploy, insertRequest, insertTask } from '../../../../test/support/builders.js';
import { startRooms, type RoomApp } from '../../../../test/support/room-app.js';
import { waitFor } from '../../../../test/support/wait-for.js';
import { Leadership } from '../../../platform/leadership/leadership.js';
import { Wake } from '../../../platform/wake/wake.js';
import { HealthMonitor } from './health-monitor.service.js';
import { TaskHealthModule } from './task-health.module.js';

/** A real server; `answer` says what it does with each request, undefined: it does not answer. */
interface Program {
  port: number;
  asked: number;
  answer: (request: http.IncomingMessage) => { status: number; text?: string } | undefined;
  close(): Promise<void>;
}

const programs: Program[] = [];
async function start(answer: Program['answer'] = () => ({ status: 200 }), port = 0): Promise<Program> {
  const server = http.createServer((request, response) => {
    program.asked += 1;
    const { status, text } = program.answer(request) ?? {};
    if (status !== undefined) response.writeHead(status).end(text);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const program: Program = {
    port: (server.address() as AddressInfo).port,
    asked: 0,
    answer,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  programs.push(program);
  return program;
}

let rooms: RoomApp;
let tx: EntityManager;

beforeAll(async () => {
  rooms = await startRooms({
    modules: [TaskHealthModule],
    // Fast enough for a test, each different enough to tell which one was kept.
    settings: {
      healthcheckIntervalSeconds: 0.05,
      startupIntervalSeconds: 0.01,
      healthcheckTimeoutSeconds: 5,
      startupTimeoutSeconds: 30,
      checkNewTasksEverySeconds: 0,
    },
  });
  tx = rooms.database.manager;
});
afterAll(() => rooms.close());
beforeEach(() =>
  tx.query(
    'TRUNCATE request, request_history, deploy_history, task, task_launch, task_update, task_healthcheck, task_cleanup',
  ),
);
afterEach(async () => {
  // Without tasks every plan is forgotten.
  await tx.query('TRUNCATE task');
  await rooms.app.get(HealthMonitor).runOnce(Date.now());
  await Promise.all(programs.splice(0).map((program) => program.close()));
});

async function deploy(healthcheck: HealthcheckOptions, request = {}): Promise<void> {
  await insertRequest(tx, { request, activeDeployId: 'd1' });
  await insertDeploy(tx, { deploy: { healthcheck: { uri: '/health', ...healthcheck } } });
}
const run = (ports: number[], instanceNo = 1) =>
  insertTask(tx, {
    instanceNo,
    host: '127.0.0.1',
    ports,
    startedAt: Date.now(),
    updates: [['TASK_RUNNING', Date.now()]],
  });
/** What whoever stores a status does after the commit. */
const announce = () => rooms.app.get(Wake).signal('deploys');
const results = (): Promise<Record<string, unknown>[]> =>
  tx.query('SELECT * FROM task_healthcheck ORDER BY checked_at');
const finished = async () => (await tx.query('SELECT healthchecks_finished FROM task'))[0].healthchecks_finished;

test('a running task is asked until it passes, and then no more', async () => {
  let status = 503;
  const program = await start(() => ({ status, text: `status ${status}` }));
  await deploy({});
  await run([program.port]);
  announce();
  await waitFor('two failed checks', async () => (await results()).length >= 2);
  expect((await results())[0]).toMatchObject({
    status_code: 503,
    response_body: 'status 503',
    startup: false,
    error_message: null,
  });
  expect(await finished()).toBe(false);
  status = 200;
  await waitFor('the passed check', finished);
  const asked = program.asked;
  expect((await results()).at(-1)).toMatchObject({ status_code: 200, response_body: 'status 200' });
  await rooms.app.get(HealthMonitor).runOnce(Date.now() + 60_000);
  announce();
  await new Promise((resolve) => setTimeout(resolve, 150));
  expect(program.asked).toBe(asked);
});

test('while operators have switched health checks off nobody is asked; when they come back it goes on', async () => {
  const program = await start(() => ({ status: 503 }));
  await deploy({});
  await run([program.port]);
  announce();
  await waitFor('a check', () => program.asked > 0);
  await tx.query(
    `INSERT INTO disabled_action (action, message, automatically_clearable) VALUES ('RUN_HEALTH_CHECKS', 'm', false)`,
  );
  await rooms.app.get(HealthMonitor).runOnce(Date.now());
  const asked = program.asked;
  await new Promise((resolve) => setTimeout(resolve, 150));
  expect(program.asked).toBe(asked);
  await tx.query('TRUNCATE disabled_action');
  rooms.app.get(Wake).signal('actions');
  await waitFor('another check', () => program.asked > asked);
});

test('a task that does not listen yet is asked again soon, and only the last refusal is kept once it passes', async () => {
  const program = await start();
  const { port } = program;
  await program.close();
  programs.length = 0;
  await deploy({});
  await run([port]);
  announce();
  await waitFor('refused checks', async () => (await results()).length >= 2);
  expect((await results()).map((result) => result.startup)).not.toContain(false);
  await start(undefined, port);
  await waitFor('the passed check', finished);
  expect((await results()).filter((result) => result.startup)).toEqual([]);
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
  const program = await start(answer);
  await deploy(options);
  await run([program.port]);
  announce();
  const expected = (options.maxRetries ?? 0) + 1;
  await waitFor('the last check', async () => (await results()).length === expected);
  await rooms.app.get(HealthMonitor).runOnce(Date.now());
  await new Promise((resolve) => setTimeout(resolve, 150));
  expect(await results()).toHaveLength(expected);
  expect((await results()).at(-1)).toMatchObject(last);
});

test('a fixed port, another method and a path are honoured', async () => {
  const program = await start(({ method, url }) => ({
    status: method === 'POST' && url === '/are/you/ok' ? 200 : 400,
  }));
  await deploy({ uri: 'are/you/ok', portNumber: program.port, method: 'POST' });
  await run([1]);
  announce();
  await waitFor('the passed check', finished);
  expect(program.asked).toBe(1);
});

describe('a task is not asked', () => {
  test.each<{ name: string; request?: object; options?: HealthcheckOptions; change?: string }>([
    { name: 'when its request skips checks', request: { skipHealthchecks: true } },
    { name: 'when it is a job', request: { requestType: 'ON_DEMAND' } },
    { name: 'when it was launched to skip checks', change: 'UPDATE task SET skip_healthchecks = true' },
    { name: 'when its executor checks it', options: { healthcheckResultFilePath: 'ok' } },
    { name: 'before it runs', change: `UPDATE task SET running_at = NULL, state = 'TASK_STARTING'` },
    { name: 'after it has ended', change: `UPDATE task SET ended_at = now(), state = 'TASK_FAILED'` },
  ])('$name', async ({ request, options = {}, change }) => {
    const program = await start();
    await deploy(options, request);
    await run([program.port]);
    if (change) await tx.query(change);
    await rooms.app.get(HealthMonitor).runOnce(Date.now());
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect([program.asked, await results()]).toEqual([0, []]);
  });
});

test('a new leader goes on where the last one stopped', async () => {
  const program = await start(() => ({ status: 503 }));
  await deploy({ maxRetries: 3 });
  const taskId = await run([program.port]);
  for (const ago of [1_000, 500]) {
    await tx.query(
      'INSERT INTO task_healthcheck (task_id, checked_at, startup, status_code) VALUES ($1, $2, false, 503)',
      [taskId.id, new Date(Date.now() - ago)],
    );
  }
  (rooms.app.get(Leadership) as FixedLeadership).start();
  await waitFor('the rest of the checks', async () => (await results()).length === 4);
  expect(program.asked).toBe(2);
});

test('hundreds of tasks are checked, even when most of them do not answer', async () => {
  const silent = await start(() => undefined);
  const healthy = await start();
  await deploy({ maxRetries: 0, responseTimeoutSeconds: 2 });
  const ids = [];
  for (let no = 1; no <= 300; no++) ids.push(await run([no % 10 === 0 ? healthy.port : silent.port], no));
  announce();
  await waitFor('a result of each', async () => (await results()).length === ids.length, { timeoutMillis: 20_000 });
  const [{ passed }] = await tx.query('SELECT count(*)::int AS passed FROM task WHERE healthchecks_finished');
  expect(passed).toBe(30);
});
