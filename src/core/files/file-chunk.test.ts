import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readChunk, toFileChunk } from './file-chunk.js';

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
    { name: 'waits for the rest of a character', read: bytes(0xf0, 0x9f), at: 4, data: '', offset: 4, nextOffset: 4 },
    {
      name: 'steps over the end of a character, and waits for the rest of the next',
      read: bytes(0xac, 0xe2),
      at: 4,
      data: '',
      offset: 5,
      nextOffset: 5,
    },
    {
      name: 'does not wait after a byte that begins nothing',
      read: bytes(0xff),
      at: 4,
      data: '\uFFFD',
      offset: 4,
      nextOffset: 5,
    },
    {
      name: 'does not wait for a character that is none',
      read: bytes(0xe0, 0x80),
      at: 4,
      data: '\uFFFD\uFFFD',
      offset: 4,
      nextOffset: 6,
    },
    {
      name: 'does not wait for half of a surrogate pair',
      read: bytes(0xed, 0xa0),
      at: 4,
      data: '\uFFFD\uFFFD',
      offset: 4,
      nextOffset: 6,
    },
    {
      name: 'steps over a chunk that only goes on',
      read: bytes(0x80, 0x80),
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

  test('reading anywhere in a text never shows a broken character', () =>
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(40), fc.nat(9), (text, from, length) => {
        const file = Buffer.from(text);
        return !toFileChunk(file.subarray(from, from + length), from).data.includes('\uFFFD');
      }),
    ));
});

/** Reads a file that grows to these sizes, until a read returns nothing more. */
async function readAll(file: Buffer, sizes: readonly number[], length: number) {
  let at = 0;
  let text = '';
  const ends = [...sizes, ...Array.from({ length: file.length + 1 }, () => file.length)];
  for (const size of ends) {
    const grown = file.subarray(0, size);
    const chunk = (await readChunk({ offset: at, length }, async (offset, most) => ({
      data: grown.subarray(offset, offset + most),
      size,
    })))!;
    // One replacement may stand for several bytes.
    if (!chunk.data.includes('\uFFFD')) expect(chunk.nextOffset).toBe(chunk.offset + Buffer.byteLength(chunk.data));
    expect(chunk.nextOffset).toBeGreaterThanOrEqual(at);
    text += chunk.data;
    at = chunk.nextOffset;
  }
  return { text, at };
}

describe('a reader who goes on at nextOffset', () => {
  const growth = (length: number) => fc.array(fc.nat(length)).map((sizes) => sizes.toSorted((a, b) => a - b));
  const growingText = fc
    .string({ unit: 'grapheme' })
    .chain((text) => fc.tuple(fc.constant(text), growth(Buffer.byteLength(text))));

  test('gets every character once, however the file grows meanwhile and whatever the length of the reads', () =>
    fc.assert(
      fc.asyncProperty(growingText, fc.integer({ min: 1, max: 9 }), async ([text, sizes], length) => {
        const file = Buffer.from(text);
        expect(await readAll(file, sizes, length)).toEqual({ text, at: file.length });
      }),
    ));

  test('comes to the end of whatever bytes, but for a character whose rest never comes', () =>
    fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 20 }), fc.integer({ min: 1, max: 9 }), async (bytes, length) => {
        const { at } = await readAll(Buffer.from(bytes), [], length);
        const rest = Buffer.from(bytes.subarray(at));
        expect(rest.length).toBeLessThan(4);
        if (rest.length > 0) expect(rest.toString()).toBe('\uFFFD');
      }),
    ));
});
