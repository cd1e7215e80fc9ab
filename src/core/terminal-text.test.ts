import fc from 'fast-check';
import { expect, test } from 'vitest';
import { plain, terminalJson, terminalLog, terminalText } from './terminal-text.js';

const [escape, bell] = ['\u001b', '\u0007'];
test.each([
  ['a title', `${escape}]0;owned${bell}text`, ' ]0;owned text'],
  ['lines and tabs', 'a\r\n\tb', 'a b'],
  ['another direction of writing', 'a\u202eb\u2066c\u200fd\u061ce', 'a b c d e'],
  ['control characters of eight bits', 'a\u009b2Jb', 'a 2Jb'],
  ['what nothing is shown for', 'a\u200bb\u2060c\u00add\u{e0041}e\ufefff\u3164g\ufff9h', 'a b c d e f g h'],
  ['letters of all languages', 'größer 大 🙂 👩‍💻 می‌خواهم ☂️', 'größer 大 🙂 👩‍💻 می‌خواهم ☂️'],
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
  [
    'letters that are hidden are shown',
    `a${escape}[8mrm -rf /${escape}[28m\n`,
    `arm -rf /${escape}[28m${escape}[0m\n${escape}[0m`,
  ],
  ['letters in the colour of what is behind them are shown', `${escape}[30mx${escape}[38;2;0;0;0;40my\n`, 'xy\n'],
  ['what goes takes nothing else with it', `${escape}[1;38;5;16;8;31;107mx`, `${escape}[1;31mx${escape}[0m`],
  ['turned and unseen signs go', 'a\u200f\u061cb\u200bc\u009b2J', 'abc2J'],
])('a log: %s', (_name, text, shown) => expect(terminalLog(text)).toBe(shown));

test('JSON on a terminal escapes what drives it or is not shown, and keeps its lines', () => {
  const value = { a: '\u009b2J', b: ['\u202etxt', '\u{e0001}', '\u007f\u2028'], 'k\u0085': 'ö\n👩‍💻' };
  expect(terminalJson(JSON.stringify(value, undefined, 2)).split('\n')).toEqual([
    '{',
    String.raw`  "a": "\u009b2J",`,
    '  "b": [',
    String.raw`    "\u202etxt",`,
    String.raw`    "\udb40\udc01",`,
    String.raw`    "\u007f\u2028"`,
    '  ],',
    String.raw`  "k\u0085": "ö\n👩‍💻"`,
    '}',
  ]);
});

const anyText = fc.string({ unit: 'binary' });
const anyLog = fc
  .array(
    fc.oneof(
      anyText,
      fc.constantFrom('\u009b', escape, '[8m', '[38;5;0m', '[1;31m', ';', '\u202e', '\u200f', 'm', '['),
    ),
  )
  .map((pieces) => pieces.join(''));
/** Spelt out by code points, so that it is not the same list once more. */
const mayStand = (sign: string): boolean => {
  const at = sign.codePointAt(0)!;
  const isControl = at < 0x20 || (at >= 0x7f && at <= 0x9f);
  const isBidi =
    at === 0x061c || [0x200e, 0x200f].includes(at) || (at >= 0x202a && at <= 0x202e) || (at >= 0x2066 && at <= 0x2069);
  const isUnseen =
    at === 0x200b ||
    at === 0x00ad ||
    at === 0xfeff ||
    (at >= 0xe0000 && at <= 0xe007f) ||
    at === 0x2028 ||
    at === 0x2029;
  return !isControl && !isBidi && !isUnseen;
};

const code = '(?:0*|[1-4]|7|9|2[1-57-9]|3[1-69]|9[0-6])';
const colours = new RegExp(`${escape}\\[${code}(?:;${code})*m`, 'g');
test('whatever is printed, a terminal gets letters, ends of lines, tabs and colours that can be read', () =>
  fc.assert(
    fc.property(anyLog, (text) => {
      const rest = terminalLog(text).replace(colours, '');
      expect([...rest].filter((sign) => !mayStand(sign) && !'\n\t'.includes(sign))).toEqual([]);
      expect([...plain(text)].filter((sign) => !mayStand(sign))).toEqual([]);
      expect(terminalText(terminalText(text))).toBe(terminalText(text));
    }),
  ));

test('whatever a document holds, on a terminal it is the same document', () =>
  fc.assert(
    fc.property(fc.dictionary(anyText, anyLog), (value) => {
      const shown = terminalJson(JSON.stringify(value, undefined, 2));
      expect(JSON.parse(shown)).toEqual(JSON.parse(JSON.stringify(value)));
      expect([...shown].filter((sign) => !mayStand(sign) && sign !== '\n')).toEqual([]);
    }),
  ));
