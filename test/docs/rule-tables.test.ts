import { describe, expect, test } from 'vitest';
import { missing, readPage, rulesOf } from './rules.js';

describe.each([
  ['internals/scheduling-rules.md', 141],
  ['internals/deploy-rules.md', 141],
  ['internals/dashboard-rules.md', 83],
])('docs/%s', (name, fewest) => {
  const rules = rulesOf(readPage(name));

  test('names tests for every rule', () => {
    expect(rules.length).toBeGreaterThanOrEqual(fewest);
    expect(rules.filter(({ tests }) => tests.length === 0)).toEqual([]);
  });

  test('names tests that there are', () => expect(rules.flatMap(({ tests }) => tests.flatMap(missing))).toEqual([]));
});

test('a file that is there is not enough', () => {
  const file = 'test/docs/rule-tables.test.ts';
  expect(missing({ file, words: ['names tests for every rule'] })).toEqual([]);
  const unknown = ['a rule that was', 'tested once'].join(' ');
  expect(missing({ file, words: [unknown] })).toEqual([`${file}: no test is named "${unknown}"`]);
  expect(missing({ file, words: [] })).toEqual([`${file}: no test is named`]);
  expect(missing({ file: 'src/none.test.ts', words: ['any'] })).toEqual(['src/none.test.ts is not there']);
});
