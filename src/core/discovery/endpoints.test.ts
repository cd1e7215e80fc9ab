import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { healthContext, launchedAt, observed, result } from '../../../test/support/fixtures/health.js';
import { cleanupRules } from '../cleanup/index.js';
import { sickTaskWaits, taskCleanupTypes, type TaskCleanupType } from '../model/enums.js';
import { plainHost, serviceEndpoints, type ServiceTask } from './index.js';

const now = launchedAt + 60_000;
const serving = (instanceNo = 1, changes: Partial<ServiceTask> = {}): ServiceTask => ({
  ...observed({ instanceNo, lastResult: result() }),
  killed: false,
  host: '10.0.0.1',
  rackId: 'r1',
  slaveId: 's1',
  ports: [31_000 + instanceNo],
  context: healthContext(),
  ...changes,
});
const sort = (...tasks: ServiceTask[]) => serviceEndpoints('web', tasks, now);
const reasonOf = (task: ServiceTask) => sort(task).leftOut[0]?.reason;
const unchecked = healthContext({ deploy: { requestId: 'web', id: 'd1' } });

test('a healthy task is told with its place, its port for calls and the time of its health', () => {
  const context = healthContext({
    deploy: { requestId: 'web', id: 'd1', loadBalancerPortIndex: 1, healthcheck: { uri: '/' } },
  });
  expect(sort(serving(2, { ports: [31_000, 31_001], context })).endpoints).toEqual([
    {
      taskId: observed({ instanceNo: 2 }).taskId.id,
      deployId: 'd1',
      instanceNo: 2,
      host: '10.0.0.1',
      slaveId: 's1',
      rackId: 'r1',
      ports: [31_000, 31_001],
      port: 31_001,
      healthySince: launchedAt + 2_000,
    },
  ]);
});

test.each([
  ['by its health check', serving(), launchedAt + 2_000],
  ['without one: after it ran for a while', serving(1, { context: unchecked }), launchedAt + 5_000],
  ['excused from it: since it runs', serving(1, { lastResult: undefined, skippedByRequest: true }), launchedAt],
])('it counts as healthy %s', (_how, task, since) => expect(sort(task).endpoints[0]?.healthySince).toBe(since));

describe('a task gets no calls', () => {
  test.each<[string, ServiceTask, string]>([
    ['that does not run yet', serving(1, { state: 'TASK_STAGING', runningAt: undefined }), 'STARTING'],
    ['that has no answer to its health check yet', serving(1, { lastResult: undefined }), 'STARTING'],
    ['that has not run for long enough', serving(1, { context: unchecked, runningAt: now - 4_999 }), 'STARTING'],
    [
      'that failed its health check for good',
      serving(1, {
        lastResult: result({ statusCode: 500 }),
        checksCounted: 3,
        context: healthContext({ deploy: { requestId: 'web', id: 'd1', healthcheck: { uri: '/', maxRetries: 1 } } }),
      }),
      'UNHEALTHY',
    ],
    ['that is being ended', serving(1, { killed: true }), 'LEAVING'],
    ['whose main program is over', serving(1, { state: 'TASK_KILLING' }), 'LEAVING'],
    ['whose deploy is gone', serving(1, { context: undefined }), 'LEAVING'],
    ['that has no port', serving(1, { ports: [] }), 'NO_PORT'],
    ['whose host is no host name', serving(1, { host: '10.0.0.1; return 200' }), 'BAD_ADDRESS'],
  ])('%s', (_what, task, reason) => {
    expect(reasonOf(task)).toBe(reason);
    expect(sort(task).endpoints).toEqual([]);
  });
  test('whose address another one has', () =>
    expect(sort(serving(1), serving(2, { ports: [31_001] })).leftOut).toMatchObject([
      { instanceNo: 2, reason: 'ADDRESS_TAKEN' },
    ]));
});

describe('a task that was ordered to go', () => {
  const leaves = (type: TaskCleanupType) => cleanupRules[type].longRunningAtOnce || type === 'UNHEALTHY_TASK';
  test.each(taskCleanupTypes.map((cleanupType) => [cleanupType, leaves(cleanupType) ? 'LEAVING' : undefined] as const))(
    'for %s: %s',
    (cleanupType, reason) => expect(reasonOf(serving(1, { cleanupType }))).toBe(reason),
  );
  test('works on as long as it is to be replaced first', () =>
    expect(
      sort(serving(1, { cleanupType: 'BOUNCING' }), serving(2, { cleanupType: 'BOUNCING' })).endpoints,
    ).toHaveLength(2));
});

describe('a task that fails its liveness checks', () => {
  test.each(sickTaskWaits)('and waits for %s', (sickWait) =>
    // Otherwise a leader that reaches nobody would take all services out of service.
    expect(reasonOf(serving(1, { isSick: true, sickWait }))).toBe(
      sickWait === 'CANNOT_JUDGE' ? undefined : 'UNHEALTHY',
    ),
  );
  test('gets calls until the leader has decided about it', () =>
    expect(reasonOf(serving(1, { isSick: true }))).toBeUndefined());
});

test('the order of rows never changes the answer, and each task is told of once', () => {
  const anyTask = fc.record({
    instanceNo: fc.integer({ min: 1, max: 6 }),
    deployId: fc.constantFrom('d1', 'd2'),
    port: fc.integer({ min: 31_000, max: 31_003 }),
    killed: fc.boolean(),
    isSick: fc.boolean(),
    cleanupType: fc.option(fc.constantFrom(...taskCleanupTypes), { nil: undefined }),
    host: fc.constantFrom('a', 'b', '::1', 'no host'),
  });
  const tasks = fc.uniqueArray(anyTask, { selector: ({ instanceNo, deployId }) => `${instanceNo} ${deployId}` });
  fc.assert(
    fc.property(tasks, (given) => {
      const list = given.map(({ instanceNo, deployId, port, ...rest }) =>
        serving(instanceNo, { ...observed({ instanceNo, deployId, lastResult: result() }), ports: [port], ...rest }),
      );
      const sorted = sort(...list);
      expect(sort(...list.toReversed())).toEqual(sorted);
      expect([...sorted.endpoints, ...sorted.leftOut].map(({ taskId }) => taskId).toSorted()).toEqual(
        list.map(({ taskId }) => taskId.id).toSorted(),
      );
    }),
  );
});

test.each<[string, string | undefined]>([
  ['10.0.0.1', '10.0.0.1'],
  ['::1', '::1'],
  ['2001:db8::7', '2001:db8::7'],
  ['2001:DB8:0:0:0:0:0:7', '2001:db8::7'],
  // nginx does not take it so.
  ['d6:d:f:1a:0f:81:4a::', 'd6:d:f:1a:f:81:4a:0'],
  ['node-1.example.com', 'node-1.example.com'],
  ['my_host', 'my_host'],
  ...['', 'a b', 'a;', 'a\nb', '-a', 'a..b', ':::', 'fe80::1%eth0', '[::1]', 'a'.repeat(254), '"a"', 'münchen'].map(
    (text): [string, undefined] => [text, undefined],
  ),
])('%j as a host is %s', (host, plain) => expect(plainHost(host)).toBe(plain));
