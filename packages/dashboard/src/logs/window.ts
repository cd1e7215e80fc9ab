export interface Line {
  /** Position in the file of its first byte. */
  readonly at: number;
  readonly text: string;
  /** Whose line it is, where those of several logs stand together. */
  readonly source?: string;
}

/** Text of a file between two positions, as the service answers it. */
export interface Piece {
  readonly offset: number;
  readonly nextOffset: number;
  readonly data: string;
}

export interface Bounds {
  readonly lines: number;
  readonly bytes: number;
}

const usual: Bounds = { lines: 20_000, bytes: 4 * 1024 * 1024 };
const encoder = new TextEncoder();
const bytesOf = (text: string): number => (/^\p{ASCII}*$/u.test(text) ? text.length : encoder.encode(text).length);

/**
 * The part of a file that is in memory. However it was cut into pieces, its lines are those of the file between `start` and `end`.
 * It grows at both ends and forgets at the other, so that a log of any length costs the same.
 */
export class LogWindow {
  private held: Line[] = [];
  /** The last line goes on: its end has not come yet. */
  private isOpen = false;
  start = 0;
  end = 0;

  constructor(private readonly bounds: Bounds = usual) {}

  get lines(): readonly Line[] {
    return this.held;
  }

  clear(at: number): void {
    this.held = [];
    this.isOpen = false;
    this.start = at;
    this.end = at;
  }

  /** Adds what comes behind the end; answers how many lines went off the top for it. */
  append({ offset, nextOffset, data }: Piece): number {
    const added = linesOf(data, offset);
    const lines = [...this.held];
    const [first] = added;
    if (this.isOpen && lines.length > 0 && first) {
      const last = lines.pop()!;
      added[0] = { at: last.at, text: last.text + first.text };
    }
    this.held = lines.concat(added);
    if (data !== '') this.isOpen = !data.endsWith('\n');
    this.end = nextOffset;
    return this.dropTop();
  }

  /** Adds what comes before the start; answers how many lines came on top. */
  prepend({ offset, data }: Piece): number {
    const added = linesOf(data, offset);
    const before = this.held.length;
    const rest = [...this.held];
    const last = added.at(-1);
    if (last && !data.endsWith('\n') && rest.length > 0) {
      const first = rest.shift()!;
      added[added.length - 1] = { at: last.at, text: last.text + first.text };
    } else if (rest.length === 0 && data !== '') this.isOpen = !data.endsWith('\n');
    this.held = added.concat(rest);
    this.start = offset;
    const came = this.held.length - before;
    this.dropBottom();
    return came;
  }

  private dropTop(): number {
    const excess = this.excess();
    if (excess <= 0) return 0;
    this.held = this.held.slice(excess);
    this.start = this.held[0]?.at ?? this.end;
    return excess;
  }

  private dropBottom(): void {
    const keep = this.held.length - this.excess();
    const firstGone = this.held[keep];
    if (!firstGone) return;
    this.held = this.held.slice(0, keep);
    this.end = firstGone.at;
    this.isOpen = false;
  }

  /** How many lines are too many; at least one stays. */
  private excess(): number {
    const tooMany = this.held.length - this.bounds.lines;
    const size = this.end - this.start;
    const tooLong = size > this.bounds.bytes ? Math.ceil((this.held.length * (size - this.bounds.bytes)) / size) : 0;
    return Math.min(Math.max(tooMany, tooLong), this.held.length - 1);
  }
}

function linesOf(data: string, offset: number): Line[] {
  if (data === '') return [];
  const texts = data.split('\n');
  if (texts.at(-1) === '') texts.pop();
  let at = offset;
  return texts.map((text) => {
    const line = { at, text };
    at += bytesOf(text) + 1;
    return line;
  });
}
