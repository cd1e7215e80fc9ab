import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { pendingTypes } from './model/enums.js';
import { makePendingTaskId, makeTaskId, parsePendingTaskId, parseTaskId, sanitize } from './task-id.js';

const parts = {
  requestId: 'my-request',
  deployId: 'd1',
  startedAt: 1_700_000_000_000,
  instanceNo: 3,
  host: 'host-1.example.org',
  rackId: 'rack-a',
};
const requestIds = fc.stringMatching(/^[a-zA-Z0-9_-]{1,30}$/);
const deployIds = fc.stringMatching(/^[a-zA-Z0-9_.]{1,20}$/);
const words = fc.stringMatching(/^[a-zA-Z0-9_.:-]{1,30}$/);
const millis = fc.integer({ min: 1, max: 4_000_000_000_000 });
const instanceNos = fc.integer({ min: 1, max: 1_000 });

describe('a task id', () => {
  test('is request, deploy, start, instance, host and rack, of which host and rack have no dashes', () =>
    expect(makeTaskId(parts)).toEqual({
      requestId: 'my-request',
      deployId: 'd1',
      startedAt: 1_700_000_000_000,
      instanceNo: 3,
      host: 'host_1.example.org',
      sanitizedHost: 'host_1.example.org',
      rackId: 'rack_a',
      sanitizedRackId: 'rack_a',
      id: 'my-request-d1-1700000000000-3-host_1.example.org-rack_a',
    }));

  test('is read from the right, so that a request id may have dashes', () =>
    fc.assert(
      fc.property(
        fc.record({
          requestId: requestIds,
          deployId: deployIds,
          startedAt: millis,
          instanceNo: instanceNos,
          host: words,
          rackId: words,
        }),
        (any) => {
          const made = makeTaskId(any);
          expect(parseTaskId(made.id)).toEqual(made);
          expect(made.requestId).toBe(any.requestId);
        },
      ),
    ));

  test.each([
    '',
    'a-b-c',
    'r-d-x-1-h-k',
    'r-d-1700000000000-x-h-k',
    'r-d-1700000000000-0-h-k',
    'r-d-01700000000000-1-h-k',
    'r-d-1700000000000-01-h-k',
    '-d-1700000000000-1-h-k',
  ])('%j is none', (id) => expect(parseTaskId(id)).toBeUndefined());

  test('every dash of a host becomes an underscore', () => expect(sanitize('a-b--c')).toBe('a_b__c'));
});

describe('a pending task id', () => {
  test('is request, deploy, next run, instance, type and creation', () =>
    expect(
      makePendingTaskId({
        requestId: 'my-request',
        deployId: 'd1',
        nextRunAt: 5,
        instanceNo: 1,
        pendingType: 'NEW_DEPLOY',
        createdAt: 4,
      }).id,
    ).toBe('my-request-d1-5-1-NEW_DEPLOY-4'));

  test('is read from the right, so that a request id may have dashes', () =>
    fc.assert(
      fc.property(
        fc.record({
          requestId: requestIds,
          deployId: deployIds,
          nextRunAt: millis,
          instanceNo: instanceNos,
          pendingType: fc.constantFrom(...pendingTypes),
          createdAt: millis,
        }),
        (any) => {
          const made = makePendingTaskId(any);
          expect(parsePendingTaskId(made.id)).toEqual(made);
        },
      ),
    ));

  test.each(['', 'r-d-5-1-NO_TYPE-4', 'r-d-5-0-BOUNCE-4', 'r-d-5-1-BOUNCE', 'r-d-05-1-BOUNCE-4'])('%j is none', (id) =>
    expect(parsePendingTaskId(id)).toBeUndefined(),
  );
});
