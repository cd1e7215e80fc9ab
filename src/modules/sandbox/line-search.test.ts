import { afterAll, expect, test } from 'vitest';
import { LineSearch } from './line-search.service.js';

const searches = new LineSearch();
afterAll(() => searches.onModuleDestroy());
const search = (text: string, expression: string, caller = 'ann') => searches.search(caller, text, expression);

/** The text for an expression whose program is so large that this text would take the engine some twenty seconds. */
const digits = '0123456789'.repeat(6_400);
const heavy = Array.from({ length: 4 }, (_, index) => `(?i)(\\pL|\\pN){1,${999 - index}}\\PN$`).join('|');

test.each([
  { name: 'matches anywhere in a line', text: 'one\ntwo\nthree\n', expression: 'o', lines: 'one\ntwo\n' },
  { name: 'ends the last line that had no newline', text: 'a\nb', expression: 'b', lines: 'b\n' },
  { name: 'finds empty lines but invents none', text: 'a\n\nb\n', expression: '^$', lines: '\n' },
  { name: 'nothing matches', text: 'a\n', expression: 'z', lines: '' },
  { name: 'case can be ignored', text: 'Error\n', expression: '(?i)error', lines: 'Error\n' },
])('$name', async ({ text, expression, lines }) => expect(await search(text, expression)).toBe(lines));

test.each(['(', '[a', '(a)\\1', '(?=a)'])('%s is refused', async (expression) => {
  await expect(search('a', expression)).rejects.toThrow(/^grep is not a regular expression/);
});

test('an expression that makes other engines hang is answered', async () => {
  expect(await search(`${'a'.repeat(60_000)}!`, '^(a+)+$')).toBe('');
});

test('an expression that is too much work is ended after its time, and nothing else waits for it', async () => {
  let turns = 0;
  const timer = setInterval(() => turns++, 5);
  await expect(search(digits, heavy)).rejects.toMatchObject({
    code: 'INVALID_PARAMETER',
    errors: [{ field: 'grep', rule: 'time' }],
  });
  clearInterval(timer);
  expect(turns).toBeGreaterThan(10);
  expect(await search('one\n', 'o')).toBe('one\n');
});

test('a caller with many such searches holds up no other caller for long', async () => {
  let over = 0;
  const many = Array.from({ length: 5 }, () =>
    search(digits, heavy, 'bob')
      .catch((cause: Error) => cause.message)
      .finally(() => over++),
  );
  expect(await search('one\ntwo\n', 't', 'ann')).toBe('two\n');
  expect(over).toBeLessThan(3);
  expect(new Set(await Promise.all(many))).toEqual(new Set([expect.stringMatching(/^grep takes more than 1000 ms/)]));
});

test('searches that wait are so many at most, and what is beyond is refused at once', async () => {
  const asked = await Promise.allSettled(Array.from({ length: 40 }, async () => search('a', 'a', 'eve')));
  const refused = asked.filter((result) => result.status === 'rejected');
  expect(refused.length).toBeGreaterThan(10);
  expect(refused[0]!.reason).toMatchObject({ code: 'UNAVAILABLE' });
});
