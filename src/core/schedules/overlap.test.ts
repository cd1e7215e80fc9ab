import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { missedRunPolicies, overlapPolicies } from '../model/enums.js';
import type { Request } from '../model/request.js';
import { decideDue, type DueTime } from './index.js';

const now = Date.UTC(2026, 0, 5, 12);
const minute = 60_000;

/** `10b`: ten minutes ago, buffered; `0x`: now, in an exclusion; `1u`: a minute ago, without a look. */
const due = (text: string): DueTime => ({
  at: now - Number.parseFloat(text) * minute,
  buffered: text.endsWith('b'),
  excluded: text.endsWith('x'),
  unseen: text.endsWith('u'),
});
const shown = (at: number, mark: string): string => `${(now - at) / minute}${mark}`;

function decide(rules: Partial<Request>, times: readonly string[], occupied: number) {
  const request = { requestType: 'SCHEDULED', ...rules } as Request;
  const { kept, skipped, replaces } = decideDue(times.map(due), request, occupied, now);
  return {
    kept: kept.map(({ time, buffered }) => shown(time.at, buffered ? 'b' : '')).join(' '),
    skipped: skipped.map(({ time, why }) => shown(time.at, ` ${why}`)).join(', '),
    replaces,
  };
}

type Row = [string, Partial<Request>, string[], number, string, string];

describe('a time that comes while a run goes on', () => {
  test.each<Row>([
    ['SKIP leaves it out', { overlapPolicy: 'SKIP' }, ['0'], 1, '', '0 OVERLAP'],
    ['SKIP starts it where none does', { overlapPolicy: 'SKIP' }, ['0'], 0, '0', ''],
    ['ALLOW starts it beside', { overlapPolicy: 'ALLOW', instances: 3 }, ['0'], 2, '0', ''],
    ['ALLOW leaves out what is beyond', { overlapPolicy: 'ALLOW', instances: 3 }, ['0'], 3, '', '0 OVERLAP'],
    ['ALLOW starts as many as fit', { overlapPolicy: 'ALLOW', instances: 3 }, ['0.5', '0'], 2, '0', '0.5 OVERLAP'],
    ['BUFFER_ONE keeps one', { overlapPolicy: 'BUFFER_ONE' }, ['0'], 1, '0b', ''],
    ['BUFFER_ONE keeps no second', { overlapPolicy: 'BUFFER_ONE' }, ['5b', '0'], 1, '5b', '0 OVERLAP'],
    ['BUFFER_ONE keeps one behind that to start', { overlapPolicy: 'BUFFER_ONE' }, ['5b', '0'], 0, '5b 0b', ''],
    ['BUFFER_ALL keeps all', { overlapPolicy: 'BUFFER_ALL' }, ['9b', '5b', '0'], 1, '9b 5b 0b', ''],
    ['REPLACE keeps the newest', { overlapPolicy: 'REPLACE' }, ['5b', '0'], 1, '0b', '5 OVERLAP'],
  ])('%s', (_name, rules, times, occupied, kept, skipped) => {
    expect(decide(rules, times, occupied)).toMatchObject({ kept, skipped });
  });

  test('REPLACE ends the run that goes on, and none where there is none', () => {
    expect(decide({ overlapPolicy: 'REPLACE' }, ['0'], 1).replaces).toBe(true);
    expect(decide({ overlapPolicy: 'REPLACE' }, ['0'], 0).replaces).toBe(false);
    expect(decide({ overlapPolicy: 'REPLACE' }, [], 1).replaces).toBe(false);
  });

  test('BUFFER_ALL keeps 100', () => {
    const times = Array.from({ length: 120 }, (_, index) => `${(120 - index) / 1_000}`);
    const { kept, skipped } = decide({ overlapPolicy: 'BUFFER_ALL' }, times, 1);
    expect([kept.split(' ').length, skipped.split(', ').length]).toEqual([100, 20]);
  });
});

