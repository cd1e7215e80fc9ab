import fc from 'fast-check';
import type { Request } from '../model/request.js';
import { freezeProblem, freezeRefusal, isFrozen, type PriorityRules } from './freeze.js';
import { describe, expect, test } from 'vitest';

const rules: PriorityRules = {
  priority: { defaultLevel: 0.3, levelOfType: { WORKER: 0.5, SERVICE: 0.7 }, weightFactor: 1 },
};
const request = (changes: Partial<Request> = {}): Request => ({ id: 'web', requestType: 'SERVICE', ...changes });
const freezeAt = (minimumPriorityLevel: number, message?: string) => ({
  minimumPriorityLevel,
  killTasks: false,
  message,
});

describe('a freeze holds back', () => {
  test.each([
    { name: 'a request whose own level is below the minimum', request: { taskPriorityLevel: 0.4 }, held: true },
    { name: 'not a request at the minimum', request: { taskPriorityLevel: 0.5 }, held: false },
    { name: 'not a request above the minimum', request: { taskPriorityLevel: 0.6 }, held: false },
    { name: 'a request of level 0', request: { taskPriorityLevel: 0 }, held: true },
    { name: 'not a SERVICE that names no level: it has 0.7', request: {}, held: false },
    { name: 'not a WORKER that names no level: it has 0.5', request: { requestType: 'WORKER' as const }, held: false },
    {
      name: 'other types that name no level: they have 0.3',
      request: { requestType: 'RUN_ONCE' as const },
      held: true,
    },
    {
      name: 'a SERVICE that names a lower level than its type has',
      request: { requestType: 'SERVICE' as const, taskPriorityLevel: 0.1 },
      held: true,
    },
  ])('$name', ({ request: changes, held }) => {
    expect(isFrozen(request(changes), freezeAt(0.5), rules)).toBe(held);
  });

  test('nothing while there is none', () => {
    expect(isFrozen(request({ taskPriorityLevel: 0 }), undefined, rules)).toBe(false);
  });

  test('whatever a lower one holds back, and lets go whatever a higher one lets go', () => {
    const level = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(level, level, level, (own, one, other) => {
        const held = (minimum: number) => isFrozen(request({ taskPriorityLevel: own }), freezeAt(minimum), rules);
        const [lower, higher] = [Math.min(one, other), Math.max(one, other)];
        return !held(lower) || held(higher);
      }),
    );
  });
});

test('a refusal names the request, its level, the minimum and the reason', () => {
  const refusal = freezeRefusal(request({ taskPriorityLevel: 0.2 }), freezeAt(0.5, 'month end'), rules);
  expect(refusal).toMatchObject({ field: 'taskPriorityLevel', rule: 'priorityFreeze' });
  for (const part of ["'web'", '0.2', '0.5', 'month end']) expect(refusal?.message).toContain(part);
  expect(freezeRefusal(request(), freezeAt(0.5), rules)).toBeUndefined();
  expect(freezeRefusal(request(), undefined, rules)).toBeUndefined();
});

describe('a freeze can be asked for', () => {
  test.each([
    { name: 'with a level of 1', freeze: freezeAt(1), problem: undefined },
    { name: 'with the smallest level above 0', freeze: freezeAt(Number.MIN_VALUE), problem: undefined },
    { name: 'not with a level of 0', freeze: freezeAt(0), problem: 'minimumPriorityLevel' },
    { name: 'not with a level above 1', freeze: freezeAt(1.000_1), problem: 'minimumPriorityLevel' },
    { name: 'not with what is no number', freeze: freezeAt(Number.NaN), problem: 'minimumPriorityLevel' },
    { name: 'for a millisecond', freeze: { ...freezeAt(1), durationMillis: 1 }, problem: undefined },
    { name: 'not for no time', freeze: { ...freezeAt(1), durationMillis: 0 }, problem: 'durationMillis' },
  ])('$name', ({ freeze, problem }) => expect(freezeProblem(freeze)?.field).toBe(problem));
});
