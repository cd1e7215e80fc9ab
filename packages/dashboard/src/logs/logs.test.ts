import { describe, expect, test } from 'vitest';
import { levelOf, plainText, spansOf } from './ansi';
import { expressionOf, linesOf } from './scan';

const ESC = '\u001b';

describe('colours of a line', () => {
  test.each([
    ['plain', [{ text: 'plain', style: '' }]],
    [
      `${ESC}[31mred${ESC}[0m rest`,
      [
        { text: 'red', style: 'ansi-1' },
        { text: ' rest', style: '' },
      ],
    ],
    [`${ESC}[1;92mgreen`, [{ text: 'green', style: 'ansi-bold ansi-2' }]],
    [`${ESC}[44mback${ESC}[49m`, [{ text: 'back', style: 'ansi-bg-4' }]],
    [`${ESC}[2Kcleared`, [{ text: 'cleared', style: '' }]],
    [`${ESC}]0;title\u0007text`, [{ text: 'text', style: '' }]],
  ])('%j', (line, spans) => expect(spansOf(line)).toEqual(spans));

  test('what moves a terminal is shown as a sign, and its text has no colours', () => {
    expect(spansOf('a\u0008b')).toEqual([{ text: 'a\u2408b', style: '' }]);
    expect(plainText(`${ESC}[31mred${ESC}[0m\r`)).toBe('red');
  });

  test.each([
    ['12:00 ERROR no', 'error'],
    ['WARNING: low', 'warn'],
    ['terror and errors', undefined],
  ])('%j is %s', (line, level) => expect(levelOf(line)).toBe(level));
});

describe('search', () => {
  test('text is taken as it stands, an expression as one, and a broken one is none', () => {
    const plain = { isRegExp: false, matchCase: false };
    expect('a.B'.match(expressionOf('.b', plain)!)).toEqual(['.B']);
    expect('axb'.match(expressionOf('.b', plain)!)).toBeNull();
    expect('axb'.match(expressionOf('.b', { isRegExp: true, matchCase: true })!)).toEqual(['xb']);
    expect(expressionOf('(', { isRegExp: true, matchCase: true })).toBeUndefined();
    expect(expressionOf('', plain)).toBeUndefined();
  });

  test('lines have their positions, wherever the pieces end', async () => {
    const bytes = new TextEncoder().encode('één\n\ntwo\nlast');
    for (let size = 1; size <= bytes.length; size++) {
      const pieces = async function* () {
        for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
      };
      const lines = [];
      for await (const line of linesOf(pieces())) lines.push(line);
      expect(lines).toEqual([
        { at: 0, text: 'één' },
        { at: 6, text: '' },
        { at: 7, text: 'two' },
        { at: 11, text: 'last' },
      ]);
    }
  });
});
