import { describe, expect, test } from 'vitest';
import { validationSettings as settings } from '../../../test/support/fixtures/deploy-validation.js';
import type { Deploy } from '../model/deploy.js';
import type { Request } from '../model/request.js';
import { type DeployValidationSettings, validateDeploy } from './index.js';

const resources = { cpus: 1, memoryMb: 64, numPorts: 2, diskMb: 0 };

/** Field and rule of each problem. */
function problems(
  changes: Partial<Deploy>,
  request: Partial<Request> = {},
  changed: Partial<DeployValidationSettings> = {},
): string[] {
  const deploy: Deploy = { requestId: 'web', id: 'd1', command: 'sleep 1', resources, ...changes };
  const context = {
    request: { id: 'web', requestType: 'SERVICE' as const, ...request },
    settings: { ...settings, ...changed },
    now: 1_000_000,
  };
  return validateDeploy(deploy, context).map(({ field, rule }) => `${field.replace('deploy.', '')} ${rule}`);
}
type Check = NonNullable<Deploy['healthcheck']>;

describe('kinds of checks', () => {
  const noPorts = { resources: { cpus: 1, memoryMb: 64 } };
  test.each<{ name: string; check: Check; changes?: Partial<Deploy>; request?: Partial<Request>; errors?: string[] }>([
    { name: 'HTTP', check: { type: 'HTTP', uri: '/' } },
    { name: 'HTTP without a path', check: { type: 'HTTP' }, errors: ['healthcheck.uri required'] },
    { name: 'HTTP with a command', check: { uri: '/', command: 'true' }, errors: ['healthcheck.command type'] },
    {
      name: 'HTTP beside a file',
      check: { type: 'HTTP', healthcheckResultFilePath: 'ok' },
      errors: ['healthcheck.type exclusive'],
    },
    { name: 'TCP', check: { type: 'TCP' } },
    { name: 'TCP at a port by index', check: { type: 'TCP', portIndex: 1 } },
    { name: 'TCP without ports', check: { type: 'TCP' }, changes: noPorts, errors: ['resources.numPorts required'] },
    { name: 'TCP with a path', check: { type: 'TCP', uri: '/' }, errors: ['healthcheck.uri type'] },
    { name: 'TCP with a protocol', check: { type: 'TCP', protocol: 'HTTPS' }, errors: ['healthcheck.protocol type'] },
    { name: 'TCP with a method', check: { type: 'TCP', method: 'POST' }, errors: ['healthcheck.method type'] },
    {
      name: 'TCP with statuses',
      check: { type: 'TCP', failureStatusCodes: [500] },
      errors: ['healthcheck.failureStatusCodes type'],
    },
    { name: 'GRPC', check: { type: 'GRPC' } },
    { name: 'GRPC without ports', check: { type: 'GRPC' }, changes: noPorts, errors: ['resources.numPorts required'] },
    { name: 'COMMAND', check: { type: 'COMMAND', command: 'test -e ok' }, changes: noPorts },
    { name: 'COMMAND without one', check: { type: 'COMMAND' }, errors: ['healthcheck.command required'] },
    {
      name: 'COMMAND with a port',
      check: { type: 'COMMAND', command: 'true', portIndex: 0 },
      errors: ['healthcheck.portIndex type'],
    },
    {
      name: 'a kind for a job',
      check: { type: 'TCP' },
      request: { requestType: 'ON_DEMAND' },
      errors: ['healthcheck.type requestType'],
    },
  ])('$name', ({ check, changes, request, errors = [] }) =>
    expect(problems({ healthcheck: check, ...changes }, request)).toEqual(errors),
  );
});

describe('liveness', () => {
  test.each<{ name: string; check: Check; request?: Partial<Request>; errors?: string[] }>([
    { name: 'of a service', check: { uri: '/', liveness: {} } },
    {
      name: 'of a worker',
      check: { uri: '/', liveness: { uri: '/live', action: 'NONE' } },
      request: { requestType: 'WORKER' },
    },
    { name: 'by TCP', check: { type: 'TCP', liveness: { maxUnhealthyReplacements: 3 } } },
    {
      name: 'of a job',
      check: { uri: '/', liveness: {} },
      request: { requestType: 'RUN_ONCE' },
      errors: ['healthcheck.liveness requestType'],
    },
    {
      name: 'by a file',
      check: { healthcheckResultFilePath: 'ok', liveness: {} },
      errors: ['healthcheck.liveness exclusive'],
    },
    {
      name: 'by TCP at a path',
      check: { type: 'TCP', liveness: { uri: '/' } },
      errors: ['healthcheck.liveness.uri type'],
    },
    {
      name: 'elsewhere',
      check: { uri: '/', liveness: { uri: 'http://other/' } },
      errors: ['healthcheck.liveness.uri path'],
    },
    { name: 'at no path', check: { uri: '/', liveness: { uri: '' } }, errors: ['healthcheck.liveness.uri path'] },
    {
      name: 'with a limit for nothing',
      check: { uri: '/', liveness: { action: 'NONE', maxUnhealthyReplacements: 2 } },
      errors: ['healthcheck.liveness.maxUnhealthyReplacements action'],
    },
  ])('$name', ({ check, request, errors = [] }) => expect(problems({ healthcheck: check }, request)).toEqual(errors));
});

