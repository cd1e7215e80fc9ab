import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { healthSettings } from '../../../test/support/fixtures/health.js';
import { afterLivenessCheck, livenessRules, Reach, type FailingState, type WatchedInstance } from './index.js';

describe('the rules of liveness', () => {
  test('a health check without it asks no further', () =>
    expect(livenessRules({ uri: '/' }, healthSettings)).toBeUndefined());
  test('gaps are filled from the health check and the settings', () => {
    const rules = { intervalMillis: 10_000, failureThreshold: 3, restarts: true, maxReplacements: undefined };
    expect(livenessRules({ uri: '/', liveness: {} }, healthSettings)).toEqual({
      ...rules,
      timeoutMillis: 5_000,
      uri: '/',
    });
    expect(livenessRules({ uri: '/', responseTimeoutSeconds: 2, liveness: { uri: '/live' } }, healthSettings)).toEqual({
      ...rules,
      timeoutMillis: 2_000,
      uri: '/live',
    });
  });
  test('what is given counts', () =>
    expect(
      livenessRules(
        {
          type: 'TCP',
          liveness: {
            intervalSeconds: 1,
            timeoutSeconds: 2,
            failureThreshold: 4,
            action: 'NONE',
            maxUnhealthyReplacements: 5,
          },
        },
        healthSettings,
      ),
    ).toEqual({
      intervalMillis: 1_000,
      timeoutMillis: 2_000,
      failureThreshold: 4,
      uri: undefined,
      restarts: false,
      maxReplacements: 5,
    }));
});

describe('the state after a check', () => {
  const threshold = { failureThreshold: 3 };
  test('a row of failures up to the threshold makes a task sick, and counts no further', () => {
    const states: (FailingState | undefined)[] = [];
    let state: FailingState | undefined;
    for (const at of [10, 20, 30, 40])
      states.push((state = afterLivenessCheck(state, { at, passed: false }, threshold)));
    expect(states).toEqual([
      { failures: 1, failingSince: 10 },
      { failures: 2, failingSince: 10 },
      { failures: 3, failingSince: 10, sickSince: 30 },
      { failures: 3, failingSince: 10, sickSince: 30 },
    ]);
    expect(states[3]).toBe(states[2]);
  });
  test('one passed check makes it well, whatever was before', () =>
    expect(
      afterLivenessCheck({ failures: 3, failingSince: 10, sickSince: 30 }, { at: 50, passed: true }, threshold),
    ).toBeUndefined());
  test('it is sick exactly when the last checks failed as often as the threshold', () =>
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 30 }), fc.integer({ min: 1, max: 5 }), (checks, most) => {
        let state: FailingState | undefined;
        for (const [at, passed] of checks.entries())
          state = afterLivenessCheck(state, { at, passed }, { failureThreshold: most });
        const inRow = checks.length - 1 - checks.lastIndexOf(true);
        expect(state?.sickSince !== undefined).toBe(inRow >= most);
        expect(state?.failures ?? 0).toBe(Math.min(inRow, most));
      }),
    ));
});

describe('a checker', () => {
  const instance = (requestId: string, slaveId: string, own?: WatchedInstance['own']): WatchedInstance => ({
    requestId,
    slaveId,
    own,
  });
  const silent = { at: 100, answered: false };
  const sick = instance('web', 's1', silent);
  test.each<{ name: string; of?: WatchedInstance; others: WatchedInstance[]; can: boolean }>([
    {
      name: 'believes a task that answers that it is ill',
      of: instance('web', 's1', { at: 100, answered: true }),
      others: [instance('api', 's2', silent)],
      can: true,
    },
    { name: 'has to have asked it itself', of: instance('web', 's1'), others: [], can: false },
    { name: 'of one request on one machine cannot compare', others: [instance('web', 's1', silent)], can: true },
    { name: 'that reaches no request is at fault itself', others: [instance('api', 's1', silent)], can: false },
    { name: 'that reaches no machine is at fault itself', others: [instance('web', 's2', silent)], can: false },
    { name: 'that has just begun waits for another answer', others: [instance('api', 's2')], can: false },
    {
      name: 'that was answered before only does not know',
      others: [instance('api', 's2', { at: 99, answered: true })],
      can: false,
    },
    {
      name: 'that was answered since then is fine',
      others: [instance('api', 's2', { at: 100, answered: true })],
      can: true,
    },
  ])('$name: $can', ({ of = sick, others, can }) => expect(new Reach([of, ...others]).canJudge(of, 100)).toBe(can));

  test('that reaches nothing at all of several requests judges none, whoever is asked in whatever order', () =>
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.nat(200)), { maxLength: 20 }), (found) => {
        const watched = [
          instance('a', 's1', silent),
          instance('b', 's1', silent),
          ...found.map(([requestId, at]) => instance(requestId, 's1', { at, answered: false })),
        ];
        for (const each of watched) expect(new Reach(watched).canJudge(each, 100)).toBe(false);
      }),
    ));
});
