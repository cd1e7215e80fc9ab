import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RunChecks } from './run-checks.js';

test('what is due comes out once, the earliest first, as it was put there last', () => {
  const step = fc.record({ id: fc.nat(9).map(String), at: fc.option(fc.nat(100), { nil: undefined }) });
  fc.assert(
    fc.property(fc.array(step), fc.nat(100), (steps, now) => {
      const looks = new RunChecks();
      const expected = new Map<string, number>();
      for (const { id, at } of steps) {
        looks.put(id, at);
        if (at === undefined) expected.delete(id);
        else expected.set(id, at);
      }
      const due = [...expected].filter(([, at]) => at <= now);
      const taken = looks.takeDue(now, 100);
      expect(taken.toSorted()).toEqual(due.map(([id]) => id).toSorted());
      const times = taken.map((id) => expected.get(id)!);
      expect(times).toEqual(times.toSorted((a, b) => a - b));
      const left = [...expected.values()].filter((at) => at > now);
      expect([looks.nextAt(), looks.size]).toEqual([left.length ? Math.min(...left) : undefined, left.length]);
    }),
  );
});
