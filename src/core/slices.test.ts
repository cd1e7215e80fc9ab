import fc from 'fast-check';
import { expect, test } from 'vitest';
import { slicesWithin } from './slices.js';

test('slices keep all items in their order, and their bounds unless one item is larger', () => {
  const bounds = { items: 5, size: 20 };
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 30 })), (sizes) => {
      const slices = [...slicesWithin(sizes, bounds, (size) => size)];
      expect(slices.flat()).toEqual(sizes);
      for (const slice of slices) {
        const sum = slice.reduce((total, size) => total + size, 0);
        expect(slice.length).toBeGreaterThan(0);
        expect(slice.length).toBeLessThanOrEqual(bounds.items);
        expect(slice.length === 1 || sum <= bounds.size).toBe(true);
      }
    }),
  );
});
