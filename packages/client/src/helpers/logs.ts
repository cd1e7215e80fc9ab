import type { Muster } from '../generated/operations.js';
import type { ClusterFileChunkObject } from '../generated/records.js';
import { MusterError } from '../errors.js';
import { hasEnded } from './runs.js';
import { Waiting, type WaitOptions } from './waiting.js';

export interface LogChoice {
  readonly taskId: string;
  /** The file in the sandbox; `stdout` unless given. */
  readonly path?: string | undefined;
  /** From which byte on; negative: so many bytes before the end. From the beginning unless given. */
  readonly offset?: number | undefined;
  /** In place of an offset: begins so many lines before the end, or 256 KB where they are longer than that. */
  readonly lines?: number | undefined;
  /** false: what is there now, and no more. */
  readonly follow?: boolean | undefined;
  /** Signalled when the task has ended, by a caller that learns of it anyway; unless given, the task is asked for its state. */
  readonly ended?: AbortSignal | undefined;
}

const PIECE_BYTES = 262_144;
/** Bytes of a line of a log, generously. */
const LINE_BYTES = 512;
const LEAST_TAIL_BYTES = 4_096;

/**
 * Reads a file of a task, and goes on until the task has ended. Each piece is whole characters, not whole lines. A file that is
 * not there yet is waited for; of one that is rotated, it reads the new one from its beginning.
 */
export async function* tailLog(
  muster: Muster,
  { taskId, path = 'stdout', offset = 0, lines, follow = true, ended }: LogChoice,
  options: WaitOptions = {},
): AsyncGenerator<string, void, undefined> {
  const waiting = new Waiting(`The log of ${taskId}`, options, 100, 1_000);
  const file = { taskId, path, follow };
  let at = offset;
  if (lines !== undefined) {
    const end = await waiting.ask((call) => lastLines(muster, file, lines, call));
    at = end?.nextOffset ?? 0;
    if (end?.data) yield end.data;
  }
  let isLast = !follow;
  for (;;) {
    // What is written last is there before the end is known: so it is read once more after it.
    isLast ||= ended?.aborted === true;
    const chunk = await waiting.ask((call) => readAt(muster, file, at, call));
    if (chunk) {
      // Shorter than what was read of it: another file by now.
      at = chunk.data === '' && chunk.nextOffset < at ? 0 : chunk.nextOffset;
      if (chunk.data !== '') {
        waiting.quicken();
        yield chunk.data;
        continue;
      }
      if (at === 0 && chunk.nextOffset > 0) continue;
      if (isLast) return;
    }
    if (ended) {
      if (!ended.aborted) await waiting.pause(ended);
      else if (!chunk) await waiting.pause();
      continue;
    }
    const state = await waiting.ask((call) => muster.track.task({ taskId }, call));
    isLast = hasEnded(state?.currentState);
    if (!isLast) await waiting.pause();
  }
}

interface File {
  readonly taskId: string;
  readonly path: string;
  readonly follow: boolean;
}

async function lastLines(muster: Muster, file: File, lines: number, call: Waiting['call']) {
  const bytes = Math.min(PIECE_BYTES, Math.max(LEAST_TAIL_BYTES, lines * LINE_BYTES));
  const piece = await readAt(muster, file, -bytes, call);
  const all = piece.data.split('\n');
  // The first of them may have begun before.
  if (piece.offset > 0) all.shift();
  const isWhole = all.at(-1) === '';
  return { ...piece, data: lines === 0 ? '' : all.slice(-(lines + (isWhole ? 1 : 0))).join('\n') };
}

async function readAt(
  muster: Muster,
  { taskId, path, follow }: File,
  at: number,
  call: Waiting['call'],
): Promise<ClusterFileChunkObject> {
  const read = (offset: number) => muster.sandbox.read({ taskId, path, offset, length: PIECE_BYTES }, call);
  try {
    if (at >= 0) return await read(at);
    // With this offset it is the length that is answered.
    const { offset: length } = await read(-1);
    return await read(Math.max(0, length + at));
  } catch (cause) {
    const isYetToCome = cause instanceof MusterError && (cause.status === 404 || cause.code === 'SANDBOX_NOT_READY');
    if (follow && isYetToCome) return { offset: 0, nextOffset: 0, data: '' };
    throw cause;
  }
}