describe('of several times that can still start in time', () => {
  const times = ['0.5', '0.4u', '0.3u'];
  test.each<Row>([
    ['the newest runs by itself', { overlapPolicy: 'SKIP' }, times, 0, '0.3', '0.5 OVERLAP, 0.4 OVERLAP'],
    ['the newest runs by LAST', { missedRuns: { policy: 'LAST' } }, times, 0, '0.3', '0.5 OVERLAP, 0.4 OVERLAP'],
    ['the newest runs by SKIP', { missedRuns: { policy: 'SKIP' } }, times, 0, '0.3', '0.5 OVERLAP, 0.4 OVERLAP'],
    [
      'the newest runs within withinMillis',
      { missedRuns: { policy: 'LAST', withinMillis: 27_000 } },
      times,
      0,
      '0.3',
      '0.5 MISSED, 0.4 OVERLAP',
    ],
    ['the newest run beside each other', { overlapPolicy: 'ALLOW', instances: 2 }, times, 0, '0.4 0.3', '0.5 OVERLAP'],
    ['the newest wait', { overlapPolicy: 'BUFFER_ONE' }, times, 0, '0.4 0.3b', '0.5 OVERLAP'],
    [
      'all wait by BUFFER_ALL',
      { overlapPolicy: 'BUFFER_ALL', missedRuns: { policy: 'LAST' } },
      times,
      0,
      '0.5 0.4b 0.3b',
      '',
    ],
    [
      'each runs by ALL, that which was planned first',
      { missedRuns: { policy: 'ALL' } },
      times,
      0,
      '0.5 0.4b 0.3b',
      '',
    ],
    [
      'the newest runs by LAST, also one that an exclusion held',
      { missedRuns: { policy: 'LAST' } },
      ['0.5', '0.2x'],
      0,
      '0.2',
      '0.5 OVERLAP',
    ],
  ])('%s', (_name, rules, given, occupied, kept, skipped) => {
    expect(decide(rules, given, occupied)).toMatchObject({ kept, skipped });
  });
});

describe('ALL makes up for 100 times, the newest', () => {
  const missed = (count: number, mark = ''): string[] =>
    Array.from({ length: count }, (_, index) => `${count + 1 - index}${mark}`);
  test.each<[string, Partial<Request>, string[], number, string, number]>([
    ['of many that are late', { overlapPolicy: 'SKIP' }, missed(150), 0, '101', 100],
    [
      'of many of the last minute',
      { overlapPolicy: 'SKIP' },
      missed(150).map((at) => `${Number(at) / 1_000}u`),
      0,
      '0.101',
      100,
    ],
    ['beside each other', { overlapPolicy: 'ALLOW', instances: 3 }, missed(150), 0, '101', 100],
    ['while a run goes on', { overlapPolicy: 'SKIP' }, missed(150), 1, '101b', 100],
    [
      'of the last minute, while a run goes on that others wait for',
      { overlapPolicy: 'BUFFER_ALL' },
      missed(150).map((at) => `${Number(at) / 1_000}u`),
      1,
      '0.101b',
      100,
    ],
    ['beside those that wait already', { overlapPolicy: 'SKIP' }, ['500b', '499b', ...missed(150)], 1, '500b', 100],
  ])('%s', (_name, rules, times, occupied, first, count) => {
    const kept = decide({ ...rules, missedRuns: { policy: 'ALL' } }, times, occupied).kept.split(' ');
    expect([kept[0], kept.length]).toEqual([first, count]);
  });
});

