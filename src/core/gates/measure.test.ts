import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { DeployGate } from '../model/gate.js';
import { fillVariables, measureHttp, measurePrometheus } from './index.js';
import { meets } from './measure.js';

const answered = (body: unknown, status = 200) => ({
  status,
  body: typeof body === 'string' ? body : JSON.stringify(body),
});
const below: DeployGate = { type: 'PROMETHEUS', query: 'q', threshold: { operator: 'LT', value: 0.05 } };
const result = (resultType: string, found: unknown) =>
  answered({ status: 'success', data: { resultType, result: found } });
const vector = (...values: unknown[]) =>
  result(
    'vector',
    values.map((value) => ({ metric: {}, value: [1, value] })),
  );

describe('an answer of Prometheus', () => {
  test.each([
    { name: 'a number within the threshold passes', answer: vector('0.01'), is: { outcome: 'PASSED', value: 0.01 } },
    { name: 'a scalar does as well', answer: result('scalar', [1, '0']), is: { outcome: 'PASSED', value: 0 } },
    {
      name: 'a number beyond it fails',
      answer: vector('0.07'),
      is: { outcome: 'FAILED', value: 0.07, message: '0.07 is not below 0.05' },
    },
  ])('$name', ({ answer, is }) => expect(measurePrometheus(below, answer)).toEqual(is));

  test.each([
    { name: 'none', answer: { problem: 'no answer within 5 ms' }, why: 'no answer within 5 ms' },
    { name: 'an empty vector', answer: vector(), why: 'the query gives 0 values, not one' },
    { name: 'several values', answer: vector('0.01', '0.02'), why: 'the query gives 2 values, not one' },
    { name: 'NaN', answer: vector('NaN'), why: 'the query gives NaN' },
    { name: '+Inf', answer: vector('+Inf'), why: 'the query gives +Inf' },
    { name: '-Inf, which is below everything', answer: vector('-Inf'), why: 'the query gives -Inf' },
    { name: 'a value that is no text', answer: vector(0.01), why: 'the query gives ' },
    { name: 'a matrix', answer: result('matrix', []), why: 'the query gives neither a scalar nor an instant vector' },
    {
      name: 'an error of the query',
      answer: answered({ status: 'error', error: 'parse error' }, 400),
      why: 'it answered 400: parse error',
    },
    {
      name: 'an error that no database could store',
      answer: answered({ status: 'error', error: 'a\0b\ud800c' }, 400),
      why: 'it answered 400: a\ufffdb\ufffdc',
    },
    { name: 'an error with status 200', answer: answered({ status: 'error' }), why: 'it answered 200' },
    {
      name: 'no data',
      answer: answered({ status: 'success' }),
      why: 'the query gives neither a scalar nor an instant vector',
    },
    { name: 'a page of a proxy', answer: answered('<html>', 502), why: 'it answered 502 without JSON' },
    { name: 'nothing', answer: answered(''), why: 'it answered 200 without JSON' },
  ])('$name is inconclusive', ({ answer, why }) =>
    expect(measurePrometheus(below, answer)).toEqual({ outcome: 'INCONCLUSIVE', message: why }),
  );

  test('whatever JSON it is, only one finite number passes or fails', () => {
    fc.assert(
      fc.property(fc.json(), fc.integer({ min: 100, max: 599 }), (body, status) => {
        expect(measurePrometheus(below, { status, body }).outcome).toBe('INCONCLUSIVE');
      }),
    );
  });
});

describe('an answer of a service', () => {
  const http = (changes: Partial<DeployGate> = {}): DeployGate => ({ type: 'HTTP', uri: 'http://judge', ...changes });
  const threshold = { operator: 'GTE', value: 10 } as const;
  test.each<{ name: string; gate: DeployGate; answer: Parameters<typeof measureHttp>[1]; outcome: string }>([
    { name: 'status 204', gate: http(), answer: answered('', 204), outcome: 'PASSED' },
    { name: 'status 503', gate: http(), answer: answered('', 503), outcome: 'FAILED' },
    { name: 'a redirect, which is not followed', gate: http(), answer: answered('', 302), outcome: 'FAILED' },
    { name: 'the expected status', gate: http({ expectedStatus: 404 }), answer: answered('', 404), outcome: 'PASSED' },
    {
      name: 'a good one that is not it',
      gate: http({ expectedStatus: 404 }),
      answer: answered('', 200),
      outcome: 'FAILED',
    },
    { name: 'no answer', gate: http(), answer: { problem: 'refused' }, outcome: 'INCONCLUSIVE' },
    { name: 'a number', gate: http({ threshold }), answer: answered('12.5'), outcome: 'PASSED' },
    { name: 'a number below', gate: http({ threshold }), answer: answered('9'), outcome: 'FAILED' },
    {
      name: 'a number in a record and a list',
      gate: http({ threshold, valuePath: 'data.1.rate' }),
      answer: answered({ data: [{}, { rate: 10 }] }),
      outcome: 'PASSED',
    },
    { name: 'a text', gate: http({ threshold }), answer: answered('"12"'), outcome: 'INCONCLUSIVE' },
    { name: 'null', gate: http({ threshold }), answer: answered('null'), outcome: 'INCONCLUSIVE' },
    { name: 'what is too great', gate: http({ threshold }), answer: answered('1e999'), outcome: 'INCONCLUSIVE' },
    {
      name: 'a number that is elsewhere',
      gate: http({ threshold, valuePath: 'a.b' }),
      answer: answered({ a: 12 }),
      outcome: 'INCONCLUSIVE',
    },
    {
      name: 'an inherited member',
      gate: http({ threshold, valuePath: 'length' }),
      answer: answered('"x"'),
      outcome: 'INCONCLUSIVE',
    },
    {
      name: 'a number with status 500',
      gate: http({ threshold }),
      answer: answered('12', 500),
      outcome: 'INCONCLUSIVE',
    },
  ])('$name: $outcome', ({ gate, answer, outcome }) => expect(measureHttp(gate, answer).outcome).toBe(outcome));
});

test.each([
  ['LT', 1, [true, false, false]],
  ['LTE', 1, [true, true, false]],
  ['GT', 1, [false, false, true]],
  ['GTE', 1, [false, true, true]],
] as const)('%s %d of 0, 1 and 2: %j', (operator, value, are) =>
  expect([0, 1, 2].map((number) => meets({ operator, value }, number))).toEqual(are),
);

describe('variables', () => {
  const deploys = { requestId: 'web', deployId: 'v2', activeDeployId: 'v1' };
  test('name the request, the new deploy and the one that it replaces', () =>
    expect(fillVariables('a{r="$REQUEST_ID",d="$DEPLOY_ID"} / a{d="$ACTIVE_DEPLOY_ID"} $OTHER', deploys)).toBe(
      'a{r="web",d="v2"} / a{d="v1"} $OTHER',
    ));
  test('are encoded where they stand in an address', () =>
    expect(fillVariables('http://judge/$REQUEST_ID', { ...deploys, requestId: 'a/b' }, encodeURIComponent)).toBe(
      'http://judge/a%2Fb',
    ));
  test('without another version there is nothing to compare with', () =>
    expect(fillVariables('$ACTIVE_DEPLOY_ID', { requestId: 'web', deployId: 'v1' })).toBeUndefined());
});
