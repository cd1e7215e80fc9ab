import fc from 'fast-check';
import { expect, test } from 'vitest';
import { contentId, unusedId } from './content-id.js';

test('an id that is made is the same for the same content, in whatever order its members stand', () => {
  const one = contentId({ requestId: 'a', command: 'b', env: { X: '1', Y: '2' } });
  expect(contentId({ env: { Y: '2', X: '1' }, command: 'b', requestId: 'a' })).toBe(one);
  expect(contentId({ requestId: 'a', command: 'c', env: { X: '1', Y: '2' } })).not.toBe(one);
  expect(one).toMatch(/^[0-9a-f]{12}$/);
});

test.each([
  { used: [], id: 'abc' },
  { used: ['abc'], id: 'abc.2' },
  { used: ['abc', 'abc.2', 'abc.4'], id: 'abc.3' },
])('the first that is free beside $used is $id', ({ used, id }) =>
  expect(unusedId('abc', (one) => used.includes(one), 50)).toBe(id),
);

test('what is made anew each time is never the same, and never longer than an id may be', () =>
  fc.assert(
    fc.property(fc.integer({ min: 5, max: 20 }), fc.integer({ min: 1, max: 120 }), (maxLength, count) => {
      const used = new Set<string>();
      for (let number = 0; number < count; number++) {
        const id = unusedId('0123456789ab', (one) => used.has(one), maxLength);
        expect(used.has(id)).toBe(false);
        expect(id.length).toBeLessThanOrEqual(maxLength);
        used.add(id);
      }
    }),
  ));
