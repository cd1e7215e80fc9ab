import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { constants, createGzip } from 'node:zlib';
import { cleanEnvironment } from '../processes/run-as.js';
import type { Compression } from './order.js';

const chunkBytes = 256 * 1024;

/** Compresses the bytes of one open file up to `end` to where another one is. */
export async function compress(
  { from, end, to }: { from: number; end: number; to: number },
  { command, options }: Compression,
): Promise<void> {
  if (end === 0) return;
  const source = createReadStream('', {
    fd: from,
    autoClose: false,
    start: 0,
    end: end - 1,
    highWaterMark: chunkBytes,
  });
  if (command === undefined)
    return pipeline(
      source,
      // A log that is written at 100 MB/s has to be compressed as fast; it stays a few percent larger.
      createGzip({ level: constants.Z_BEST_SPEED }),
      createWriteStream('', { fd: to, autoClose: false, highWaterMark: chunkBytes }),
    );
  const child = spawn(command, options, { cwd: '/', env: cleanEnvironment, stdio: ['pipe', to, 'ignore'] });
  const ended = once(child, 'close') as Promise<[number | null]>;
  // The status of the program says more than the pipe that it closed.
  await Promise.all([pipeline(source, child.stdin!).catch(() => undefined), ended]);
  const [status] = await ended;
  if (status !== 0) throw new Error(`${command} ended with ${status ?? 'a signal'}`);
}
