import { describe, expect, test } from 'vitest';
import { healthContext, launchedAt, observed, result } from '../../../test/support/fixtures/health.js';
import { records, update } from '../../../test/support/fixtures/load-balancer.js';
import { decideEntry, type BalancerRecords, type EnteringTask } from './index.js';

const later = launchedAt + 60_000;
const entering = (changes: Partial<EnteringTask> = {}, told: Partial<BalancerRecords> = {}): EnteringTask => ({
  task: observed({ lastResult: result() }),
  context: healthContext(),
  records: records(told),
  hasToGo: false,
  activeDeployId: 'd1',
  ...changes,
});
const decide = (given: EnteringTask, at = later) => decideEntry(given, 1, at);
const enters = (attemptNumber = 1, anew = false) => ({
  kind: 'enqueue',
  id: { id: observed().taskId.id, requestType: 'ADD', attemptNumber },
  anew,
});
const withoutCheck = healthContext({ deploy: { requestId: 'web', id: 'd1' } });

describe('a task that no deploy brings in', () => {
  test('enters by its own id once it is healthy', () => expect(decide(entering())).toEqual(enters()));
  test('waits until its health check has passed', () => {
    const failed = observed({ lastResult: result({ statusCode: 500 }) });
    expect(decide(entering({ task: observed() }))).toEqual({ kind: 'wait' });
    expect(decide(entering({ task: failed }))).toEqual({ kind: 'wait' });
  });
  test('without a health check in force enters when it runs, after the base delay', () => {
    const given = entering({ task: observed(), context: withoutCheck });
    expect(decide(given, launchedAt + 999)).toEqual({ kind: 'wait' });
    expect(decide(given, launchedAt + 1_000)).toEqual(enters());
    const skipping = entering({ task: observed(), context: healthContext({ requestSkips: true }) });
    expect(decide(skipping, launchedAt + 1_000)).toEqual(enters());
  });
  test('does not enter before it runs', () =>
    expect(
      decide(entering({ task: observed({ state: 'TASK_STARTING', runningAt: undefined }), context: withoutCheck })),
    ).toEqual({ kind: 'wait' }));
  test('must not enter when it has to go', () =>
    expect(decide(entering({ hasToGo: true }))).toEqual({ kind: 'settled' }));
  test('is left to the deploy in progress when it is of that', () =>
    expect(decide(entering({ pendingDeployId: 'd1' }))).toEqual({ kind: 'settled' }));
});

describe('what the load balancer said before', () => {
  test('ADD UNKNOWN: it is sent again under the same id', () =>
    expect(
      decide(entering({}, { add: update('UNKNOWN', 'ADD', { id: observed().taskId.id, attemptNumber: 2 }) })),
    ).toEqual(enters(2)));
  test.each(['WAITING', 'CANCELING'] as const)('ADD %s: its state is asked for', (state) => {
    const add = update(state);
    expect(decide(entering({}, { add }))).toEqual({ kind: 'poll', record: 'ADD', update: add });
  });
  test('ADD SUCCESS: it is in', () =>
    expect(decide(entering({}, { add: update('SUCCESS') }))).toEqual({ kind: 'settled' }));
  test.each(['CANCELED', 'FAILED', 'INVALID_REQUEST_NOOP'] as const)('ADD %s: the task has to go', (state) =>
    expect(decide(entering({}, { add: update(state, 'ADD', { message: 'no room' }) }))).toEqual({
      kind: 'refused',
      message: `The load balancer did not take the task: ${state}, no room`,
    }),
  );
  test('what a deploy was refused is no fault of a task that stays: it enters by itself', () =>
    expect(decide(entering({}, { add: update('FAILED', 'DEPLOY') }))).toEqual(enters(2)));
});

describe('a task that was to leave and stays', () => {
  test('comes in again, under an attempt that the load balancer has not seen', () => {
    const told = { add: update('SUCCESS', 'ADD', { attemptNumber: 2 }), remove: update('SUCCESS', 'REMOVE') };
    expect(decide(entering({}, told))).toEqual(enters(3, true));
  });
  test('waits for the end of its removal first', () => {
    const remove = update('WAITING', 'REMOVE');
    expect(decide(entering({}, { add: update('SUCCESS'), remove }))).toEqual({
      kind: 'poll',
      record: 'REMOVE',
      update: remove,
    });
  });
  test('is left alone while a deploy in progress is moving it', () => {
    const told = { add: update('SUCCESS'), remove: update('WAITING', 'DEPLOY') };
    expect(decide(entering({ pendingDeployId: 'd2' }, told))).toEqual({ kind: 'wait' });
  });
  test('does not come in again when its deploy does not serve any more', () => {
    const told = { add: update('SUCCESS'), remove: update('SUCCESS', 'REMOVE') };
    expect(decide(entering({ activeDeployId: 'd2' }, told))).toEqual({ kind: 'settled' });
  });
});
