import { afterEach, beforeEach, expect, test, vi, type MockInstance } from 'vitest';
import { forEach } from './each.js';
import { CliError, exitCodes, type Outcome } from './exit-codes.js';

let told: MockInstance<typeof process.stderr.write>;
beforeEach(() => {
  told = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
});
afterEach(() => told.mockRestore());

/** Work that ends with the given outcome, or answers the given number. */
const work = (seen: string[]) => (one: Outcome | number) => {
  seen.push(String(one));
  if (typeof one === 'number') return Promise.resolve(one);
  return one === 'done' ? Promise.resolve() : Promise.reject(new CliError(one, `it is ${one}`));
};

test.each<{ all: (Outcome | number)[]; code: number; failed: number }>([
  { all: [], code: 0, failed: 0 },
  { all: ['done', 'done'], code: 0, failed: 0 },
  { all: ['done', 'notFound', 'done'], code: exitCodes.notFound, failed: 1 },
  { all: ['conflict', 'notFound', 'done'], code: exitCodes.conflict, failed: 2 },
  // A deploy that ended badly was told already.
  { all: [exitCodes.badEnd, 'denied', 0], code: exitCodes.badEnd, failed: 1 },
])('of $all each is tried: code $code, $failed failed', async ({ all, code, failed }) => {
  const seen: string[] = [];
  expect(await forEach(all, work(seen))).toEqual({ code, failed });
  expect(seen).toEqual(all.map(String));
  expect(told).toHaveBeenCalledTimes(failed);
});

test.each<{ all: Outcome[]; tried: number }>([
  { all: ['unreachable', 'done'], tried: 1 },
  { all: ['notFound', 'unreachable', 'done'], tried: 2 },
  { all: ['interrupted', 'done'], tried: 1 },
  // The caller of one alone is told by its failure.
  { all: ['notFound'], tried: 1 },
])('of $all $tried are tried, and the failure is that of the program', async ({ all, tried }) => {
  const seen: string[] = [];
  await expect(forEach(all, work(seen))).rejects.toThrow(`it is ${all[tried - 1]}`);
  expect(seen).toHaveLength(tried);
});

test('a mistake of the program is none of one of them', async () => {
  const broken = () => Promise.reject(new TypeError('undefined is no function'));
  await expect(forEach([1, 2], broken)).rejects.toThrow('undefined is no function');
});
