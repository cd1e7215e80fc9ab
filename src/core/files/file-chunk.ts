/** A part of a file as text. offset: byte position of its first byte; nextOffset: of the byte after its last one. */
export interface FileChunk {
  data: string;
  offset: number;
  nextOffset: number;
}

export interface ChunkChoice {
  /** -1: only say how long the file is. Absent: from its beginning. */
  offset?: number;
  /** Absent or -1: to the end. */
  length?: number;
}

/** Most bytes of one read; more has to be asked for again. */
const maxChunkBytes = 65_536;
const longestCharacter = 4;

/** `read` answers bytes of the file and its size now. undefined, as from `read`: no such file. */
export async function readChunk(
  { offset = 0, length = -1 }: ChunkChoice,
  read: (offset: number, length: number) => Promise<{ data: Uint8Array; size: number } | undefined>,
): Promise<FileChunk | undefined> {
  const sizeOnly = offset === -1 || length === 0;
  const wanted = length === -1 ? maxChunkBytes : Math.min(length, maxChunkBytes);
  const part = await (sizeOnly ? read(0, 0) : read(offset, Math.max(wanted, longestCharacter)));
  if (!part) return undefined;
  const { data, size } = part;
  if (sizeOnly || offset >= size) return { data: '', offset: size, nextOffset: size };
  return toFileChunk(data, offset, wanted);
}

/**
 * Makes valid text of bytes read at an offset of a UTF-8 file. A fragment at the start, of a character begun before, is cut.
 * Bytes at the end that begin a character are left to the next read: the rest of it may not have been written yet. So reading
 * on at nextOffset gives every character once, also of a file that grows; other invalid bytes become U+FFFD. What was wanted
 * is exceeded where it is shorter than a single character: the reader would not get on otherwise.
 */
export function toFileChunk(bytes: Uint8Array, offset: number, wanted = bytes.length): FileChunk {
  const start = offset === 0 ? 0 : fragmentAtStart(bytes);
  const end = endOfText(bytes, start, Math.max(start, Math.min(wanted, bytes.length)));
  return { data: decoder.decode(bytes.subarray(start, end)), offset: offset + start, nextOffset: offset + end };
}

function endOfText(bytes: Uint8Array, start: number, limit: number): number {
  const end = limit - unfinishedAtEnd(bytes.subarray(start, limit));
  if (end > start || limit === start) return end;
  const first = bytes.subarray(start, start + characterLength(bytes[start]!));
  return start + first.length - unfinishedAtEnd(first);
}

const isContinuation = (byte: number): boolean => (byte & 0b1100_0000) === 0b1000_0000;
/** Length in bytes of a character that begins with this byte; 1 for bytes that begin none. */
const characterLength = (lead: number): number => (lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1);

function fragmentAtStart(bytes: Uint8Array): number {
  let count = 0;
  while (count < longestCharacter - 1 && count < bytes.length && isContinuation(bytes[count]!)) count += 1;
  return count;
}

/** Bytes at the end that may become a character when others follow. */
function unfinishedAtEnd(bytes: Uint8Array): number {
  for (let back = 1; back < longestCharacter && back <= bytes.length; back++) {
    const tail = bytes.subarray(bytes.length - back);
    if (!isContinuation(tail[0]!)) return isBeginOfCharacter(tail) ? back : 0;
  }
  return 0;
}

/** Some leads, and some bytes after a lead, begin nothing: a reader must not wait for the rest of it. */
function isBeginOfCharacter(bytes: Uint8Array): boolean {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: true }) === '';
  } catch {
    return false;
  }
}

// The byte order mark is kept: removing it would make the text shorter than the bytes it stands for.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
