import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { clustered, crowding, crowds, marksOf, summary, timesOf, type Run } from './lanes';

const minute = 60_000;
const at = (minutes: number) => minutes * minute;
const run = (
  started: number,
  ended?: number,
  state: 'TASK_FINISHED' | 'TASK_FAILED' | 'TASK_KILLED' = 'TASK_FINISHED',
): Run => ({
  taskId: `t${started}`,
  startedAt: at(started),
  ...(ended !== undefined && { ended: { at: at(ended), state } }),
});
const told = (planned: number[], runs: Run[], now: number) =>
  marksOf(planned.map(at), runs, at(now)).map((mark) => `${mark.at / minute} ${mark.kind}: ${mark.text}`);

test('a request has its times in the zones of all its schedules', () => {
  const runs = [
    ['two', 1, 'Asia/Tokyo'],
    ['one', 2, 'UTC'],
    ['two', 3, 'UTC'],
    ['two', 4, 'Asia/Tokyo'],
  ] as const;
  const times = timesOf(runs.map(([requestId, time, timeZone]) => ({ requestId, at: time, timeZone })));
  expect([...times].map(([id, { at: found, zones }]) => [id, found, [...zones]])).toEqual([
    ['two', [1, 3, 4], ['Asia/Tokyo', 'UTC']],
    ['one', [2], ['UTC']],
  ]);
});

describe('the marks of a lane', () => {
  test.each<[string, number[], Run[], number, string[]]>([
    ['times that are to come', [20, 30], [], 15, ['20 planned: planned', '30 planned: planned']],
    ['a run that followed its time', [10, 20], [run(10, 12)], 15, ['10 done: finished', '20 planned: planned']],
    ['a run that is active', [10], [run(10)], 15, ['10 running: runs']],
    ['a run that failed', [10], [run(10, 11, 'TASK_FAILED')], 15, ['10 failed: failed']],
    ['a run that was killed', [10], [run(10, 11, 'TASK_KILLED')], 15, ['10 done: killed']],
    ['a run that began late', [10, 20], [run(13, 14)], 15, ['13 late: ended, began 180 s late', '20 planned: planned']],
    ['a time without a run', [10, 20], [run(20, 21)], 25, ['10 skipped: no run', '20 done: finished']],
    [
      'a time at which another run was active',
      [10, 20],
      [run(10, 25)],
      30,
      ['10 done: finished', '20 skipped: no run: another one was active'],
    ],
    ['a time that came just now', [10], [], 10.5, ['10 planned: planned']],
    ['a run that belongs to no time', [20], [run(5, 6)], 15, ['5 done: finished', '20 planned: planned']],
    [
      'two runs between two times',
      [10, 20],
      [run(10, 11), run(12, 13)],
      15,
      ['10 done: finished', '12 done: finished', '20 planned: planned'],
    ],
  ])('show %s', (_name, planned, runs, now, expected) => expect(told(planned, runs, now)).toEqual(expected));

  test('have each run once, and a mark for each time at least', () =>
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.integer({ min: 0, max: 100 }), { maxLength: 20 }),
        fc.uniqueArray(fc.integer({ min: 0, max: 100 }), { maxLength: 20 }),
        fc.integer({ min: 0, max: 100 }),
        (planned, started, now) => {
          const marks = marksOf(
            planned.map(at),
            started.map((each) => run(each, each + 1)),
            at(now),
          );
          const runs = marks.flatMap(({ taskId }) => taskId ?? []);
          expect(runs.toSorted()).toEqual(started.map((each) => `t${each}`).toSorted());
          expect(marks.length).toBeGreaterThanOrEqual(planned.length);
        },
      ),
    ));
});

test('runs of a schedule whose times wait for each other follow the times in their order', () => {
  const runs = [run(10, 35), run(35, 50), run(50)];
  const told = (waits: boolean) =>
    marksOf([10, 20, 30].map(at), runs, at(55), waits).map(({ kind, text }) => [kind, text]);
  expect(told(true)).toEqual([
    ['done', 'finished'],
    ['late', 'ended, began 900 s late'],
    ['late', 'runs, began 1200 s late'],
  ]);
  expect(told(false).map(([kind]) => kind)).toEqual(['done', 'skipped', 'late', 'running']);
});

test('marks that lie near to each other are one, as bad as the worst of them', () => {
  const marks = marksOf([1, 2, 61].map(at), [run(1, 1.5), run(2, 2.5, 'TASK_FAILED')], at(30));
  expect(clustered(marks, 0, at(60)).map(({ from, kind, marks: { length } }) => [from, kind, length])).toEqual([
    [at(1), 'failed', 2],
    [at(61), 'planned', 1],
  ]);
  expect(summary(marks)).toBe('1 failed, 1 done, 1 planned');
  expect(summary([])).toBe('nothing');
});

test('the fullest minutes come first, and each part of the window has its fullest', () => {
  const full = crowds([at(1), at(1) + 5, at(7), at(59)]);
  expect(full).toEqual([
    { at: at(1), runs: 2 },
    { at: at(7), runs: 1 },
    { at: at(59), runs: 1 },
  ]);
  expect(crowding(full, 0, at(60), 6)).toEqual([2, 0, 0, 0, 0, 1]);
});
