import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { HealthcheckOptions } from '../model/deploy.js';
import { healthContext, healthSettings, launchedAt, observed, result } from '../../../test/support/fixtures/health.js';
import { explainFailures, judgeTask, judgeTasks, type HealthContext, type ObservedTask } from './index.js';

const plain = (changes: Partial<HealthContext['deploy']> = {}): Partial<HealthContext> => ({
  deploy: { requestId: 'web', id: 'd1', ...changes },
});
const checked = (healthcheck: HealthcheckOptions): Partial<HealthContext> => plain({ healthcheck });
const failed = result({ statusCode: 500 });
const refused = result({ statusCode: undefined, errorMessage: 'connect ECONNREFUSED', startup: true });

interface Case {
  name: string;
  task?: Partial<ObservedTask>;
  context?: Partial<HealthContext>;
  /** Milliseconds since the task began to run. */
  after?: number;
  verdict: string;
}

describe('without health checks the running time decides', () => {
  test.each<Case>([
    { name: 'not running yet', task: { runningAt: undefined, state: 'TASK_STARTING' }, verdict: 'WAITING' },
    { name: 'running for less than the 5 s of the settings', after: 4_999, verdict: 'WAITING' },
    { name: 'running for 5 s', after: 5_000, verdict: 'HEALTHY' },
    {
      name: 'the deploy asks for more',
      context: plain({ considerHealthyAfterRunningForSeconds: 60 }),
      after: 59_999,
      verdict: 'WAITING',
    },
    {
      name: 'a deploy that asks for nothing',
      context: plain({ considerHealthyAfterRunningForSeconds: 0 }),
      after: 0,
      verdict: 'HEALTHY',
    },
    { name: 'ended', task: { state: 'TASK_FAILED' }, after: 60_000, verdict: 'UNHEALTHY' },
    { name: 'over but for its post steps', task: { state: 'TASK_KILLING' }, after: 60_000, verdict: 'UNHEALTHY' },
  ])('$name: $verdict', ({ task, context, after = 0, verdict }) => {
    expect(judgeTask(observed(task), healthContext({ ...plain(), ...context }), launchedAt + after)).toBe(verdict);
  });
});

describe('with a health check its results decide', () => {
  test.each<Case>([
    { name: 'no result', after: 999_999, verdict: 'WAITING' },
    { name: 'passed', task: { lastResult: result({ statusCode: 204 }) }, verdict: 'HEALTHY' },
    { name: 'a redirect that led nowhere', task: { lastResult: result({ statusCode: 304 }) }, verdict: 'WAITING' },
    { name: 'ended after it had passed', task: { lastResult: result(), state: 'TASK_KILLED' }, verdict: 'UNHEALTHY' },
    { name: 'failed, any number of retries', task: { lastResult: failed, checksCounted: 99 }, verdict: 'WAITING' },
    {
      name: 'failed, a retry left',
      context: checked({ uri: '/', maxRetries: 3 }),
      task: { lastResult: failed, checksCounted: 3 },
      verdict: 'WAITING',
    },
    {
      name: 'failed, no retry left',
      context: checked({ uri: '/', maxRetries: 3 }),
      task: { lastResult: failed, checksCounted: 4 },
      verdict: 'UNHEALTHY',
    },
    {
      name: 'a status that fails at once',
      context: checked({ uri: '/', failureStatusCodes: [500] }),
      task: { lastResult: failed },
      verdict: 'UNHEALTHY',
    },
    { name: 'refusing within the startup time', task: { lastResult: refused }, after: 45_000, verdict: 'WAITING' },
    { name: 'refusing beyond the startup time', task: { lastResult: refused }, after: 45_001, verdict: 'UNHEALTHY' },
    {
      name: 'failing beyond the total time, outside a deploy',
      task: { lastResult: failed },
      after: 55_001,
      verdict: 'WAITING',
    },
    {
      name: 'failing beyond the total time, in a deploy',
      context: { deployPending: true },
      task: { lastResult: failed },
      after: 55_001,
      verdict: 'UNHEALTHY',
    },
    {
      name: 'failing beyond the total time that its deploy allows, in a deploy',
      context: { ...plain({ healthcheck: { uri: '/' }, healthcheckMaxTotalTimeoutSeconds: 20 }), deployPending: true },
      task: { lastResult: failed },
      after: 20_001,
      verdict: 'UNHEALTHY',
    },
    { name: 'checked by its executor', context: checked({ healthcheckResultFilePath: 'ok' }), verdict: 'HEALTHY' },
    {
      name: 'checked by its executor, not running yet',
      context: checked({ healthcheckResultFilePath: 'ok' }),
      task: { runningAt: undefined, state: 'TASK_STARTING' },
      verdict: 'WAITING',
    },
    { name: 'began to run while the request skipped checks', task: { skippedByRequest: true }, verdict: 'HEALTHY' },
    {
      name: 'of a deploy that skipped checks while it was in progress',
      context: plain({ healthcheck: { uri: '/' }, skipHealthchecksOnDeploy: true }),
      verdict: 'HEALTHY',
    },
  ])('$name: $verdict', ({ task, context, after = 0, verdict }) => {
    expect(judgeTask(observed(task), healthContext(context), launchedAt + after)).toBe(verdict);
  });
});

