import type { Muster } from '../connect.js';
import { MusterError } from '../errors.js';
import type { ClusterFileChunkObject } from '../records/files.js';
import { hasEnded } from './runs.js';
import { Waiting, type WaitOptions } from './waiting.js';

export interface LogChoice {
  readonly taskId: string;
  /** The file in the sandbox; `stdout` unless given. */
  readonly path?: string | undefined;
  /** From which byte on; negative: so many bytes before the end. From the beginning unless given. */
  readonly offset?: number | undefined;
  /** false: what is there now, and no more. */
  readonly follow?: boolean | undefined;
}

/**
 * Reads a file of a task, and goes on until the task has ended. Each piece is whole characters, not whole lines. A file that is
 * not there yet is waited for; of one that is rotated, it reads the new one from its beginning.
 */
export async function* tailLog(
  muster: Muster,
  { taskId, path = 'stdout', offset = 0, follow = true }: LogChoice,
  options: WaitOptions = {},
): AsyncGenerator<string, void, undefined> {
  const waiting = new Waiting(`The log of ${taskId}`, options, 100, 1_000);
  let at = offset;
  let isLast = !follow;
  for (;;) {
    const chunk = await waiting.ask((call) => readAt(muster, taskId, path, at, call, follow));
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
    // What is written last is there before the end is known: so it is read once more after it.
    const state = await waiting.ask((call) => muster.track.task({ taskId }, call));
    isLast = hasEnded(state?.currentState);
    if (!isLast) await waiting.pause();
  }
}

async function readAt(
  muster: Muster,
  taskId: string,
  path: string,
  at: number,
  call: Waiting['call'],
  follow: boolean,
): Promise<ClusterFileChunkObject> {
  try {
    if (at >= 0) return await muster.sandbox.read({ taskId, path, offset: at }, call);
    // With this offset it is the length that is answered.
    const { offset: length } = await muster.sandbox.read({ taskId, path, offset: -1 }, call);
    return await muster.sandbox.read({ taskId, path, offset: Math.max(0, length + at) }, call);
  } catch (cause) {
    const isYetToCome = cause instanceof MusterError && (cause.status === 404 || cause.code === 'SANDBOX_NOT_READY');
    if (follow && isYetToCome) return { offset: 0, nextOffset: 0, data: '' };
    throw cause;
  }
}
