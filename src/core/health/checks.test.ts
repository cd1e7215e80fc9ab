import { describe, expect, test } from 'vitest';
import { healthContext, healthSettings, launchedAt, observed, result } from '../../../test/support/fixtures/health.js';
import { explainFailure, nextCheck, newTaskVerdict, type HealthContext, type ObservedTask } from './index.js';

const refused = result({ statusCode: undefined, errorMessage: 'connect ECONNREFUSED', startup: true });
const failed = result({ statusCode: 503, durationMillis: 100 });

describe('the next check', () => {
  test.each<{
    name: string;
    task?: Partial<ObservedTask>;
    context?: Partial<HealthContext>;
    after?: number;
    at: number | 'stop';
  }>([
    { name: 'the first comes after the startup interval', at: 2_000 },
    {
      name: 'the first comes after the startup delay when there is one',
      context: withCheck({ startupDelaySeconds: 10 }),
      at: 10_000,
    },
    { name: 'the first is not given up when no instance led for long', after: 999_999, at: 2_000 },
    { name: 'a refused connection is tried again soon', task: { lastResult: refused }, at: 4_000 },
    {
      name: 'another failure is tried again after the interval, counted from its end',
      task: { lastResult: failed, checksCounted: 1 },
      at: 7_100,
    },
    {
      name: 'another failure is tried again after the interval, also when the clock was set back since',
      task: { lastResult: { ...failed, timestamp: launchedAt + 600_000 }, checksCounted: 1 },
      at: 7_100,
    },
    { name: 'none after a passed one', task: { lastResult: result() }, at: 'stop' },
    {
      name: 'none when connections are refused beyond the startup time',
      task: { lastResult: refused },
      after: 45_001,
      at: 'stop',
    },
    {
      name: 'none when no retry is left',
      context: withCheck({ maxRetries: 0 }),
      task: { lastResult: failed, checksCounted: 1 },
      at: 'stop',
    },
    {
      name: 'none after a status that fails at once',
      context: withCheck({ failureStatusCodes: [503] }),
      task: { lastResult: failed, checksCounted: 1 },
      at: 'stop',
    },
    { name: 'none of a task that does not run', task: { runningAt: undefined, state: 'TASK_STARTING' }, at: 'stop' },
    {
      name: 'none of a task that its executor checks',
      context: withCheck({ healthcheckResultFilePath: 'ok' }),
      at: 'stop',
    },
    { name: 'none while the request skips checks', context: { requestSkips: true }, at: 'stop' },
    {
      name: 'none while operators have switched health checks off',
      context: { settings: { ...healthSettings, healthchecksDisabled: true } },
      at: 'stop',
    },
  ])('$name', ({ task, context, after = 2_100, at }) => {
    const next = nextCheck(observed(task), healthContext(context), launchedAt + after);
    expect(next).toEqual(at === 'stop' ? { kind: 'stop' } : { kind: 'check', at: launchedAt + at });
  });
});