describe('checks are left out', () => {
  test.each<Case>([
    { name: 'when the request skips them', context: { requestSkips: true }, verdict: 'HEALTHY' },
    {
      name: 'when operators switched health checks off',
      context: { settings: { ...healthSettings, healthchecksDisabled: true } },
      verdict: 'HEALTHY',
    },
    {
      name: 'when the deploy in progress skips them',
      context: { ...plain({ healthcheck: { uri: '/' }, skipHealthchecksOnDeploy: true }), deployPending: true },
      verdict: 'HEALTHY',
    },
    { name: 'when the task was launched so', task: { launchedWithSkip: true }, verdict: 'HEALTHY' },
  ])('$name, and 5 s of running are enough', ({ task, context }) => {
    const judge = (after: number) =>
      judgeTask(observed({ lastResult: failed, ...task }), healthContext(context), launchedAt + after);
    expect([judge(4_999), judge(5_000)]).toEqual(['WAITING', 'HEALTHY']);
  });
  test('for all tasks of a set when one was launched so', () => {
    const set = [observed({ lastResult: failed }), observed({ instanceNo: 2, launchedWithSkip: true })];
    expect(judgeTasks(set, healthContext(), launchedAt + 5_000)).toBe('HEALTHY');
  });
});

const anyTask = fc
  .record({
    state: fc.constantFrom('TASK_STARTING' as const, 'TASK_RUNNING' as const, 'TASK_FAILED' as const),
    statusCode: fc.constantFrom(undefined, 200, 404, 500),
    checksCounted: fc.nat(5),
    startup: fc.boolean(),
    launchedWithSkip: fc.boolean(),
  })
  .map(({ statusCode, startup, ...task }) =>
    observed({
      ...task,
      runningAt: task.state === 'TASK_STARTING' ? undefined : launchedAt,
      lastResult: result({ statusCode, startup }),
    }),
  );
const anyContext = fc
  .record({
    deployPending: fc.boolean(),
    requestSkips: fc.boolean(),
    maxRetries: fc.option(fc.nat(3), { nil: undefined }),
  })
  .map(({ maxRetries, ...context }) => healthContext({ ...context, ...checked({ uri: '/', maxRetries }) }));

test('the order of the tasks never changes the verdict', () => {
  fc.assert(
    fc.property(fc.array(anyTask), anyContext, fc.nat(100_000), (tasks, context, after) => {
      const judge = (set: ObservedTask[]) => judgeTasks(set, context, launchedAt + after);
      expect(judge(tasks.toReversed())).toBe(judge(tasks));
    }),
  );
});

test('a set is healthy exactly when each of its tasks is, as long as none was launched to skip checks', () => {
  fc.assert(
    fc.property(fc.array(anyTask), anyContext, fc.nat(100_000), (tasks, context, after) => {
      const set = tasks.map((task) => ({ ...task, launchedWithSkip: false }));
      const each = set.every((task) => judgeTask(task, context, launchedAt + after) === 'HEALTHY');
      expect(judgeTasks(set, context, launchedAt + after) === 'HEALTHY').toBe(each);
    }),
  );
});

test('a healthy task is never named as a failure, however long the others take', () => {
  fc.assert(
    fc.property(fc.array(anyTask), anyContext, fc.nat(1_000_000), fc.boolean(), (tasks, context, after, skips) => {
      const now = launchedAt + after;
      const set = tasks.map((task, index) => ({
        ...task,
        taskId: observed({ instanceNo: index + 1 }).taskId,
        launchedWithSkip: skips,
      }));
      const healthy = set.filter((task) => judgeTask(task, context, now) === 'HEALTHY').map(({ taskId }) => taskId);
      const named = explainFailures(set, context, now).map(({ taskId }) => taskId);
      expect(healthy.filter((taskId) => named.includes(taskId))).toEqual([]);
    }),
  );
});

test('where one of a set was launched to skip checks, none of it is named that has run for long enough', () => {
  const set = [
    observed({ launchedWithSkip: true }),
    observed({ instanceNo: 2, lastResult: failed }),
    observed({ instanceNo: 3 }),
  ];
  const context = healthContext({ ...checked({ uri: '/', maxRetries: 0 }), deployPending: true });
  expect(explainFailures(set, context, launchedAt + 999_999)).toEqual([]);
});
