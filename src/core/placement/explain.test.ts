import { expect, test } from 'vitest';
import { type Explanation, neverFits, type Rejection } from './explain.js';

const explanation = (...rejections: Rejection[]): Explanation => ({
  reason: 'NO_MATCHING_SLAVE',
  slaves: 2,
  fitting: 0,
  rejections,
});
const short = (reason: Rejection['reason'], asked: number, largest: number): Rejection => ({
  reason,
  slaves: 1,
  asked,
  largest,
  free: 0,
});

test.each([
  { name: 'machines that are too small as a whole', of: explanation(short('NOT_ENOUGH_CPUS', 8, 2)), never: true },
  {
    name: 'machines that are too small in one way or another',
    of: explanation(short('NOT_ENOUGH_CPUS', 8, 2), short('NOT_ENOUGH_MEMORY', 64, 32)),
    never: true,
  },
  { name: 'a machine that is full', of: explanation(short('NOT_ENOUGH_CPUS', 2, 2)), never: false },
  {
    name: 'one that is full among those that are too small',
    of: explanation(short('NOT_ENOUGH_MEMORY', 64, 32), short('NOT_ENOUGH_CPUS', 1, 2)),
    never: false,
  },
  {
    name: 'a machine that has another reason',
    of: explanation(short('NOT_ENOUGH_CPUS', 8, 2), { reason: 'SLAVE_FROZEN', slaves: 1 }),
    never: false,
  },
  { name: 'no machine', of: { ...explanation(), slaves: 0 }, never: false },
  { name: 'another time', of: { ...explanation(), reason: 'NOT_DUE' as const, slaves: 0 }, never: false },
])('whether what waits for $name fits never: $never', ({ of, never }) => expect(neverFits(of)).toBe(never));
