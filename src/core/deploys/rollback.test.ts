import fc from 'fast-check';
import { expect, test } from 'vitest';
import { redeploy, rollbackId } from './rollback.js';

test.each([
  { name: 'the first', of: 'v1', used: [], max: 50, id: 'v1.rollback1' },
  { name: 'the next', of: 'v1', used: ['v1.rollback1'], max: 50, id: 'v1.rollback2' },
  { name: 'of a rollback', of: 'v1.rollback1', used: ['v1.rollback1'], max: 50, id: 'v1.rollback2' },
  { name: 'of one whose rollbacks are forgotten', of: 'v1.rollback7', used: [], max: 50, id: 'v1.rollback1' },
  { name: 'of a long one', of: 'abcdefghijkl', used: ['abc.rollback1'], max: 13, id: 'abc.rollback2' },
])('the id of $name rollback', ({ of, used, max, id }) =>
  expect(rollbackId(of, (other) => used.includes(other), max)).toBe(id),
);

test('an id is new, of allowed characters, and no longer than allowed', () => {
  const anyId = fc.stringMatching(/^[a-zA-Z0-9_.]{1,50}$/);
  fc.assert(
    fc.property(anyId, fc.nat(30), fc.integer({ min: 12, max: 60 }), (earlier, rollbacks, max) => {
      const used = new Set([earlier]);
      for (let count = 0; count <= rollbacks; count++) {
        const id = rollbackId(earlier, (other) => used.has(other), max);
        expect(used.has(id)).toBe(false);
        expect(id).toMatch(/^[a-zA-Z0-9_.]+$/);
        expect(id.length).toBeLessThanOrEqual(max);
        used.add(id);
      }
    }),
  );
});

test('a rollback repeats the deploy, but not the run that came with it', () => {
  const earlier = { requestId: 'job', id: 'v1', command: 'run', env: { A: 'b' }, runImmediately: { runId: 'first' } };
  expect(redeploy(earlier, 'v1.rollback1')).toEqual({
    requestId: 'job',
    id: 'v1.rollback1',
    command: 'run',
    env: { A: 'b' },
  });
});
