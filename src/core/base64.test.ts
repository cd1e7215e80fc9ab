import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isBase64, oneBase64 } from './base64.js';

test.each(['', 'TA==', 'TAo=', 'bmFtZTogeA==', 'bmFt\nZTog\neA==\n', 'bmFt', '  bmFt '])('%j is base64', (text) =>
  expect(isBase64(text)).toBe(true),
);

test.each([
  'name: x',
  'not base64!!',
  'data:text/plain;base64,TA==',
  'TA',
  'TA=',
  'TA===',
  'T',
  'TA==TA==',
  'T-_A',
  '=',
  'bmFtZT...',
  '\u{200b}TA==',
])('%j is none', (text) => expect(isBase64(text)).toBe(false));

test('bytes in base64 are, and texts of several parts are the bytes of all of them', () =>
  fc.assert(
    fc.property(fc.array(fc.uint8Array(), { maxLength: 4 }), (parts) => {
      const texts = parts.map((part) => Buffer.from(part).toString('base64'));
      expect(texts.every(isBase64)).toBe(true);
      expect([...Buffer.from(oneBase64(texts), 'base64')]).toEqual(parts.flatMap((part) => [...part]));
    }),
  ));

test('a long text is looked at in one pass', () => {
  expect(isBase64(`${'A'.repeat(4_000_000)}!`)).toBe(false);
  expect(isBase64(`${'AAAA\n'.repeat(800_000)}!`)).toBe(false);
});
