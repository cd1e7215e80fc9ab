import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { DeployGate, GateMeasurement, GateRow, MeasurementOutcome } from '../model/gate.js';
import { afterMeasurement, answerGate, judgeGates, leastMillis, waitText } from './index.js';

const now = 1_000_000;
const step = { step: 2, launchedAt: now - 5_000 };
const manual: DeployGate = { type: 'MANUAL' };
const bake: DeployGate = { type: 'BAKE', durationMillis: 10_000 };
const asks: DeployGate = { type: 'HTTP', uri: 'http://judge', intervalMillis: 2_000, count: 2, failureLimit: 1 };
const row = (changes: Partial<GateRow> = {}): GateRow => ({
  step: 2,
  gate: 1,
  type: 'MANUAL',
  state: 'WAITING',
  since: now - 8_000,
  passes: 0,
  failures: 0,
  inconclusive: 0,
  ...changes,
});
const passed = (gate: number, type: DeployGate['type'] = 'MANUAL') => row({ gate, type, state: 'PASSED' });

describe('the gates of a step', () => {
  test('the first one is opened, the others wait for it', () => {
    const verdict = judgeGates([manual, bake], [], step, now);
    expect(verdict).toEqual({ kind: 'change', row: row({ since: now }) });
    expect(judgeGates([manual, bake], [row()], step, now)).toEqual({ kind: 'wait' });
  });
  test('the next one is opened when one has passed; all passed: the deploy goes on', () => {
    expect(judgeGates([manual, bake], [passed(1)], step, now)).toMatchObject({
      kind: 'change',
      row: { gate: 2, type: 'BAKE', state: 'WAITING', since: now },
    });
    expect(judgeGates([manual, bake], [passed(1), passed(2, 'BAKE')], step, now)).toEqual({ kind: 'passed' });
  });
  test('those of an earlier step count for that one alone', () =>
    expect(judgeGates([manual], [{ ...passed(1), step: 1 }], step, now)).toMatchObject({ kind: 'change' }));
  test('one that measures is due at once', () =>
    expect(judgeGates([asks], [], step, now)).toMatchObject({ row: { type: 'HTTP', nextAt: now } }));
  test('a failed one fails the deploy, and says which and why', () =>
    expect(judgeGates([manual], [row({ state: 'FAILED', message: 'rejected by ann' })], step, now)).toEqual({
      kind: 'failed',
      message: 'Gate 1 (MANUAL) after step 2 failed: rejected by ann',
    }));
});

describe('BAKE', () => {
  const baking = row({ type: 'BAKE' });
  test('waits for its time, and then passes', () => {
    const until = baking.since + 10_000;
    const older = { ...step, launchedAt: 0 };
    expect(judgeGates([bake], [baking], older, until - 1)).toEqual({ kind: 'wait', checkAgainAt: until });
    expect(judgeGates([bake], [baking], older, until)).toMatchObject({
      kind: 'change',
      row: { state: 'PASSED', endedAt: until },
    });
  });
  test('begins again when a task had to be replaced', () =>
    expect(judgeGates([bake], [baking], step, now)).toEqual({ kind: 'wait', checkAgainAt: step.launchedAt + 10_000 }));
  test('fails when a task turns unhealthy', () =>
    expect(judgeGates([bake], [baking], { ...step, sick: 'instance 1 is ill' }, now)).toMatchObject({
      row: { state: 'FAILED', message: 'instance 1 is ill' },
    }));
});

describe('MANUAL', () => {
  test('with a time limit fails when nobody has answered until then', () => {
    const gates = [{ ...manual, timeoutMillis: 9_000 }];
    expect(judgeGates(gates, [row()], step, now)).toEqual({ kind: 'wait', checkAgainAt: now + 1_000 });
    expect(judgeGates(gates, [row()], step, now + 1_000)).toMatchObject({
      row: { state: 'FAILED', message: 'nobody approved it within 9 s' },
    });
  });
  const answer = { approves: true, user: 'bob', message: 'looks good', isDeployer: false };
  test('an approval passes it, with name and reason', () =>
    expect(answerGate(manual, row(), answer, now)).toEqual({
      kind: 'changed',
      row: row({ state: 'PASSED', endedAt: now, user: 'bob', message: 'looks good' }),
    }));
  test('a rejection fails it, with name and reason', () =>
    expect(answerGate(manual, row(), { ...answer, approves: false }, now)).toMatchObject({
      row: { state: 'FAILED', user: 'bob', message: 'rejected by bob: looks good' },
    }));
  test('the same answer again changes nothing, another one is refused', () => {
    expect(answerGate(manual, row({ state: 'PASSED' }), answer, now)).toEqual({ kind: 'same' });
    expect(answerGate(manual, row({ state: 'PASSED' }), { ...answer, approves: false }, now)).toEqual({
      kind: 'refused',
      because: 'NOT_WAITING',
    });
  });
  test('where another user has to approve, the deployer may reject only', () => {
    const strict = { ...manual, requireOtherApprover: true };
    const own = { ...answer, isDeployer: true };
    expect(answerGate(strict, row(), own, now)).toEqual({ kind: 'refused', because: 'OWN_DEPLOY' });
    expect(answerGate(strict, row(), { ...own, approves: false }, now)).toMatchObject({ kind: 'changed' });
    expect(answerGate(strict, row(), answer, now)).toMatchObject({ kind: 'changed' });
    expect(answerGate(manual, row(), own, now)).toMatchObject({ kind: 'changed' });
  });
  test.each([
    { name: 'a healthy time', type: 'BAKE' },
    { name: 'measurements', type: 'HTTP' },
  ] as const)('$name cannot be approved', ({ type }) =>
    expect(answerGate({ type }, row({ type }), answer, now)).toEqual({ kind: 'refused', because: 'NOT_WAITING' }),
  );
  test('measurements that decide nothing can', () =>
    expect(answerGate(asks, row({ type: 'HTTP', state: 'PAUSED', inconclusive: 2 }), answer, now)).toMatchObject({
      row: { state: 'PASSED', user: 'bob' },
    }));
});

