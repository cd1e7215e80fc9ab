export const streams = ['stdout', 'stderr'] as const;
export type Stream = (typeof streams)[number];

/** The line that the bytes before ended in. */
export interface OpenLine {
  stream: Stream;
  /** The next line goes on with what this one says. */
  isPartial: boolean;
}

interface TakenLines extends Record<Stream, Buffer[]> {
  /** So many bytes need not be seen again. */
  used: number;
  within: OpenLine | undefined;
}

/** A time, a stream, a tag and the spaces between them take less. */
const longestHead = 128;
const newLine = 10;

/**
 * Output of containers, from the files of their runtime: lines of "<time> <stream> <P or F> <text>". A line of any
 * length is taken piece by piece, as it comes. `within`: result of the last call.
 */
export function takeLines(bytes: Buffer, within: OpenLine | undefined): TakenLines {
  const taken: TakenLines = { stdout: [], stderr: [], used: 0, within };
  while (taken.used < bytes.length) {
    if (!taken.within) {
      const head = headAt(bytes, taken.used);
      if (!head) break;
      taken.within = head.line;
      taken.used += head.length;
    }
    const { stream, isPartial } = taken.within;
    const end = bytes.indexOf(newLine, taken.used);
    const textEnd = end < 0 ? bytes.length : end + (isPartial ? 0 : 1);
    if (textEnd > taken.used) taken[stream].push(bytes.subarray(taken.used, textEnd));
    if (end >= 0) taken.within = undefined;
    taken.used = end < 0 ? bytes.length : end + 1;
  }
  return taken;
}

/** undefined: it is not all there yet. What has no head is a line of stdout as it stands. */
function headAt(bytes: Buffer, at: number): { line: OpenLine; length: number } | undefined {
  const text = bytes.toString('latin1', at, Math.min(bytes.length, at + longestHead));
  const [head, stream, tag] = /^[^ \n]+ (stdout|stderr) ([PF])[^ \n]* /.exec(text) ?? [];
  if (head !== undefined)
    return { line: { stream: stream === 'stderr' ? 'stderr' : 'stdout', isPartial: tag === 'P' }, length: head.length };
  const isWhole = text.includes('\n') || text.length === longestHead;
  return isWhole ? { line: { stream: 'stdout', isPartial: false }, length: 0 } : undefined;
}
