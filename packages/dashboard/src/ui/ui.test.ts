import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { changesBetween } from './changes';
import { formatBytes, formatDuration, parseDuration } from './duration';
import { fillIn } from './fill-in';
import { best, hasTask, matcherOf } from './find';
import { fieldTime, formatTime, isoTime, relativeTime, timeOfField } from './time-format';
import { counted, inWords, ofMachines, whyTask, wordOf } from './words';

test('names and reasons of the service say machine', () => {
  expect(inWords('DECOMISSIONED_SLAVE_OR_RACK')).toBe('decommissioned machine or rack');
  expect(ofMachines('No slave of 6 can take it: 4 of these slaves are full')).toBe(
    'No machine of 6 can take it: 4 of these machines are full',
  );
});

test('a number agrees with its noun', () => {
  expect([0, 1, 2].map((count) => counted(count, 'task'))).toEqual(['0 tasks', '1 task', '2 tasks']);
});

test.each([
  ['node-01.example.com', true],
  ['node_01', true],
  ['RACK-a', true],
  ['web-v1', true],
  ['web_v1', false],
  ['node-02', false],
  ['', true],
])('a task is found by %j: %s', (query, found) => {
  const task = {
    id: 'web-v1-1767225600000-1-node_01.example.com-rack_a',
    host: 'node_01.example.com',
    rackId: 'rack_a',
  };
  expect(hasTask(query, task)).toBe(found);
});

describe('durations', () => {
  test.each([
    ['2h 30m', 9_000_000],
    ['90s', 90_000],
    ['1.5 h', 5_400_000],
    ['1d2h', 93_600_000],
    ['250ms', 250],
    ['5', 300_000],
    ['', undefined],
    ['2 hours', undefined],
    ['h', undefined],
    ['-5m', undefined],
    ['5m x', undefined],
  ])('%j is read as %s ms', (text, ms) => expect(parseDuration(text)).toBe(ms));

  test('what is written is read again as the same, to its two largest units', () =>
    fc.assert(
      fc.property(fc.integer({ min: 1_000, max: 5_000_000_000 }), (ms) => {
        const read = parseDuration(formatDuration(ms));
        expect(read).toBeDefined();
        expect(Math.abs(read! - ms)).toBeLessThanOrEqual(ms / 24 + 500);
      }),
    ));

  test.each([
    [0, '0 B'],
    [1023, '1023 B'],
    [1536, '1.5 kB'],
    [300 * 1024 * 1024, '300 MB'],
  ])('%s bytes are %s', (bytes, text) => expect(formatBytes(bytes)).toBe(text));
});

describe('times', () => {
  const at = Date.UTC(2026, 6, 5, 21, 7, 9);
  test.each([
    ['lll Z', 'UTC', 'Jul 5, 2026 21:07 +00:00'],
    ['lll:ss Z', 'Europe/Paris', 'Jul 5, 2026 23:07:09 +02:00'],
    ['YYYY-MM-DD HH:mm:ss', 'Asia/Kolkata', '2026-07-06 02:37:09'],
    ['[at] HH', 'UTC', 'at 21'],
    ['hh:mm A', 'America/New_York', '05:07 PM'],
  ])('%s in %s', (format, zone, text) => expect(formatTime(at, format, zone)).toBe(text));

  test.each([
    ['UTC', '2026-07-05T21:07:09Z'],
    ['Asia/Kolkata', '2026-07-06T02:37:09+05:30'],
  ])('in %s are written as the log writes them: %s', (zone, text) => {
    expect(isoTime(at, zone)).toBe(text);
    expect(Date.parse(text)).toBe(at);
  });

  test('of a field are read by the zone in which they are shown', () =>
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 2_000_000_000 }),
        fc.constantFrom('UTC', 'America/New_York', 'Asia/Kolkata', 'Europe/Paris'),
        (seconds, zone) => {
          const shown = fieldTime(seconds * 1_000, zone);
          expect(fieldTime(timeOfField(shown, zone), zone)).toBe(shown);
        },
      ),
    ));

  test.each([
    [0, 'now'],
    [-30_000, '30 sec. ago'],
    [-300_000, '5 min. ago'],
    [7_200_000, 'in 2 hr.'],
    [-3 * 86_400_000, '3 days ago'],
  ])('%s ms from now is %s', (ms, text) => expect(relativeTime(at + ms, at)).toBe(text));
});

describe('finding', () => {
  const ids = ['my-service', 'mystery', 'other-my', 'MySqlWorker', 'nightly_report'];
  test.each([
    ['my', ['mystery', 'my-service', 'MySqlWorker', 'other-my']],
    ['MyS', ['mystery', 'MySqlWorker', 'my-service']],
    ['NR', ['nightly_report']],
    ['my*', ['mystery', 'my-service', 'MySqlWorker']],
    ['?????-my', ['other-my']],
    ['report', ['nightly_report']],
    ['msv', ['my-service']],
    ['zz', []],
  ])('%j', (typed, found) => expect(best(ids, (id) => id, typed, 10)).toEqual(found));

  test('an id is always found by any part of itself, and no typed text breaks the search', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[\w.-]+$/), fc.nat(), fc.nat(), (id, from, length) => {
        const part = id.slice(from % id.length, (from % id.length) + 1 + (length % id.length));
        expect(matcherOf(part)(id)).toBeDefined();
      }),
    );
  });
});

test('changes are told field by field; what each version has of its own is left out', () => {
  const before = { id: 'v1', command: 'a', env: { A: '1', B: '2' }, arguments: ['x'], resources: { cpus: 1 } };
  const after = { id: 'v2', command: 'b', env: { A: '1', C: '3' }, arguments: ['x', 'y'], resources: { cpus: 1 } };
  expect(changesBetween(before, after)).toEqual([
    { path: 'arguments', from: ['x'], to: ['x', 'y'] },
    { path: 'command', from: 'a', to: 'b' },
    { path: 'env.B', from: '2', to: undefined },
    { path: 'env.C', from: undefined, to: '3' },
  ]);
});

test('links take members of the request, encoded, and nothing where there is none', () => {
  const parent = { request: { id: 'a/b', instances: 2 } };
  expect(fillIn('https://x/{{request.id}}?n={{ request.instances }}&m={{request.none.deep}}', parent)).toBe(
    'https://x/a%2Fb?n=2&m=',
  );
});

test('a state that is not known is shown as it came', () => {
  expect(wordOf('task', 'TASK_NEWER')).toEqual({ text: 'task newer', tone: 'unknown' });
  expect(
    whyTask({ taskState: 'TASK_FAILED', statusMessage: 'exit code 3', statusReason: 'REASON_COMMAND_FAILED' }),
  ).toBe('exit code 3 · command failed');
  const launched = (statusMessage: string) => whyTask({ taskState: 'TASK_LAUNCHED', statusMessage });
  expect(['NEW_DEPLOY by ada', 'IMMEDIATE by ada', 'RETRY', 'OOM'].map(launched)).toEqual([
    'new deploy by ada',
    'immediate by ada',
    'RETRY',
    'OOM',
  ]);
});
