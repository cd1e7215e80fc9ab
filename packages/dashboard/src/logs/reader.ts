import { isStatus, muster } from '../api';
import { Signal } from '../live/signal';
import { LogWindow, type Line, type Piece } from './window';

/** The most that one call answers. */
const PIECE_BYTES = 65_536;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;

export interface LogView {
  readonly lines: readonly Line[];
  readonly start: number;
  readonly end: number;
  readonly size: number;
  /** New lines are shown as they come. */
  readonly isFollowing: boolean;
  readonly isMissing: boolean;
  readonly failure: unknown;
  /** Lines that have come on top with the last change; what is seen must not move. */
  readonly prepended: number;
  /** Lines that have gone off the top with it. */
  readonly dropped: number;
}

const nothing: LogView = {
  lines: [],
  start: 0,
  end: 0,
  size: 0,
  isFollowing: true,
  isMissing: false,
  failure: undefined,
  prepended: 0,
  dropped: 0,
};

/** Reads a file of a task around where somebody looks, and follows its end. It never reads what it has. */
export class LogReader {
  readonly view = new Signal<LogView>(nothing);
  private readonly window = new LogWindow();
  private readonly stopped = new AbortController();
  private busy = false;
  private size = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private pauseMs = FIRST_PAUSE_MS;
  private following = true;
  /** The task has ended: when nothing more is there, nothing will come. */
  hasEnded = false;

  constructor(
    readonly taskId: string,
    readonly path: string,
  ) {}

  /** Begins at a position, or at the end and follows it. */
  async open(at?: number): Promise<void> {
    await this.once(async () => {
      this.size = await this.sizeOf();
      this.following = at === undefined;
      const from = at ?? Math.max(0, this.size - PIECE_BYTES);
      this.window.clear(from);
      this.window.append(await this.read(from, PIECE_BYTES));
    });
    this.schedule();
  }

  close(): void {
    this.stopped.abort();
    clearTimeout(this.timer);
  }

  /** What stands before the first line. */
  older = (): Promise<void> =>
    this.once(async () => {
      const { start } = this.window;
      if (start === 0) return { prepended: 0 };
      const from = Math.max(0, start - PIECE_BYTES);
      return { prepended: this.window.prepend(await this.read(from, start - from)) };
    });

  /** What stands behind the last line. */
  newer = (): Promise<void> => this.once(() => this.readOn());

  follow(on: boolean): void {
    this.following = on;
    this.pauseMs = FIRST_PAUSE_MS;
    this.show({});
    if (on) this.schedule();
  }

  private schedule(): void {
    clearTimeout(this.timer);
    if (this.stopped.signal.aborted) return;
    this.timer = setTimeout(() => void this.look(), document.hidden ? LONGEST_PAUSE_MS : this.pauseMs);
  }

  private async look(): Promise<void> {
    const isLast = this.hasEnded;
    const end = this.window.end;
    if (this.following) await this.newer();
    else await this.once(async () => void (this.size = await this.sizeOf()));
    const hasMore = this.window.end > end;
    this.pauseMs = hasMore ? FIRST_PAUSE_MS : Math.min(LONGEST_PAUSE_MS, this.pauseMs * 2);
    if (!isLast || hasMore) this.schedule();
  }

  private async readOn(): Promise<{ dropped: number }> {
    const piece = await this.read(this.window.end, PIECE_BYTES);
    if (piece.data === '' && piece.nextOffset < this.window.end) {
      this.window.clear(0); // rotated: another file by now
      return { dropped: this.window.append(await this.read(0, PIECE_BYTES)) };
    }
    return { dropped: this.window.append(piece) };
  }

  private async read(offset: number, length: number): Promise<Piece> {
    const { taskId, path } = this;
    const piece = await muster.sandbox.read({ taskId, path, offset, length }, { signal: this.stopped.signal });
    this.size = Math.max(this.size, piece.nextOffset);
    return piece;
  }

  private async sizeOf(): Promise<number> {
    const { taskId, path } = this;
    return (await muster.sandbox.read({ taskId, path, offset: -1 }, { signal: this.stopped.signal })).offset;
  }

  /** One read at a time: what a second one would answer depends on the first. */
  private async once(work: () => Promise<Partial<Pick<LogView, 'prepended' | 'dropped'>> | void>): Promise<void> {
    if (this.busy || this.stopped.signal.aborted) return;
    this.busy = true;
    try {
      this.show({ ...(await work()), failure: undefined, isMissing: false });
    } catch (cause) {
      if (!this.stopped.signal.aborted) this.show({ failure: cause, isMissing: isStatus(cause, 404) });
    } finally {
      this.busy = false;
    }
  }

  private show(change: Partial<LogView>): void {
    const { lines, start, end } = this.window;
    const { size, following: isFollowing } = this;
    this.view.set({ ...this.view.get(), prepended: 0, dropped: 0, lines, start, end, size, isFollowing, ...change });
  }
}
