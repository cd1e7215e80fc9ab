import { expect, test } from 'vitest';
import { grepLines } from './sandbox.service.js';

test.each([
  { name: 'matches anywhere in a line', text: 'one\ntwo\nthree\n', expression: 'o', lines: 'one\ntwo\n' },
  { name: 'ends the last line that had no newline', text: 'a\nb', expression: 'b', lines: 'b\n' },
  { name: 'finds empty lines but invents none', text: 'a\n\nb\n', expression: '^$', lines: '\n' },
  { name: 'nothing matches', text: 'a\n', expression: 'z', lines: '' },
  { name: 'case can be ignored', text: 'Error\n', expression: '(?i)error', lines: 'Error\n' },
])('$name', ({ text, expression, lines }) => expect(grepLines(text, expression)).toBe(lines));

test.each(['(', '[a', '(a)\\1', '(?=a)'])('%s is refused', (expression) => {
  expect(() => grepLines('a', expression)).toThrow(/^grep is not a regular expression/);
});

test('an expression that makes other engines hang is answered at once', () => {
  const started = performance.now();
  expect(grepLines(`${'a'.repeat(60_000)}!`, '^(a+)+$')).toBe('');
  expect(performance.now() - started).toBeLessThan(2_000);
});
