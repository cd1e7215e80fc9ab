import { expect, test } from 'vitest';
import { heldBack, purgeBefore, type KeptTasks, type PurgeLimits } from './index.js';

const day = 86_400_000;
const now = 1_000 * day;

test.each<{ name: string; limits: Partial<PurgeLimits>; tasks?: Partial<KeptTasks>; before: number | undefined }>([
  { name: 'without a limit nothing goes', limits: {}, before: undefined },
  { name: 'by age', limits: { afterDays: 30 }, before: now - 30 * day },
  { name: 'by count', limits: { afterTasks: 9 }, before: now - 5 * day },
  { name: 'by count, none too many', limits: { afterTasks: 10 }, before: undefined },
  { name: 'by both, whichever takes more: count', limits: { afterDays: 30, afterTasks: 9 }, before: now - 5 * day },
  { name: 'by both, whichever takes more: age', limits: { afterDays: 2, afterTasks: 9 }, before: now - 2 * day },
  { name: 'by both, none too many', limits: { afterDays: 30, afterTasks: 10 }, before: now - 30 * day },
])('$name', ({ limits, tasks, before }) => {
  const kept = { count: 10, oldestThatStays: now - 5 * day, ...tasks };
  expect(purgeBefore({ afterDays: 0, afterTasks: 0, ...limits }, kept, now)).toBe(before);
});

test('a lost task is held back for one and a half times the span to register again, and for a day while its machine is away', () => {
  expect(heldBack(600, now)).toEqual({ since: now - 900_000, whileAwaySince: now - day });
  const [twoDays, three] = [(2 * day) / 1_000, now - 3 * day];
  expect(heldBack(twoDays, now)).toEqual({ since: three, whileAwaySince: three });
});
