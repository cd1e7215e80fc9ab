import fc from 'fast-check';
import { expect, test } from 'vitest';
import { beginOfPeriod, globMatcher, isDue, isResultOf, rotatedName, surplus } from './schedule.js';

const at = Date.UTC(2026, 7, 12, 13, 47, 31);

test.each([
  ['EVERY_MINUTE', '2026-08-12T13:47:00.000Z'],
  ['EVERY_FIVE_MINUTES', '2026-08-12T13:45:00.000Z'],
  ['HOURLY', '2026-08-12T13:00:00.000Z'],
  ['DAILY', '2026-08-12T00:00:00.000Z'],
  ['WEEKLY', '2026-08-09T00:00:00.000Z'],
  ['MONTHLY', '2026-08-01T00:00:00.000Z'],
] as const)('a log that is rotated %s is due when one of its periods has begun since', (frequency, begin) => {
  const since = Date.parse(begin);
  expect(new Date(beginOfPeriod(frequency, at)).toISOString()).toBe(begin);
  expect([since - 1, since, at].map((last) => isDue(frequency, last, at))).toEqual([true, false, false]);
});

test.each([
  ['service.log', '%Y%m%d%s', '.log', 'service.log-202608121786542451.log'],
  ['stdout', '%Y%m%d%s', '', 'stdout-202608121786542451'],
  ['gc.log', '%Y-%m-%d', 'txt', 'gc.log-2026-08-12.txt'],
  ['a', '%H%M%S', '', 'a-134731'],
])('%s by %s', (base, format, extension, name) => {
  expect(rotatedName(base, format, extension, at)).toBe(name);
  expect(isResultOf(base, name)).toBe(true);
});

test('those that are too many, too old or, together, too large go, the oldest first', () => {
  const day = 86_400_000;
  const results = [4, 1, 3, 2, 0].map((days) => ({ name: `r${days}`, mtimeMs: at - days * day, size: 10 }));
  expect(surplus(results, { count: 2, maxAgeDays: 7 }, at)).toEqual(['r2', 'r3', 'r4']);
  expect(surplus(results, { count: 20, maxAgeDays: 2 }, at)).toEqual(['r3', 'r4']);
  expect(surplus(results, { count: 20, maxAgeDays: 7 }, at)).toEqual([]);
  expect(surplus(results, { count: 20, maxAgeDays: 7, bytes: 49 }, at)).toEqual(['r4']);
  expect(surplus(results, { count: 20, maxAgeDays: 7, bytes: 50 }, at)).toEqual([]);
});

test.each([
  ['*.log', ['a.log', '.log'], ['a.log.gz', 'b/a.log', 'alog']],
  ['gc?.[lt]og', ['gc1.log', 'gcx.tog'], ['gc.log', 'gc12.log', 'gc1.xog']],
  ['[!a]*(1)', ['b(1)'], ['a(1)', 'b1']],
  ['a*/b*c', ['a/bc', 'aa/bbc'], ['a/b/c', 'a/x/bc', 'abc']],
  ['[z-a][a-c-]', [], ['z-', 'ab']],
  ['x[a-c-]\\', ['xb\\', 'x-\\'], ['xd\\', 'x/\\']],
])('the glob %s', (glob, matching, others) => {
  expect(matching.filter((name) => globMatcher(glob)(name))).toEqual(matching);
  expect(others.filter((name) => globMatcher(glob)(name))).toEqual([]);
});

test('a glob of many stars takes no longer for a name that is made for it', () => {
  const began = performance.now();
  expect(globMatcher(`${'*a'.repeat(100)}b`)('a'.repeat(255))).toBe(false);
  expect(globMatcher(`${'*a'.repeat(100)}*`)('a'.repeat(255))).toBe(true);
  expect(performance.now() - began).toBeLessThan(1_000);
});

test('a glob names what an expression would', () =>
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('a', 'b', '*', '?', '/'), maxLength: 8 }),
      fc.string({ unit: fc.constantFrom('a', 'b', '/'), maxLength: 8 }),
      (glob, name) => {
        const source = glob.replaceAll('*', '[^/]*').replaceAll('?', '[^/]');
        expect(globMatcher(glob)(name)).toBe(new RegExp(`^${source}$`).test(name));
      },
    ),
    { numRuns: 2_000 },
  ));
