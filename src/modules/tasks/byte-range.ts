/** Part of a file, both ends included, as positions of bytes. */
export interface ByteRange {
  first: number;
  last: number;
}

/**
 * What a Range header asks for. 'ALL' also where it asks for several ranges, or for something else than bytes: a server
 * may ignore what it does not serve. 'NONE': the range begins behind the end of the file.
 */
export function readRange(header: string | undefined, size: number): ByteRange | 'ALL' | 'NONE' {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.replaceAll(' ', '') ?? '');
  if (!match || (match[1] === '' && match[2] === '')) return 'ALL';
  const [, from, to] = match as unknown as [string, string, string];
  if (from === '') return lastBytes(Number(to), size);
  const first = Number(from);
  const last = to === '' ? size - 1 : Math.min(Number(to), size - 1);
  if (to !== '' && Number(to) < first) return 'ALL';
  return first < size ? { first, last } : 'NONE';
}

const lastBytes = (count: number, size: number): ByteRange | 'NONE' =>
  count === 0 || size === 0 ? 'NONE' : { first: Math.max(0, size - count), last: size - 1 };
