import { isUtf8 } from 'node:buffer';

/*
 * Names of files are bytes, and a task may choose any. In the agent a name is text all the same: a byte that is no part of
 * UTF-8 is a character from U+DC80 to U+DCFF, which no text has alone. So each name has one text, and leads back to its file.
 * Text for others, such as an answer of the API or a line of a log, has `\xFF` in its place.
 */

const isAscii = (text: string): boolean => !/[^\0-\x7f]/.test(text);
const longestSequence = 4;

/** `latin1`: the bytes, one character each, as Node reads names with this encoding. */
export function nameOfBytes(latin1: string): string {
  if (isAscii(latin1)) return latin1;
  const bytes = Buffer.from(latin1, 'latin1');
  if (isUtf8(bytes)) return bytes.toString();
  let name = '';
  for (let at = 0; at < bytes.length;) {
    const length = sequenceAt(bytes, at);
    name += length > 0 ? bytes.toString('utf8', at, at + length) : String.fromCharCode(0xdc00 + bytes[at]!);
    at += Math.max(1, length);
  }
  return name;
}

/** Bytes of the character that begins there; 0: none does. */
function sequenceAt(bytes: Buffer, at: number): number {
  for (let length = 1; length <= longestSequence && at + length <= bytes.length; length++)
    if (isUtf8(bytes.subarray(at, at + length))) return length;
  return 0;
}

const isEscaped = /[\udc80-\udcff]/;
const lone = /^[\udc80-\udcff]$/;

/** A path as functions of Node take it. */
export function bytesOfPath(path: string): string | Buffer {
  if (!isEscaped.test(path)) return path;
  // By characters: the second half of a pair stays what it is.
  return Buffer.concat(
    Array.from(path, (sign) => (lone.test(sign) ? Buffer.of(sign.charCodeAt(0) & 0xff) : Buffer.from(sign))),
  );
}

/** The longest that Linux takes, in bytes. */
const longestName = 255;
export const fitsFileSystem = (name: string): boolean => Buffer.from(bytesOfPath(name)).length <= longestName;

/** Name or path in a form that can be sent, stored and shown, and `nameOfShown` finds the file again. */
export const shownName = (name: string): string =>
  Array.from(name.replaceAll(/\\(?=x(?:[89A-F][0-9A-F]|5C))/g, '\\x5C'), (sign) =>
    lone.test(sign) ? `\\x${(sign.charCodeAt(0) & 0xff).toString(16).toUpperCase()}` : sign,
  ).join('');

/** Real name or path of a shown one. */
export const nameOfShown = (text: string): string =>
  text.replaceAll(/\\x(?:([89A-F][0-9A-F])|5C(?=x(?:[89A-F][0-9A-F]|5C)))/g, (_all, hex?: string) =>
    hex === undefined ? '\\' : String.fromCharCode(0xdc00 + Number.parseInt(hex, 16)),
  );
