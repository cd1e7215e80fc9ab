import { open, writeFile } from 'node:fs/promises';
import { errorCode, isMissing } from './files.js';
import type { ExecutorLayout } from './sandbox-layout.js';

const tailLines = 2_500;
/** Lines longer than 400 bytes on average are cut short by this. */
const tailBytes = 1024 * 1024;

/** Keeps the last lines of the service log in a file of their own. Written once, never again. */
export async function saveTail(layout: Pick<ExecutorLayout, 'serviceLog' | 'tailLog'>): Promise<void> {
  try {
    await writeFile(layout.tailLog, lastLines(await readEnd(layout.serviceLog)), { flag: 'wx' });
  } catch (cause) {
    // Nothing was logged because nothing was prepared, or the tail has been saved before a restart of the agent.
    if (!isMissing(cause) && errorCode(cause) !== 'EEXIST') throw cause;
  }
}

async function readEnd(path: string): Promise<Buffer> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const start = Math.max(0, size - tailBytes);
    const buffer = Buffer.alloc(size - start);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, start);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

function lastLines(text: Buffer): Buffer {
  // The newline at the very end finishes the last line and begins no other.
  let newline = text.length - 1;
  for (let lines = 0; lines < tailLines; lines++) {
    newline = newline > 0 ? text.lastIndexOf('\n', newline - 1) : -1;
    if (newline < 0) return text;
  }
  return text.subarray(newline + 1);
}
