import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { loadBalancerStates, type LoadBalancerState } from '../model/enums.js';
import { now, records, taskId, update } from '../../../test/support/fixtures/load-balancer.js';
import { decideRemoval, isInLoadBalancer, type BalancerRecords } from './index.js';

const decide = (given: Partial<BalancerRecords>, grace = 0, at = now) =>
  decideRemoval(taskId, records(given), grace, at);
const own = (attemptNumber: number) => ({
  kind: 'enqueue',
  id: { id: taskId.id, requestType: 'REMOVE', attemptNumber },
});

describe('a task that has to leave', () => {
  test('was never there: nothing to do', () => {
    expect(decide({})).toEqual({ kind: 'done' });
    expect(decide({ remove: update('UNKNOWN', 'REMOVE') })).toEqual({ kind: 'done' });
  });
  test.each(['FAILED', 'CANCELED', 'CANCELING', 'INVALID_REQUEST_NOOP'] as const)(
    'was never let in, ADD %s: nothing to do',
    (state) => expect(decide({ add: update(state) })).toEqual({ kind: 'done' }),
  );
  test.each(['SUCCESS', 'WAITING', 'UNKNOWN'] as const)('may be there, ADD %s: is removed under its own id', (state) =>
    expect(decide({ add: update(state) })).toEqual(own(1)),
  );

  test.each<{ state: LoadBalancerState; attempt: number }>([
    { state: 'UNKNOWN', attempt: 3 },
    { state: 'FAILED', attempt: 4 },
    { state: 'CANCELED', attempt: 4 },
  ])('REMOVE $state after attempt 3: is sent as attempt $attempt', ({ state, attempt }) =>
    expect(decide({ add: update('SUCCESS'), remove: update(state, 'REMOVE', { attemptNumber: 3 }) })).toEqual(
      own(attempt),
    ),
  );
  test('a removal by a deploy whose end is unknown is sent once more as its own', () => {
    expect(decide({ add: update('SUCCESS'), remove: update('UNKNOWN', 'DEPLOY') })).toEqual(own(1));
  });
  test('attempts that were forgotten are not used again', () => {
    expect(decide({ add: update('SUCCESS'), removeAttemptsBefore: 2 })).toEqual(own(3));
  });

  test.each(['WAITING', 'CANCELING'] as const)(
    'REMOVE %s: its state is asked for, by the id it was sent under',
    (state) => {
      const remove = update(state, 'DEPLOY');
      expect(decide({ add: update('SUCCESS'), remove })).toEqual({ kind: 'poll', id: remove.loadBalancerRequestId });
    },
  );
  test('REMOVE SUCCESS: it has left, once the grace period has passed since then', () => {
    const given = { add: update('SUCCESS'), remove: update('SUCCESS', 'REMOVE') };
    expect(decide(given)).toEqual({ kind: 'done' });
    expect(decide(given, 5_000, now + 4_999)).toEqual({ kind: 'wait', until: now + 5_000 });
    expect(decide(given, 5_000, now + 5_000)).toEqual({ kind: 'done' });
    // How long ago that was is not known once the clock was set back.
    expect(decide(given, 5_000, now - 600_000)).toEqual({ kind: 'done' });
  });
  test('REMOVE INVALID_REQUEST_NOOP: there is nothing that could be removed', () =>
    expect(decide({ add: update('SUCCESS'), remove: update('INVALID_REQUEST_NOOP', 'REMOVE') })).toEqual({
      kind: 'done',
    }));
});

test('whatever the load balancer answers, a removal ends as soon as it answers SUCCESS', () => {
  const anyState = fc.constantFrom<LoadBalancerState>(...loadBalancerStates);
  fc.assert(
    fc.property(
      fc.constantFrom<LoadBalancerState>('SUCCESS', 'WAITING', 'UNKNOWN'),
      fc.array(anyState),
      (added, answers) => {
        let given = records({ add: update(added) });
        const sent = new Set<string>();
        for (const answer of [...answers, 'SUCCESS' as const]) {
          const step = decideRemoval(taskId, given, 0, now);
          if (step.kind === 'done') break;
          if (step.kind === 'wait') throw new Error('there is no grace period');
          sent.add(`${step.id.attemptNumber}`);
          given = { ...given, remove: { ...update(answer, 'REMOVE'), loadBalancerRequestId: step.id } };
        }
        expect(decideRemoval(taskId, given, 0, now)).toEqual({ kind: 'done' });
        const refusals = answers.filter((answer) => answer === 'FAILED' || answer === 'CANCELED').length;
        expect(sent.size).toBeLessThanOrEqual(refusals + 1);
      },
    ),
  );
});

test('a task is shown in the load balancer when it was told to come, whatever came of it, and not to go', () => {
  for (const state of loadBalancerStates) expect(isInLoadBalancer(records({ add: update(state) }))).toBe(true);
  expect(isInLoadBalancer(records())).toBe(false);
  expect(isInLoadBalancer(records({ add: update('SUCCESS'), remove: update('UNKNOWN', 'REMOVE') }))).toBe(false);
});
