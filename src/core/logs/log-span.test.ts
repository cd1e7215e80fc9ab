import { expect, test } from 'vitest';
import { narrow, spanOfDeploy, spanOfRequest, spanOfTask } from './search-places.js';

const day = 24 * 3_600_000;
const now = 100 * day;

test.each([
  { name: 'a running task until now', task: { startedAt: 5, isKnown: true }, end: now },
  { name: 'an ended one until its last update', task: { startedAt: 5, isKnown: true, endedAt: 9 }, end: 9 },
  {
    name: 'one without history for the time of the settings',
    task: { startedAt: 5, isKnown: false },
    end: 5 + 3 * day,
  },
])('$name', ({ task, end }) => expect(spanOfTask(task, 3 * day, now)).toEqual({ start: 5, end }));

test.each([
  { name: 'the current deploy until now', deploy: { isCurrent: true, lastFinishAt: 7 }, end: now },
  { name: 'a past one until a day after its last task', deploy: { isCurrent: false, lastFinishAt: 7 }, end: 7 + day },
  { name: 'a past one without statistics until now', deploy: { isCurrent: false }, end: now },
])('$name', ({ deploy, end }) => expect(spanOfDeploy({ createdAt: 5, ...deploy }, now)).toEqual({ start: 5, end }));

test.each([
  { lastEvent: 'UPDATED' as const, end: now },
  { lastEvent: 'DELETED' as const, end: 7 + day },
  { lastEvent: 'PAUSED' as const, end: 7 + day },
])('a request whose history ends with $lastEvent', ({ lastEvent, end }) =>
  expect(spanOfRequest({ firstAt: 5, lastAt: 7, lastEvent }, {}, now)).toEqual({ start: 5, end }),
);

test('a request without history begins where the caller says', () => {
  expect(spanOfRequest(undefined, { start: 3 }, now)).toEqual({ start: 3, end: now });
  expect(spanOfRequest(undefined, { end: 3 }, now)).toBeUndefined();
});

test('a span is narrowed and never widened', () => {
  expect(narrow({ start: 5, end: 9 }, {})).toEqual({ start: 5, end: 9 });
  expect(narrow({ start: 5, end: 9 }, { start: 6, end: 8 })).toEqual({ start: 6, end: 8 });
  expect(narrow({ start: 5, end: 9 }, { start: 1, end: 20 })).toEqual({ start: 5, end: 9 });
});
