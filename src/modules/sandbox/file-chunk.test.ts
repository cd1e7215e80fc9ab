import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toFileChunk } from './sandbox.service.js';

const bytes = (...values: number[]): Buffer => Buffer.from(values);
const euro = [0xe2, 0x82, 0xac] as const;

describe('toFileChunk', () => {
  test.each([
    { name: 'plain text', read: Buffer.from('abc'), at: 0, data: 'abc', offset: 0, nextOffset: 3 },
    {
      name: 'cuts the end of a character begun before',
      read: bytes(0x82, 0xac, 0x61),
      at: 7,
      data: 'a',
      offset: 9,
      nextOffset: 10,
    },
    {
      name: 'cuts three bytes of a four-byte character',
      read: bytes(0x9f, 0x98, 0x80, 0x61),
      at: 1,
      data: 'a',
      offset: 4,
      nextOffset: 5,
    },
    {
      name: 'cuts a character that is not complete',
      read: bytes(0x61, ...euro.slice(0, 2)),
      at: 5,
      data: 'a',
      offset: 5,
      nextOffset: 6,
    },
    { name: 'keeps a complete one', read: bytes(...euro), at: 0, data: '€', offset: 0, nextOffset: 3 },
    {
      name: 'steps over a chunk that is only a fragment',
      read: bytes(0xf0, 0x9f),
      at: 4,
      data: '',
      offset: 6,
      nextOffset: 6,
    },
    {
      name: 'steps over an end and a beginning of characters',
      read: bytes(0xac, 0xe2),
      at: 4,
      data: '',
      offset: 6,
      nextOffset: 6,
    },
    {
      name: 'shows invalid bytes in the middle as U+FFFD',
      read: bytes(0x61, 0xff, 0x62),
      at: 0,
      data: 'a\uFFFDb',
      offset: 0,
      nextOffset: 3,
    },
    { name: 'nothing', read: bytes(), at: 9, data: '', offset: 9, nextOffset: 9 },
    {
      name: 'does not take the start of a file for the middle of a character',
      read: bytes(0x82, 0x61),
      at: 0,
      data: '\uFFFDa',
      offset: 0,
      nextOffset: 2,
    },
    {
      name: 'keeps a byte order mark',
      read: bytes(0xef, 0xbb, 0xbf, 0x61),
      at: 0,
      data: '\uFEFFa',
      offset: 0,
      nextOffset: 4,
    },
  ])('$name', ({ read, at, data, offset, nextOffset }) => {
    expect(toFileChunk(read, at)).toEqual({ data, offset, nextOffset });
  });

  test('reading on at nextOffset gives the whole text, whatever the length of the reads', () =>
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 4, max: 9 }), (text, length) => {
        const file = Buffer.from(text);
        let read = '';
        for (let at = 0; at < file.length;) {
          const chunk = toFileChunk(file.subarray(at, at + length), at);
          expect(chunk.nextOffset).toBeGreaterThan(at);
          read += chunk.data;
          at = chunk.nextOffset;
        }
        return read === text;
      }),
    ));

  test('reading anywhere in a text never shows a broken character', () =>
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(40), fc.nat(9), (text, from, length) => {
        const file = Buffer.from(text);
        return !toFileChunk(file.subarray(from, from + length), from).data.includes('\uFFFD');
      }),
    ));
});
