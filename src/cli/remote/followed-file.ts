import { plainLog } from '../output/plain.js';
import { isRefusal } from './refusal.js';
import type { Session } from './session.js';

const pieceBytes = 262_144;

/** A file of a task that may not be there yet and may still grow. */
export class FollowedFile {
  private offset = 0;

  constructor(
    private readonly session: Session,
    readonly taskId: string,
    private readonly path: string,
    private readonly isRaw = !session.out.isTerminal,
  ) {}

  /** Begins so many lines before the end. */
  async beginAtTail(lines: number): Promise<string> {
    // With this offset it is the length that is answered.
    const length = (await this.read(-1))?.offset ?? 0;
    this.offset = Math.max(0, length - Math.min(pieceBytes, Math.max(4_096, lines * 512)));
    let text = '';
    const began = this.offset;
    for await (const piece of this.pieces()) text += piece;
    const all = text.split('\n');
    // The first of them may have begun before.
    if (began > 0) all.shift();
    const isWhole = all.at(-1) === '';
    const wanted = lines === 0 ? [] : all.slice(-(lines + (isWhole ? 1 : 0)));
    return this.shown(wanted.join('\n'));
  }

  /** What is there beyond what was read. */
  async more(): Promise<string[]> {
    const pieces: string[] = [];
    for await (const piece of this.pieces()) pieces.push(this.shown(piece));
    return pieces;
  }

  private shown(text: string): string {
    return this.isRaw ? text : plainLog(text);
  }

  private async *pieces(): AsyncGenerator<string> {
    for (;;) {
      const piece = await this.read(this.offset);
      if (!piece || piece.nextOffset === this.offset) return;
      this.offset = piece.nextOffset;
      if (piece.data !== '') yield piece.data;
    }
  }

  private async read(offset: number) {
    const { taskId, path } = this;
    try {
      return await this.session.api.sandbox.read({ taskId, path, offset, length: pieceBytes });
    } catch (cause) {
      // A task that has just been launched has no sandbox and no files yet.
      if (isRefusal(cause) && (cause.code === 'SANDBOX_NOT_READY' || cause.code === 'FILE_NOT_FOUND')) return undefined;
      throw cause;
    }
  }
}
