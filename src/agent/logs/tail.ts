import type { Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { relative } from 'node:path';
import { errorCode, isMissing } from '../../platform/files.js';
import { createFileBelow, openFileBelow } from '../sandbox/below.js';
import type { ExecutorLayout } from '../sandbox/sandbox-layout.js';
import { removeBelow } from './results.js';

/** Lines that are longer on average are cut short: the whole tail is in memory for a moment. */
const bytesPerLine = 400;
const leastBytes = 1024 * 1024;

/** Keeps the last lines of the service log in a file of their own. Written once, never again. */
export async function saveTail(
  root: string,
  layout: Pick<ExecutorLayout, 'serviceLog' | 'tailLog'>,
  lines: number,
): Promise<void> {
  // No log: nothing was prepared, or the task has put something else in its place.
  const log = await openFileBelow(root, relative(root, layout.serviceLog), 'NONE');
  if (!log) return;
  try {
    const end = await readEnd(log, Math.max(leastBytes, lines * bytesPerLine));
    await writeTail(root, relative(root, layout.tailLog), lastLines(end, lines));
  } finally {
    await log.handle.close();
  }
}

async function writeTail(root: string, path: string, text: Buffer): Promise<void> {
  try {
    const tail = await createFileBelow(root, path, 0o644);
    try {
      await tail.writeFile(text);
    } catch (cause) {
      // Half of it would pass for the whole.
      await removeBelow(root, path);
      throw cause;
    } finally {
      await tail.close();
    }
  } catch (cause) {
    // The tail has been saved before a restart of the agent, or the task has left something of this name.
    if (!isMissing(cause) && errorCode(cause) !== 'EEXIST') throw cause;
  }
}

async function readEnd(
  { handle, stats: { size } }: { handle: FileHandle; stats: Stats },
  mostBytes: number,
): Promise<Buffer> {
  const start = Math.max(0, size - mostBytes);
  const buffer = Buffer.alloc(size - start);
  const { bytesRead } = await handle.read(buffer, 0, buffer.length, start);
  return buffer.subarray(0, bytesRead);
}

function lastLines(text: Buffer, most: number): Buffer {
  // The newline at the very end finishes the last line and begins no other.
  let newline = text.length - 1;
  for (let lines = 0; lines < most; lines++) {
    newline = newline > 0 ? text.lastIndexOf('\n', newline - 1) : -1;
    if (newline < 0) return text;
  }
  return text.subarray(newline + 1);
}