describe('what went wrong', () => {
  test.each<{
    name: string;
    task?: Partial<ObservedTask>;
    context?: Partial<HealthContext>;
    after?: number;
    reason?: string;
    says?: string;
  }>([
    {
      name: 'ended in failure',
      task: { state: 'TASK_FAILED', statusMessage: 'exit 7' },
      reason: 'TASK_FAILED_ON_STARTUP',
      says: 'exit 7',
    },
    { name: 'ended without a word', task: { state: 'TASK_LOST' }, reason: 'TASK_FAILED_ON_STARTUP', says: 'TASK_LOST' },
    {
      name: 'finished',
      task: { state: 'TASK_FINISHED', statusMessage: 'bye' },
      reason: 'TASK_EXPECTED_RUNNING_FINISHED',
      says: 'bye',
    },
    {
      name: 'never ran',
      task: { state: 'TASK_STAGING', runningAt: undefined },
      reason: 'TASK_NEVER_ENTERED_RUNNING',
      says: 'TASK_STAGING',
    },
    { name: 'passed', task: { lastResult: result() }, after: 999_999 },
    {
      name: 'used up its retries',
      context: withCheck({ maxRetries: 2 }),
      task: { lastResult: failed, checksCounted: 3 },
      reason: 'TASK_FAILED_HEALTH_CHECKS',
      says: '3 health check attempts (last status 503)',
    },
    {
      name: 'answered a status that fails at once',
      context: withCheck({ failureStatusCodes: [503] }),
      task: { lastResult: failed },
      reason: 'TASK_FAILED_HEALTH_CHECKS',
      says: '503',
    },
    {
      name: 'refused for too long',
      task: { lastResult: refused },
      after: 46_000,
      reason: 'TASK_FAILED_HEALTH_CHECKS',
      says: '46 s',
    },
    { name: 'still has time', task: { lastResult: failed }, after: 20_000 },
    {
      name: 'ran too long without a result',
      after: 56_000,
      reason: 'TASK_FAILED_HEALTH_CHECKS',
      says: 'no health check result',
    },
    { name: 'needs no check and ran long enough', context: { deploy: { requestId: 'web', id: 'd1' } }, after: 100_000 },
  ])('$name', ({ task, context, after = 0, reason, says }) => {
    const failure = explainFailure(observed(task), healthContext(context), launchedAt + after);
    expect(failure?.reason).toBe(reason);
    if (says) expect(failure?.message).toContain(says);
  });
});

describe('a task outside a deploy in progress', () => {
  const settings = {
    newTaskCheckerBaseDelaySeconds: 1,
    killAfterTasksDoNotRunDefaultSeconds: 600,
    killTaskIfNotHealthyAfterSeconds: 600,
  };
  test.each<{
    name: string;
    task?: Partial<ObservedTask>;
    context?: Partial<HealthContext>;
    after?: number;
    verdict: string;
  }>([
    { name: 'has ended', task: { state: 'TASK_KILLED' }, verdict: 'settled' },
    {
      name: 'may take ten minutes to run',
      task: { runningAt: undefined, state: 'TASK_STAGING' },
      after: 600_000,
      verdict: 'wait',
    },
    {
      name: 'did not run in ten minutes',
      task: { runningAt: undefined, state: 'TASK_STAGING' },
      after: 600_001,
      verdict: 'OVERDUE_NEW_TASK',
    },
    { name: 'needs no check', context: { deploy: { requestId: 'web', id: 'd1' } }, verdict: 'settled' },
    {
      name: 'has failed for good, but is looked at later',
      task: { lastResult: refused },
      after: 100_000,
      verdict: 'wait',
    },
    { name: 'has failed for good', task: { lastResult: refused }, after: 121_000, verdict: 'UNHEALTHY_NEW_TASK' },
    {
      name: 'is looked at when its startup delay is over',
      context: withCheck({ startupDelaySeconds: 3, maxRetries: 0 }),
      task: { lastResult: failed, checksCounted: 1 },
      after: 3_000,
      verdict: 'UNHEALTHY_NEW_TASK',
    },
    {
      name: 'answered a status that fails at once',
      context: withCheck({ failureStatusCodes: [503] }),
      task: { lastResult: failed },
      after: 1_000,
      verdict: 'UNHEALTHY_NEW_TASK',
    },
    {
      name: 'may take ten minutes to be healthy',
      task: { lastResult: failed, checksCounted: 9 },
      after: 600_000,
      verdict: 'wait',
    },
    {
      name: 'was not healthy in ten minutes',
      task: { lastResult: failed, checksCounted: 9 },
      after: 600_001,
      verdict: 'OVERDUE_NEW_TASK',
    },
    { name: 'is healthy', task: { lastResult: result() }, after: 121_000, verdict: 'settled' },
  ])('$name: $verdict', ({ task, context, after = 0, verdict }) => {
    const given = newTaskVerdict(observed(task), healthContext(context), settings, launchedAt + after);
    expect(given.kind === 'cleanup' ? given.cleanupType : given.kind).toBe(verdict);
  });
});

function withCheck(options: NonNullable<HealthContext['deploy']['healthcheck']>): Partial<HealthContext> {
  return { deploy: { requestId: 'web', id: 'd1', healthcheck: { uri: '/', ...options } } };
}
