import { createWriteStream } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { fileURLToPath } from 'node:url';
import { messageOf } from '../files.js';
import { DeployFault } from './faults.js';

/** Fetches an http, https or file URL, or an absolute path. Redirects are followed. */
export async function download(source: string, target: string, signal: AbortSignal): Promise<void> {
  try {
    if (/^https?:/i.test(source)) await fetchTo(source, target, signal);
    else await copyFile(/^file:/i.test(source) ? fileURLToPath(source) : source, target);
  } catch (cause) {
    signal.throwIfAborted();
    if (cause instanceof DeployFault) throw cause;
    throw new DeployFault(`${source}: ${causeOf(cause)}`, { cause });
  }
}

async function fetchTo(url: string, target: string, signal: AbortSignal): Promise<void> {
  const response = await fetch(url, { signal });
  if (!response.ok || !response.body) {
    await response.body?.cancel();
    throw new DeployFault(`${url}: HTTP ${response.status}`);
  }
  await pipeline(Readable.fromWeb(response.body as ReadableStream), createWriteStream(target), { signal });
}

/** fetch says "fetch failed" and hides what failed one level down. */
const causeOf = (cause: unknown): string =>
  cause instanceof Error && cause.cause !== undefined ? messageOf(cause.cause) : messageOf(cause);