describe('times that passed without a start', () => {
  test.each<Row>([
    [
      'LAST makes up for the newest',
      { missedRuns: { policy: 'LAST' } },
      ['30', '20', '10'],
      0,
      '10',
      '30 MISSED, 20 MISSED',
    ],
    [
      'LAST makes up for none where one is on time',
      { missedRuns: { policy: 'LAST' } },
      ['10', '0'],
      0,
      '0',
      '10 MISSED',
    ],
    [
      'LAST not for what is too old',
      { missedRuns: { policy: 'LAST', withinMillis: 5 * minute } },
      ['10'],
      0,
      '',
      '10 MISSED',
    ],
    ['SKIP starts what is on time', { missedRuns: { policy: 'SKIP' } }, ['1'], 0, '1', ''],
    ['SKIP makes up for none', { missedRuns: { policy: 'SKIP' } }, ['2', '1.5'], 0, '', '2 MISSED, 1.5 MISSED'],
    [
      'SKIP waits as long as it says',
      { missedRuns: { policy: 'SKIP', withinMillis: 5 * minute } },
      ['6', '4'],
      0,
      '4',
      '6 MISSED',
    ],
    [
      'ALL makes up for each, one after the other',
      { missedRuns: { policy: 'ALL' } },
      ['30', '20', '10'],
      0,
      '30 20b 10b',
      '',
    ],
    [
      'ALL makes up for each that is not too old',
      { missedRuns: { policy: 'ALL', withinMillis: 25 * minute } },
      ['30', '20', '10'],
      0,
      '20 10b',
      '30 MISSED',
    ],
    ['ALL leaves out what overlaps by SKIP', { missedRuns: { policy: 'ALL' } }, ['30', '0'], 0, '30', '0 OVERLAP'],
    [
      'ALL beside BUFFER_ALL keeps both',
      { overlapPolicy: 'BUFFER_ALL', missedRuns: { policy: 'ALL' } },
      ['30', '0'],
      0,
      '30 0b',
      '',
    ],
    [
      'what is buffered is not missed',
      { overlapPolicy: 'BUFFER_ALL', missedRuns: { policy: 'SKIP' } },
      ['30b', '2'],
      0,
      '30b',
      '2 MISSED',
    ],
    [
      'BUFFER_ALL keeps none that nothing fitted, or its group held',
      { overlapPolicy: 'BUFFER_ALL' },
      ['30', '0'],
      0,
      '0',
      '30 MISSED',
    ],
    [
      'REPLACE keeps the newest of those that its group held',
      { overlapPolicy: 'REPLACE' },
      ['0.5', '0'],
      0,
      '0',
      '0.5 OVERLAP',
    ],
    ['an exclusion is left out by itself', { overlapPolicy: 'BUFFER_ONE' }, ['10x'], 0, '', '10 EXCLUDED'],
    ['an exclusion is made up for by LAST', { missedRuns: { policy: 'LAST' } }, ['10x', '0.5x'], 0, '0.5', '10 MISSED'],
    ['an exclusion is not by SKIP', { missedRuns: { policy: 'SKIP' } }, ['0.5x'], 0, '', '0.5 EXCLUDED'],
  ])('%s', (_name, rules, times, occupied, kept, skipped) => {
    expect(decide(rules, times, occupied)).toMatchObject({ kept, skipped });
  });
});

test('a time that waits for a machine alone is missed when it is too late for it, however often anyone looked before', () => {
  const rules: Partial<Request> = { missedRuns: { policy: 'ALL', withinMillis: 25 * minute } };
  const { kept } = decide(rules, ['24'], 0);
  const later = kept.replace('24', '26');
  expect(decide(rules, [later], 0)).toMatchObject({ kept: '', skipped: '26 MISSED' });
});

test('each time is kept or skipped, the earliest first, and no more than may wait', () =>
  fc.assert(
    fc.property(
      fc.constantFrom(...overlapPolicies),
      fc.option(fc.constantFrom(...missedRunPolicies), { nil: undefined }),
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 0, max: 5 }),
      fc.uniqueArray(
        fc.record({
          at: fc.integer({ min: now - 3_600_000, max: now }),
          buffered: fc.boolean(),
          excluded: fc.boolean(),
        }),
        { selector: ({ at }) => at, maxLength: 130 },
      ),
      (overlapPolicy, policy, instances, occupied, times) => {
        const missedRuns = policy && { policy };
        const request = { requestType: 'SCHEDULED', overlapPolicy, missedRuns, instances } as const;
        const { kept, skipped } = decideDue(times, request, occupied, now);
        const all = [...kept, ...skipped].map(({ time }) => time);
        expect(new Set(all)).toEqual(new Set(times));
        expect(all).toHaveLength(times.length);
        expect(kept.map(({ time }) => time.at)).toEqual(kept.map(({ time }) => time.at).toSorted((a, b) => a - b));
        const atOnce = overlapPolicy === 'ALLOW' ? instances : 1;
        expect(kept.length).toBeLessThanOrEqual(Math.max(0, atOnce - occupied) + 100);
        const again = decideDue(
          kept.map(({ time, buffered }) => ({ ...time, buffered })),
          request,
          occupied,
          now,
        );
        expect(again.kept.map(({ time }) => time.at)).toEqual(kept.map(({ time }) => time.at));
      },
    ),
  ));
