import { expect, test } from 'vitest';
import { plain, plainLog } from './plain.js';

const [escape, bell] = ['\u001b', '\u0007'];
test.each([
  ['a title', `${escape}]0;owned${bell}text`, ' ]0;owned text'],
  ['lines and tabs', 'a\r\n\tb', 'a b'],
  ['another direction of writing', 'a\u202eb\u2066c', 'a b c'],
  ['control characters of eight bits', 'a\u009b2Jb', 'a 2Jb'],
  ['letters of all languages', 'größer 大 🙂', 'größer 大 🙂'],
])('one line: %s', (_name, text, shown) => expect(plain(text)).toBe(shown));

test.each([
  [
    'colours stay, and end with their line',
    `a ${escape}[31mred\nb\n`,
    `a ${escape}[31mred${escape}[0m\nb${escape}[0m\n${escape}[0m`,
  ],
  ['what moves the cursor goes', `a${escape}[2J${escape}[3;4Hb\n`, 'a[2J[3;4Hb\n'],
  ['titles and links go', `${escape}]8;;http://x${bell}a`, ']8;;http://xa'],
  ['a carriage return goes', 'hidden\rshown\n', 'hiddenshown\n'],
  ['tabs stay', 'a\tb\n', 'a\tb\n'],
])('a log: %s', (_name, text, shown) => expect(plainLog(text)).toBe(shown));