describe('measurements', () => {
  const measured = (...outcomes: MeasurementOutcome[]): GateRow =>
    outcomes.reduce(
      (before, outcome) => afterMeasurement(asks, before, { at: now, outcome, message: 'not good' }, now),
      row({ type: 'HTTP', nextAt: now }),
    );
  test('the next one comes after the interval, until enough have passed', () => {
    expect(measured('PASSED')).toMatchObject({ state: 'WAITING', passes: 1, nextAt: now + 2_000 });
    expect(measured('PASSED', 'PASSED')).toEqual(row({ type: 'HTTP', state: 'PASSED', passes: 2, endedAt: now }));
  });
  test('as many failures as are allowed are forgiven, one more fails the gate', () => {
    expect(measured('FAILED', 'PASSED', 'PASSED').state).toBe('PASSED');
    expect(measured('FAILED', 'PASSED', 'FAILED')).toMatchObject({
      state: 'FAILED',
      message: '2 measurements failed, 1 allowed; the last: not good',
    });
  });
  test('those without a result are counted apart, and fail or pause the gate', () => {
    expect(measured('INCONCLUSIVE', 'FAILED', 'PASSED').state).toBe('WAITING');
    expect(measured('INCONCLUSIVE', 'INCONCLUSIVE')).toMatchObject({
      state: 'FAILED',
      message: '2 measurements without a result, 1 allowed; the last: not good',
    });
    const pausing: DeployGate = { ...asks, inconclusive: 'PAUSE' };
    const once = row({ type: 'HTTP', inconclusive: 1, nextAt: now });
    const paused = afterMeasurement(pausing, once, { at: now, outcome: 'INCONCLUSIVE', message: 'down' }, now);
    expect(paused).toMatchObject({ state: 'PAUSED', inconclusive: 2 });
    expect(paused).not.toHaveProperty('nextAt');
  });
});

test.each([
  { gate: manual, least: 0 },
  { gate: bake, least: 10_000 },
  { gate: asks, least: 2_000 },
  { gate: { type: 'PROMETHEUS', count: 3 }, least: 60_000 },
] as const)('$gate.type takes at least $least ms', ({ gate, least }) => expect(leastMillis(gate)).toBe(least));

test.each([
  {
    gate: { ...manual, message: 'ask support' },
    row: row(),
    text: 'Gate 1 (MANUAL) after step 2 waits for an approval (ask support) by members of web, until then',
  },
  {
    gate: bake,
    row: row({ type: 'BAKE' }),
    text: 'Gate 1 (BAKE) after step 2 waits for a healthy time of 10 s, until then',
  },
  {
    gate: { ...asks, threshold: { operator: 'LT', value: 0.05 } },
    row: row({ type: 'HTTP', passes: 1 }),
    text: 'Gate 1 (HTTP) after step 2 has 1 of 2 measurements with a value below 0.05; last measurement PASSED with 0.01',
  },
  {
    gate: asks,
    row: row({ type: 'HTTP', state: 'PAUSED', message: 'down' }),
    text: 'Gate 1 (HTTP) after step 2 is paused: down; approve or reject it: members of web',
  },
] as const)('an open gate is explained: $text', ({ gate, row: open, text }) => {
  const last: GateMeasurement = { at: now, outcome: 'PASSED', value: 0.01 };
  expect(waitText(gate, open, { until: 'then', last, approvers: 'members of web' })).toBe(text);
});

test('whatever is measured: few measurements decide, enough passes and no more failures than allowed pass the gate', () => {
  const outcome = fc.constantFrom<MeasurementOutcome>('PASSED', 'FAILED', 'INCONCLUSIVE');
  fc.assert(
    fc.property(
      fc.array(outcome, { minLength: 40 }),
      fc.integer({ min: 1, max: 8 }),
      fc.integer({ min: 0, max: 8 }),
      fc.integer({ min: 0, max: 8 }),
      fc.constantFrom('FAIL', 'PAUSE'),
      (outcomes, count, failureLimit, inconclusiveLimit, inconclusive) => {
        const gate: DeployGate = { type: 'PROMETHEUS', count, failureLimit, inconclusiveLimit, inconclusive };
        let at = row({ type: 'PROMETHEUS', nextAt: now });
        for (const each of outcomes)
          if (at.state === 'WAITING') at = afterMeasurement(gate, at, { at: now, outcome: each }, now);
        const { passes, failures, inconclusive: without, state } = at;
        expect(passes + failures + without).toBeLessThanOrEqual(count + failureLimit + inconclusiveLimit);
        expect(state === 'PASSED').toBe(passes === count);
        expect(state === 'PAUSED').toBe(without > inconclusiveLimit && inconclusive === 'PAUSE');
        if (state !== 'FAILED') expect(failures).toBeLessThanOrEqual(failureLimit);
        expect(at.nextAt === undefined).toBe(state !== 'WAITING');
      },
    ),
  );
});
