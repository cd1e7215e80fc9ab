import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bytesOfPath, nameOfBytes, nameOfShown, shownName } from './names.js';

const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');
const bytesOf = (name: string): Buffer => Buffer.from(bytesOfPath(name));

/** Bytes at random, and such as are about to be UTF-8 or look like a byte that is shown. */
const names = fc
  .array(
    fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 6 }),
      fc.constantFrom('ü', '😀', '\\', '\\x', 'x5C', '\\xFF', '\\x5C', '\n').map((text) => Buffer.from(text)),
      fc.string({ unit: 'binary' }).map((text) => Buffer.from(text)),
      fc.constantFrom([0xed, 0xb2, 0x80], [0xc0, 0xaf], [0xf0, 0x9f], [0xff]).map((bytes) => Buffer.from(bytes)),
    ),
    { minLength: 1, maxLength: 8 },
  )
  .map((parts) => Buffer.concat(parts));

test('each name leads back to its bytes, also by what others are shown', () => {
  fc.assert(
    fc.property(names, (bytes) => {
      const name = nameOfBytes(latin1(bytes));
      expect(bytesOf(name)).toEqual(bytes);
      expect(bytesOf(nameOfShown(shownName(name)))).toEqual(bytes);
    }),
    { numRuns: 300 },
  );
});

test('what others are shown is text without halves of pairs, and tells names apart', () => {
  fc.assert(
    fc.property(names, names, (one, other) => {
      const [shown, shownOther] = [one, other].map((bytes) => shownName(nameOfBytes(latin1(bytes))));
      expect(Buffer.from(shown!).toString()).toBe(shown);
      expect(shown === shownOther).toBe(one.equals(other));
    }),
  );
});

test.each([
  { bytes: 'plain.log', shown: 'plain.log' },
  { bytes: '\u00c3\u00bc', shown: 'ü' },
  { bytes: 'a\u00ff.log', shown: 'a\\xFF.log' },
  { bytes: 'a\\xFF.log', shown: 'a\\x5CxFF.log' },
  { bytes: 'C:\\x\\n', shown: 'C:\\x\\n' },
  { bytes: '\u00ed\u00b2\u0080', shown: '\\xED\\xB2\\x80' },
])('$shown', ({ bytes, shown }) => expect(shownName(nameOfBytes(bytes))).toBe(shown));
