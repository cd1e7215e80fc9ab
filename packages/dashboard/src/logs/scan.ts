export interface Hit {
  /** Position in the file of the line's first byte. */
  readonly at: number;
  readonly text: string;
}

const NEWLINE = 10;

/** The expression of what somebody typed: as it stands, or with its special characters taken literally. */
export function expressionOf(text: string, options: { isRegExp: boolean; matchCase: boolean }): RegExp | undefined {
  if (text === '') return undefined;
  const source = options.isRegExp ? text : text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  try {
    return new RegExp(source, options.matchCase ? 'g' : 'gi');
  } catch {
    return undefined;
  }
}

/** Lines of bytes that come in any pieces, with the position of each. */
export async function* linesOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Hit, void, undefined> {
  const decoder = new TextDecoder();
  let rest = new Uint8Array(0);
  let at = 0;
  for await (const piece of pieces) {
    const bytes = new Uint8Array(rest.length + piece.length);
    bytes.set(rest);
    bytes.set(piece, rest.length);
    let begin = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, begin)) {
      yield { at: at + begin, text: decoder.decode(bytes.subarray(begin, end)) };
      begin = end + 1;
    }
    rest = bytes.slice(begin);
    at += begin;
  }
  if (rest.length > 0) yield { at, text: decoder.decode(rest) };
}
