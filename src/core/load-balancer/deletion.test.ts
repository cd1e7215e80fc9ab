import { describe, expect, test } from 'vitest';
import { now, update } from '../../../test/support/fixtures/load-balancer.js';
import { decideDeletion, endsDeletion, isServiceDeleted, type DeletionView } from './index.js';

const view = (changes: Partial<DeletionView> = {}): DeletionView => ({
  requestId: 'web',
  isRunnable: false,
  hasTasks: false,
  ...changes,
});
const sent = (attemptNumber = 1, id = `web-${now}`) => ({
  kind: 'send',
  id: { id, requestType: 'DELETE', attemptNumber },
});
const answered = (...given: Parameters<typeof update>) => ({ ...view(), update: update(...given) });

describe('the service of a deleted request', () => {
  test('is deleted under an id of request and time', () => expect(decideDeletion(view(), now)).toEqual(sent()));
  test('stays while a request of the id runs again', () =>
    expect(decideDeletion(view({ isRunnable: true }), now)).toEqual({ kind: 'wait' }));
  test('stays while a task of it is active, or has not left yet', () =>
    expect(decideDeletion(view({ hasTasks: true }), now)).toEqual({ kind: 'wait' }));
  test.each(['WAITING', 'CANCELING'] as const)('is asked after when the answer was %s', (state) => {
    const given = answered(state, 'DELETE', { id: 'web-1' });
    expect(decideDeletion(given, now)).toEqual({ kind: 'poll', id: given.update.loadBalancerRequestId });
  });
  test('is sent again under the same id when its outcome is unknown', () =>
    expect(decideDeletion(answered('UNKNOWN', 'DELETE', { id: 'web-1' }), now)).toEqual(sent(1, 'web-1')));
  test.each(['FAILED', 'CANCELED'] as const)('is tried again under a new id after %s', (state) =>
    expect(decideDeletion(answered(state, 'DELETE', { id: 'web-1', attemptNumber: 2 }), now)).toEqual(sent(3)),
  );

  test.each([
    { name: 'SUCCESS', answer: update('SUCCESS'), ends: true },
    { name: 'INVALID_REQUEST_NOOP', answer: update('INVALID_REQUEST_NOOP'), ends: true },
    { name: 'FAILED', answer: update('FAILED'), ends: false },
    {
      name: 'FAILED as invalid',
      answer: update('FAILED', 'DELETE', { message: 'Invalid request due to x' }),
      ends: true,
    },
    {
      name: 'CANCELED as invalid',
      answer: update('CANCELED', 'DELETE', { message: 'Invalid request due to x' }),
      ends: true,
    },
    { name: 'WAITING', answer: update('WAITING'), ends: false },
    { name: 'UNKNOWN', answer: update('UNKNOWN'), ends: false },
  ])('is done with after $name: $ends', ({ answer, ends }) => expect(endsDeletion(answer)).toBe(ends));
});

test.each([
  { loadBalanced: true, said: undefined, byDefault: false, goes: false },
  { loadBalanced: true, said: undefined, byDefault: true, goes: true },
  { loadBalanced: true, said: false, byDefault: true, goes: false },
  { loadBalanced: true, said: true, byDefault: false, goes: true },
  { loadBalanced: undefined, said: true, byDefault: true, goes: false },
])(
  'load balanced $loadBalanced, the deletion says $said, the settings $byDefault: the service goes $goes',
  ({ loadBalanced, said, byDefault, goes }) =>
    expect(isServiceDeleted({ id: 'web', requestType: 'SERVICE', loadBalanced }, said, byDefault)).toBe(goes),
);
