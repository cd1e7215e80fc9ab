import { describe, expect, test } from 'vitest';
import { validationSettings } from '../../../test/support/fixtures/deploy-validation.js';
import type { RequestType } from '../model/enums.js';
import type { DeployGate } from '../model/gate.js';
import { normalizeDeploy, validateDeploy, type DeployValidationContext } from './index.js';

const threshold = { operator: 'LT', value: 1 } as const;
const query: DeployGate = { type: 'PROMETHEUS', uri: 'http://prometheus:9090', query: 'up', threshold };

function problems(
  gate: Partial<DeployGate>,
  changes: Partial<DeployValidationContext> = {},
  requestType: RequestType = 'SERVICE',
) {
  const sent = { canaryDeploySettings: { gates: [{ type: 'MANUAL' }, gate] } };
  const deploy = normalizeDeploy({ requestId: 'web', id: 'd1', command: 'serve', ...(sent as object) });
  const request = { id: 'web', requestType };
  return validateDeploy(deploy, { request, settings: validationSettings, now: 1_000_000, ...changes }).map(
    ({ field, rule }) => `${field.replace('deploy.canaryDeploySettings.gates', '')} ${rule}`,
  );
}
const withAuth = { settings: { ...validationSettings, auth: { enabled: true } } };
const withPrometheus = { settings: { ...validationSettings, prometheus: { uri: 'http://prometheus:9090' } } };

describe('a gate may be', () => {
  test.each<{ name: string; gate: Partial<DeployGate>; with?: Partial<DeployValidationContext> }>([
    { name: 'an approval', gate: { type: 'MANUAL', message: 'ask support', timeoutMillis: 60_000 } },
    { name: 'an approval by another user', gate: { type: 'MANUAL', requireOtherApprover: true }, with: withAuth },
    { name: 'a healthy time', gate: { type: 'BAKE', durationMillis: 60_000 } },
    {
      name: 'the status of a service',
      gate: { type: 'HTTP', uri: 'https://judge/$DEPLOY_ID', expectedStatus: 204, count: 3 },
    },
    { name: 'a number of a service', gate: { type: 'HTTP', uri: 'https://judge', threshold, valuePath: 'a.b' } },
    { name: 'a query', gate: query },
    { name: 'a query of the Prometheus of the settings', gate: { ...query, uri: undefined }, with: withPrometheus },
  ])('$name', ({ gate, with: changes }) => expect(problems(gate, changes)).toEqual([]));
});

describe('a gate may not', () => {
  test.each<{ name: string; gate: Partial<DeployGate>; with?: Partial<DeployValidationContext>; are: string[] }>([
    { name: 'be a healthy time of no length', gate: { type: 'BAKE' }, are: ['.1.durationMillis required'] },
    { name: 'ask without an address', gate: { type: 'HTTP' }, are: ['.1.uri required'] },
    {
      name: 'query without a query and a threshold',
      gate: { type: 'PROMETHEUS', uri: 'http://prometheus' },
      are: ['.1.query required', '.1.threshold required'],
    },
    { name: 'query where no Prometheus is known', gate: { ...query, uri: undefined }, are: ['.1.uri required'] },
    {
      name: 'have members of other types',
      gate: {
        type: 'MANUAL',
        durationMillis: 1,
        uri: 'http://x',
        query: 'up',
        count: 2,
        failureLimit: 1,
        inconclusive: 'FAIL',
      },
      are: ['durationMillis', 'uri', 'query', 'count', 'failureLimit', 'inconclusive'].map((name) => `.1.${name} type`),
    },
    {
      name: 'be a healthy time that measures',
      gate: { type: 'BAKE', durationMillis: 1, threshold, intervalMillis: 1_000, timeoutMillis: 1 },
      are: ['.1.timeoutMillis type', '.1.threshold type', '.1.intervalMillis type'],
    },
    {
      name: 'query by a status or a method',
      gate: { ...query, expectedStatus: 200, method: 'GET', valuePath: 'a' },
      are: ['.1.method type', '.1.expectedStatus type', '.1.valuePath type'],
    },
    {
      name: 'look for a number that is compared with nothing',
      gate: { type: 'HTTP', uri: 'http://x', valuePath: 'a' },
      are: ['.1.valuePath threshold'],
    },
    {
      name: 'ask for another user where all are the same',
      gate: { type: 'MANUAL', requireOtherApprover: true },
      are: ['.1.requireOtherApprover auth'],
    },
    { name: 'read a file', gate: { type: 'HTTP', uri: 'file:///etc/passwd' }, are: ['.1.uri uri'] },
    { name: 'carry a password', gate: { type: 'HTTP', uri: 'http://ann:secret@judge' }, are: ['.1.uri uri'] },
    {
      name: 'ask a host that the settings do not allow',
      gate: { type: 'HTTP', uri: 'http://169.254.169.254/latest' },
      with: { mayAskHost: (host) => host !== '169.254.169.254' },
      are: ['.1.uri allowedTargets'],
    },
  ])('$name', ({ gate, with: changes, are }) => expect(problems(gate, changes)).toEqual(expect.arrayContaining(are)));

  test('come after more than a hundred groups', () => {
    const settings = { canaryCycleCount: 101, gates: [{ type: 'MANUAL' }] };
    const deploy = normalizeDeploy({
      requestId: 'web',
      id: 'd1',
      command: 'serve',
      canaryDeploySettings: settings as never,
    });
    const context = { request: { id: 'web', requestType: 'SERVICE' as const }, settings: validationSettings, now: 0 };
    expect(validateDeploy(deploy, context)).toMatchObject([
      { field: 'deploy.canaryDeploySettings.canaryCycleCount', rule: 'max' },
    ]);
  });

  test('stand in the deploy of a job, which has no steps', () =>
    expect(problems({ type: 'MANUAL' }, {}, 'ON_DEMAND')).toEqual([' requestType']));
});
