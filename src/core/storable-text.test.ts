import { expect, test } from 'vitest';
import { isStorable, storableText } from './storable-text.js';

test.each([
  { text: '', stored: '' },
  { text: 'plain, ä, \u{1f600}', stored: 'plain, ä, \u{1f600}' },
  { text: 'a\0b\0', stored: 'a\u{fffd}b\u{fffd}' },
  { text: 'half \ud83d of a pair', stored: 'half \u{fffd} of a pair' },
  { text: '\ude00\ud83d', stored: '\u{fffd}\u{fffd}' },
])('$text', ({ text, stored }) => {
  expect([isStorable(text), storableText(text)]).toEqual([text === stored, stored]);
});
