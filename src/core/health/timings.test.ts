import { describe, expect, test } from 'vitest';
import type { HealthcheckOptions } from '../model/deploy.js';
import { healthContext, healthSettings, launchedAt, observed, result } from '../../../test/support/fixtures/health.js';
import { deployHealthTimeoutMillis, healthcheckTimings, nextCheck, type HealthSettings } from './index.js';

describe('the total time of health checks', () => {
  test.each<{
    name: string;
    options?: HealthcheckOptions;
    settings?: Partial<HealthSettings>;
    longest?: number;
    seconds: number;
  }>([
    { name: 'is 55 s by default', seconds: 55 },
    { name: 'is less where the deploy says so', longest: 20, seconds: 20 },
    { name: 'is no more because the deploy would allow more', longest: 200, seconds: 55 },
    { name: 'grows by interval and time-out with each retry', options: { maxRetries: 3 }, seconds: 45 + 10 * 4 },
    {
      name: 'takes the retries of the settings when there are no others',
      settings: { healthcheckMaxRetries: 2 },
      seconds: 75,
    },
    {
      name: 'takes its own before those',
      options: { maxRetries: 0 },
      settings: { healthcheckMaxRetries: 2 },
      seconds: 55,
    },
    {
      name: 'is made of what the check itself says',
      options: { startupTimeoutSeconds: 7, intervalSeconds: 3, responseTimeoutSeconds: 2, maxRetries: 1 },
      seconds: 17,
    },
    { name: 'does not count the startup delay', options: { startupDelaySeconds: 100 }, seconds: 55 },
  ])('$name', ({ options = {}, settings = {}, longest, seconds }) =>
    expect(healthcheckTimings(options, { ...healthSettings, ...settings }, longest).totalMillis).toBe(seconds * 1_000),
  );
});

test('the time in which a deploy has to become healthy does not have its init steps in it, which have limits of their own', () => {
  const step = (name: string, timeoutMillis?: number) => ({ name, command: 'true', timeoutMillis });
  const timeout = (init: ReturnType<typeof step>[]) =>
    deployHealthTimeoutMillis(
      { requestId: 'web', id: 'd1', deployHealthTimeoutSeconds: 20, tasks: { init, post: [step('c', 7_000)] } },
      healthSettings,
    );
  expect(timeout([])).toBe(20_000);
  expect(timeout([step('a', 5_000), step('b')])).toBe(20_000 + 5_000 + 300_000);
});

test('what a health check leaves open is as the settings say', () => {
  const settings = {
    ...healthSettings,
    startupTimeoutSeconds: 1,
    startupIntervalSeconds: 2,
    startupDelaySeconds: 3,
    healthcheckIntervalSeconds: 4,
    healthcheckTimeoutSeconds: 5,
    healthcheckMaxRetries: 6,
    healthcheckFailureStatusCodes: [507],
  };
  expect(healthcheckTimings({}, settings)).toEqual({
    startupTimeoutMillis: 1_000,
    startupIntervalMillis: 2_000,
    startupDelayMillis: 3_000,
    intervalMillis: 4_000,
    responseTimeoutMillis: 5_000,
    maxRetries: 6,
    failureStatusCodes: [507],
    totalMillis: 1_000 + 9_000 * 7,
  });
});

describe('a task is not asked when the answer would change nothing:', () => {
  const checked = { requestId: 'web', id: 'd1', healthcheck: { uri: '/' } };
  test('its deploy skipped checks while it was in progress', () =>
    expect(
      nextCheck(observed(), healthContext({ deploy: { ...checked, skipHealthchecksOnDeploy: true } }), launchedAt),
    ).toEqual({
      kind: 'stop',
    }));
  test('it began to run while its request skipped them', () =>
    expect(nextCheck(observed({ skippedByRequest: true }), healthContext(), launchedAt)).toEqual({ kind: 'stop' }));
});

test('an interval of 0 is no loop without a pause', () => {
  const healthcheck = { uri: '/', intervalSeconds: 0, startupIntervalSeconds: 0 };
  const context = healthContext({ deploy: { requestId: 'web', id: 'd1', healthcheck } });
  const after = (startup: boolean) =>
    nextCheck(observed({ lastResult: result({ statusCode: 503, startup }) }), context, launchedAt + 2_000);
  expect([after(false), after(true)]).toEqual([
    { kind: 'check', at: launchedAt + 2_100 },
    { kind: 'check', at: launchedAt + 2_100 },
  ]);
});
