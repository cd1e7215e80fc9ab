import { expect, test } from 'vitest';
import { waitFor } from '../../../../test/support/wait-for.js';
import { PatientLimiter, type Limits } from './patient-limiter.js';
import { TimedQueue } from './timed-queue.js';

function scene(limits: Partial<Limits>) {
  const limiter = new PatientLimiter({ busy: 2, patienceMillis: 60_000, open: 100, ...limits }, new TimedQueue());
  const began: number[] = [];
  const ends = new Map<number, () => void>();
  const run = (no: number) =>
    limiter.run(() => {
      began.push(no);
      return new Promise<void>((resolve) => ends.set(no, resolve));
    });
  return { began, run, end: (no: number) => ends.get(no)!() };
}

test('more jobs than may be busy stand in line, first come first served', async () => {
  const { began, run, end } = scene({});
  const jobs = [1, 2, 3, 4].map(run);
  expect(began).toEqual([1, 2]);
  end(2);
  await waitFor('the third', () => began.length === 3);
  expect(began).toEqual([1, 2, 3]);
  end(1);
  await waitFor('the fourth', () => began.length === 4);
  [3, 4].forEach(end);
  await Promise.all(jobs);
});

test('a job that takes long gives up its place', async () => {
  const { began, run, end } = scene({ busy: 1, patienceMillis: 5 });
  const jobs = [1, 2, 3].map(run);
  await waitFor('all of them', () => began.length === 3);
  [1, 2, 3].forEach(end);
  await Promise.all(jobs);
});

test('but of jobs that take long there is a most', async () => {
  const { began, run, end } = scene({ busy: 1, patienceMillis: 1, open: 2 });
  const jobs = [1, 2, 3].map(run);
  await waitFor('two of them', () => began.length === 2);
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(began).toEqual([1, 2]);
  end(1);
  await waitFor('the third', () => began.length === 3);
  [2, 3].forEach(end);
  await Promise.all(jobs);
});

test('a job that fails gives up its place', async () => {
  const limiter = new PatientLimiter({ busy: 1, patienceMillis: 60_000, open: 1 }, new TimedQueue());
  await expect(limiter.run(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  expect(await limiter.run(() => Promise.resolve('done'))).toBe('done');
});
