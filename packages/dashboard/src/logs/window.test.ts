import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LogWindow, type Piece } from './window';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A file of short lines with characters of one to four bytes, and places between its characters to cut it at. */
const anyFile = fc
  .array(fc.oneof(fc.constantFrom('\n', 'a', 'é', '€', '🦀', ' '), fc.string({ maxLength: 3 })), { maxLength: 60 })
  .map((parts) => parts.join('').replaceAll('\r', ''));

const pieceOf = (bytes: Uint8Array, offset: number, nextOffset: number): Piece => ({
  offset,
  nextOffset,
  data: decoder.decode(bytes.subarray(offset, nextOffset)),
});

/** Positions in bytes between characters. */
function cutsOf(text: string, wanted: readonly number[]): number[] {
  const characters = [...text];
  const positions = [0];
  for (const character of characters) positions.push(positions.at(-1)! + encoder.encode(character).length);
  return [...new Set(wanted.map((cut) => positions[cut % positions.length]!)), 0, positions.at(-1)!].sort(
    (a, b) => a - b,
  );
}

function linesOf(text: string): { at: number; text: string }[] {
  const texts = text.split('\n');
  if (texts.at(-1) === '') texts.pop();
  let at = 0;
  return texts.map((line) => {
    const found = { at, text: line };
    at += encoder.encode(line).length + 1;
    return found;
  });
}

test('however a file is cut, read forwards it gives its lines', () =>
  fc.assert(
    fc.property(anyFile, fc.array(fc.nat(80), { maxLength: 8 }), (text, wanted) => {
      const bytes = encoder.encode(text);
      const cuts = cutsOf(text, wanted);
      const window = new LogWindow();
      for (let at = 1; at < cuts.length; at++) window.append(pieceOf(bytes, cuts[at - 1]!, cuts[at]!));
      expect(window.lines).toEqual(linesOf(text));
    }),
  ));

test('read backwards from any place and forwards from there, it gives the same lines', () =>
  fc.assert(
    fc.property(anyFile, fc.array(fc.nat(80), { maxLength: 8 }), fc.nat(8), (text, wanted, from) => {
      const bytes = encoder.encode(text);
      const cuts = cutsOf(text, wanted);
      const middle = Math.min(from, cuts.length - 1);
      const window = new LogWindow();
      window.clear(cuts[middle]!);
      for (let at = middle; at > 0; at--) window.prepend(pieceOf(bytes, cuts[at - 1]!, cuts[at]!));
      for (let at = middle + 1; at < cuts.length; at++) window.append(pieceOf(bytes, cuts[at - 1]!, cuts[at]!));
      expect(window.lines).toEqual(linesOf(text));
    }),
  ));

test('what is too much goes at the other end, and what is left are lines of the file', () => {
  const text = Array.from({ length: 100 }, (_each, index) => `line ${index}\n`).join('');
  const bytes = encoder.encode(text);
  const window = new LogWindow({ lines: 10, bytes: 1_000_000 });
  expect(window.append(pieceOf(bytes, 0, bytes.length))).toBe(90);
  expect(window.lines.map((line) => line.text)).toEqual(
    linesOf(text)
      .slice(90)
      .map((line) => line.text),
  );
  expect(window.start).toBe(window.lines[0]!.at);
  const before = window.start;
  const lineBefore = 'line 89\n'.length;
  expect(window.prepend(pieceOf(bytes, before - lineBefore, before))).toBe(1);
  expect(window.lines[0]!.text).toBe('line 89');
  expect(window.lines).toHaveLength(10);
  expect(window.end).toBe(bytes.length - 'line 99\n'.length);
});

test('a log of many bytes stays below the bound of its bytes', () => {
  const window = new LogWindow({ lines: 1_000_000, bytes: 10_000 });
  const data = `${'x'.repeat(99)}\n`.repeat(50);
  for (let at = 0; at < 100; at++)
    window.append({ offset: at * data.length, nextOffset: (at + 1) * data.length, data });
  expect(window.end - window.start).toBeLessThanOrEqual(10_100);
  expect(window.end).toBe(100 * data.length);
});
