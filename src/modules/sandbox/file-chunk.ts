/** A part of a file as text. offset: byte position of its first byte; nextOffset: of the byte after its last one. */
export interface FileChunk {
  data: string;
  offset: number;
  nextOffset: number;
}

const isContinuation = (byte: number): boolean => (byte & 0b1100_0000) === 0b1000_0000;
/** How many bytes a character has that begins with this byte; 1 for bytes that begin none. */
const characterLength = (lead: number): number => (lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1);

/** Bytes at the start that continue a character begun before the chunk. */
function danglingAtStart(bytes: Buffer): number {
  let count = 0;
  while (count < 3 && count < bytes.length && isContinuation(bytes[count]!)) count += 1;
  return count;
}

/** Bytes at the end that begin a character which is not complete yet. */
function danglingAtEnd(bytes: Buffer): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back]!;
    if (isContinuation(byte)) continue;
    return characterLength(byte) > back ? back : 0;
  }
  return 0;
}

// The byte order mark is kept: removing it would make the text shorter than the bytes it stands for.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * Makes valid text of bytes read at an offset of a UTF-8 file. Fragments of characters at both ends are cut, so that
 * reading on at nextOffset gives every character once; other invalid bytes become U+FFFD.
 */
export function toFileChunk(bytes: Buffer, offset: number): FileChunk {
  const start = offset === 0 ? 0 : danglingAtStart(bytes);
  const end = bytes.length - danglingAtEnd(bytes.subarray(start));
  // Nothing but fragments: step over them, or a reader would ask for the same bytes for ever.
  if (start >= end) return { data: '', offset: offset + bytes.length, nextOffset: offset + bytes.length };
  return { data: decoder.decode(bytes.subarray(start, end)), offset: offset + start, nextOffset: offset + end };
}
