import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { waitFor } from '../../../../test/support/wait-for.js';
import { TimedQueue } from './timed-queue.js';

afterEach(() => void vi.useRealTimers());

const fake = () =>
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'performance'] });

test('every job runs once, none before its time, in the order of their times, unless it was taken out', () => {
  fc.assert(
    fc.property(fc.array(fc.record({ at: fc.nat(50), takenOut: fc.boolean() })), (jobs) => {
      fake();
      const queue = new TimedQueue();
      const ran: { at: number; now: number }[] = [];
      const begun = performance.now();
      const cancels = jobs.map(({ at }) => queue.after(at, () => ran.push({ at, now: performance.now() - begun })));
      jobs.forEach(({ takenOut }, index) => takenOut && cancels[index]!());
      expect(queue.size).toBe(jobs.filter(({ takenOut }) => !takenOut).length);
      vi.advanceTimersByTime(100);
      const expected = jobs.filter(({ takenOut }) => !takenOut).map(({ at }) => at);
      expect(ran.map(({ at }) => at)).toEqual(expected.sort((a, b) => a - b));
      expect(ran.filter(({ at, now }) => now < at)).toEqual([]);
      expect([queue.size, vi.getTimerCount()]).toEqual([0, 0]);
    }),
  );
});

test('ten thousand jobs need one timer', () => {
  fake();
  const queue = new TimedQueue();
  for (let no = 0; no < 10_000; no++) queue.after((no * 7_919) % 60_000, () => undefined);
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(60_001);
  expect([queue.size, vi.getTimerCount()]).toEqual([0, 0]);
});

test('a job may plan others, and take others out that are due with it', () => {
  fake();
  const queue = new TimedQueue();
  const ran: string[] = [];
  queue.after(10, () => {
    ran.push('first');
    takeOut();
    queue.after(5, () => ran.push('later'));
  });
  const takeOut = queue.after(10, () => ran.push('taken out'));
  vi.advanceTimersByTime(20);
  expect(ran).toEqual(['first', 'later']);
});

describe('real time', () => {
  test('a job beyond what a timer of Node can hold does not run at once', async () => {
    const queue = new TimedQueue();
    let ran = false;
    const cancel = queue.after(2 ** 40, () => (ran = true));
    await new Promise((resolve) => setTimeout(resolve, 30));
    cancel();
    expect(ran).toBe(false);
  });

  test('many jobs that are due at once leave others a turn', async () => {
    const queue = new TimedQueue();
    const busyFor = (millis: number) => {
      for (const until = performance.now() + millis; performance.now() < until;);
    };
    let left = 30;
    let turns = 0;
    for (let no = 0; no < 30; no++) {
      queue.after(1, () => {
        busyFor(2);
        left -= 1;
      });
    }
    const between = () => {
      turns += 1;
      if (left > 0) setImmediate(between);
    };
    setImmediate(between);
    await waitFor('all jobs', () => left === 0);
    // 60 ms of work in turns of 5 ms.
    expect(turns).toBeGreaterThan(6);
  });
});