describe('the end of a task', () => {
  const executorData = { cmd: 'a', sigKillProcessesAfterMillis: 5_000 };
  test.each<{ name: string; changes: Partial<Deploy>; grace?: number; errors?: string[] }>([
    { name: 'with a signal and a time', changes: { killSignal: 'SIGQUIT', killGracePeriodMillis: 60_000 } },
    { name: 'with a signal and no time', changes: { killSignal: 'SIGINT' }, grace: 0, errors: ['killSignal grace'] },
    {
      name: 'with two times',
      changes: { command: undefined, customExecutorCmd: 'x', executorData, killGracePeriodMillis: 1_000 },
      errors: ['killGracePeriodMillis exclusive'],
    },
    { name: 'after a command', changes: { preStop: { command: 'drain' } } },
    { name: 'after a call', changes: { preStop: { http: { uri: '/drain', portIndex: 1 } } } },
    { name: 'after nothing', changes: { preStop: { timeoutMillis: 5 } }, errors: ['preStop.command required'] },
    {
      name: 'after both',
      changes: { preStop: { command: 'a', http: { uri: '/' } } },
      errors: ['preStop.http exclusive'],
    },
    {
      name: 'after a call elsewhere',
      changes: { preStop: { http: { uri: '//other/' } } },
      errors: ['preStop.http.uri path'],
    },
    {
      name: 'after a call of a port that it lacks',
      changes: { preStop: { http: { uri: '/', portIndex: 2 } } },
      errors: ['preStop.http.portIndex range'],
    },
    {
      name: 'after a call without ports',
      changes: { resources: undefined, preStop: { http: { uri: '/' } } },
      errors: ['preStop.http.portIndex range'],
    },
    {
      name: 'after something that takes all of its time',
      changes: { killGracePeriodMillis: 100, preStop: { command: 'a', timeoutMillis: 100 } },
      errors: ['preStop.timeoutMillis range'],
    },
    {
      name: 'after something, with no time by the settings',
      changes: { preStop: { command: 'a' } },
      grace: 0,
      errors: ['preStop.timeoutMillis range'],
    },
  ])('$name', ({ changes, grace = 180_000, errors = [] }) =>
    expect(problems(changes, {}, { hardKillAfterMillis: grace })).toEqual(errors),
  );
});

describe('the order of a rollout', () => {
  const oldFirst = { deployStrategy: 'OLD_FIRST' as const };
  const canary = {
    enableCanaryDeploy: true,
    instanceGroupSize: 1,
    acceptanceMode: 'NONE' as const,
    waitMillisBetweenGroups: 0,
    allowedTasksFailuresPerGroup: 0,
    canaryCycleCount: 1,
  };
  test.each<{ name: string; changes: Partial<Deploy>; request?: Partial<Request>; errors?: string[] }>([
    { name: 'new ones first', changes: { deployStrategy: 'NEW_FIRST' } },
    { name: 'old ones first', changes: oldFirst },
    { name: 'several of several', changes: { ...oldFirst, maxUnavailable: 3 }, request: { instances: 3 } },
    {
      name: 'more than there are',
      changes: { ...oldFirst, maxUnavailable: 4 },
      request: { instances: 3 },
      errors: ['maxUnavailable max'],
    },
    { name: 'a number without the order', changes: { maxUnavailable: 1 }, errors: ['maxUnavailable strategy'] },
    {
      name: 'a number with another order',
      changes: { deployStrategy: 'NEW_FIRST', maxUnavailable: 1 },
      errors: ['maxUnavailable strategy'],
    },
    {
      name: 'a job',
      changes: oldFirst,
      request: { requestType: 'ON_DEMAND' },
      errors: ['deployStrategy requestType'],
    },
    {
      name: 'a step of more than may be missing',
      changes: { ...oldFirst, deployInstanceCountPerStep: 2 },
      request: { instances: 3 },
      errors: ['deployInstanceCountPerStep max'],
    },
    {
      name: 'a step of as many as may be missing',
      changes: { ...oldFirst, maxUnavailable: 2, deployInstanceCountPerStep: 2 },
      request: { instances: 3 },
    },
    { name: 'groups of a canary', changes: { ...oldFirst, canaryDeploySettings: canary } },
    {
      name: 'larger groups than may be missing',
      changes: { ...oldFirst, canaryDeploySettings: { ...canary, instanceGroupSize: 2 } },
      errors: ['canaryDeploySettings.instanceGroupSize max'],
    },
    {
      name: 'a canary engine that starts all at once',
      changes: { ...oldFirst, canaryDeploySettings: { ...canary, enableCanaryDeploy: false } },
      errors: ['canaryDeploySettings.enableCanaryDeploy strategy'],
    },
  ])('$name', ({ changes, request, errors = [] }) => expect(problems(changes, request)).toEqual(errors));
});
