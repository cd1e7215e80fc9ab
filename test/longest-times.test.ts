import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { TaskId } from '../src/core/model/task.js';
import type { Poller } from '../src/platform/poller/poller.js';
import { Pollers } from '../src/platform/poller/pollers.js';
import { SettingsFile } from '../src/platform/settings/settings.js';
import { millisOfUnit, numberSettings } from './support/number-settings.js';
import { SimulatedCluster } from './support/simulated-cluster/simulated-cluster.js';
import { startTestApp, type TestApp } from './support/test-app.js';
import type { ClusterDriver } from '../src/cluster/cluster-driver.js';

/** Every time that can be set, at the greatest value that is accepted. */
function longestTimes(): SettingsFile {
  const file: Record<string, unknown> = {};
  for (const setting of numberSettings(SettingsFile)) {
    const [section] = setting.path;
    if (millisOfUnit(setting) === undefined || setting.isInList || section === 'objstore') continue;
    const last = setting.path.slice(0, -1);
    const inner = last.reduce<Record<string, unknown>>((at, key) => (at[key] ??= {}) as Record<string, unknown>, file);
    inner[setting.path.at(-1)!] = setting.maximum;
  }
  Object.assign((file['historyPurging'] ??= {}), { enabled: true, deleteTaskHistoryAfterTasksPerRequest: 1 });
  // It limits what the deploy below asks for.
  delete file['healthcheckMaxTotalTimeoutSeconds'];
  return SettingsFile.parse({ ...file, spreadAllSlavesEnabled: true, shuffleTasksForOverloadedSlaves: true });
}

const longestSeconds = 315_360_000;
const longestMillis = longestSeconds * 1_000;
const healthcheck = {
  uri: '/',
  startupTimeoutSeconds: longestSeconds,
  startupDelaySeconds: longestSeconds - 1,
  startupIntervalSeconds: longestSeconds,
  intervalSeconds: longestSeconds,
  responseTimeoutSeconds: longestSeconds,
  maxRetries: 2_147_483_647,
};
const job = {
  killOldNonLongRunningTasksAfterMillis: longestMillis,
  taskExecutionTimeLimitMillis: longestMillis,
  numRetriesOnFailure: 1,
};
const requests = [
  { id: 'web', requestType: 'SERVICE', instances: 2, waitAtLeastMillisAfterTaskFinishesForReschedule: longestMillis },
  {
    id: 'cron',
    requestType: 'SCHEDULED',
    schedule: '0 0 29 2 *',
    scheduledExpectedRuntimeMillis: longestMillis,
    ...job,
  },
  { id: 'job', requestType: 'ON_DEMAND', ...job },
  { id: 'once', requestType: 'RUN_ONCE', ...job },
];
const deploy = {
  id: 'd1',
  command: 'true',
  resources: { cpus: 0.1, memoryMb: 16, numPorts: 1 },
  deployHealthTimeoutSeconds: longestSeconds,
  considerHealthyAfterRunningForSeconds: longestSeconds,
};

const pollers: Poller[] = [];
const warnings: string[] = [];
const onWarning = (warning: Error): void => void warnings.push(warning.name);
const cluster = new SimulatedCluster({ startAt: Date.now(), machines: 2 });
let app: TestApp<ClusterDriver>;
beforeAll(async () => {
  process.on('warning', onWarning);
  const { register } = Pollers.prototype;
  const spy = vi.spyOn(Pollers.prototype, 'register').mockImplementation(function (this: Pollers, options) {
    const poller = register.call(this, options);
    pollers.push(poller);
    return poller;
  });
  app = await startTestApp({ driver: cluster.driver(), settings: longestTimes() });
  spy.mockRestore();
});
afterAll(async () => {
  process.off('warning', onWarning);
  await app?.close();
});

interface Named {
  id: string;
  state: string;
  currentState: { state: string };
  taskId: TaskId;
}
async function call<T = Named>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(`${app.url}/api/${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const answer = await response.text();
  expect(response.status, `${method} ${path}: ${answer}`).toBeLessThan(300);
  return (answer === '' ? undefined : JSON.parse(answer)) as T;
}
/** A pass of every poller, and what the machines say to it. */
async function rounds(times: number): Promise<void> {
  for (let round = 0; round < times; round++) {
    for (const poller of pollers) {
      poller.wake();
      await (poller as unknown as { running: Promise<void> }).running;
    }
    await cluster.advance(1_000);
  }
}
const failing = () => pollers.map((poller) => poller.state()).filter(({ lastError }) => lastError !== undefined);
const failed = () => pollers.map((poller) => poller.figures()).filter(({ failures }) => failures > 0);

test('each poller has a name of its own, in one form', () => {
  const names = pollers.map((poller) => poller.state().name);
  expect(names.filter((name) => !/^[a-z]+(-[a-z]+)*$/.test(name))).toEqual([]);
  expect(new Set(names).size).toBe(names.length);
});

test('at the greatest times that are accepted no poller stops and no timer goes off at once', async () => {
  expect(pollers.length).toBeGreaterThan(20);
  for (const request of requests) {
    await call('POST', 'requests', request);
    const withChecks = request.id === 'web' ? { healthcheck } : {};
    const requestId = request.id;
    await call('POST', 'deploys', { deploy: { ...deploy, ...withChecks, requestId } });
  }
  await call('POST', 'requests/request/job/run', { runAt: Date.now() + 86_400_000 });
  await call('POST', 'requests/request/job/run', {});
  await rounds(3);
  expect([failing(), failed(), warnings]).toEqual([[], [], []]);
  const active = await call<Named[]>('GET', 'tasks/active');
  expect(active.map(({ taskId }) => taskId.requestId).toSorted()).toEqual(['job', 'once', 'web', 'web']);

  for (const [path, body] of [
    ['requests/request/web/skip-healthchecks', { skipHealthchecks: true }],
    ['requests/request/web/scale', { instances: 3 }],
    ['requests/request/web/priority', { priority: 0.4 }],
  ] as const)
    await call('PUT', path, { ...body, durationMillis: longestMillis });
  await call('POST', 'requests/request/cron/pause', { durationMillis: longestMillis });
  await call('POST', 'slaves/slave/slave-1/freeze', { durationMillis: longestMillis, revertToState: 'ACTIVE' });
  await call('POST', 'slaves/slave/slave-2/decommission', { durationMillis: longestMillis, revertToState: 'ACTIVE' });
  for (const { taskId } of active) {
    if (taskId.requestId === 'job') cluster.finish(taskId.id, 'TASK_FAILED', 'boom');
    else if (taskId.requestId === 'once') await call('DELETE', `tasks/task/${taskId.id}`, { override: true });
  }
  await rounds(2);
  cluster.reincarnate('slave-1');
  await rounds(2);
  expect([failing(), failed(), warnings]).toEqual([[], [], []]);
  expect((await call('GET', 'requests/request/cron')).state).toBe('PAUSED');
  const states = (await call<Named[]>('GET', 'slaves')).map(({ id, currentState }) => `${id} ${currentState.state}`);
  expect(states.toSorted()).toEqual(['slave-1 FROZEN', expect.stringMatching(/^slave-2 DECOMMISSION/)]);
  for (const path of [
    'state?skipCache=true',
    'metrics',
    'requests',
    'tasks/scheduled',
    'deploys/pending',
    'history/tasks',
  ])
    await call('GET', path);
}, 90_000);
