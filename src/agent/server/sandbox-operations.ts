import { type Args, HttpErrorException, type Service } from 'rest-contract';
import type { SandboxView } from '../../cluster/cluster-driver.js';
import type { SandboxFiles } from '../sandbox/sandbox-files.js';
import type { SandboxApi } from '../wire/agent-api.js';
import type { FileBytes } from '../wire/file-bytes.js';

export type ReadableFiles = Pick<SandboxFiles, 'root' | 'exists' | 'list' | 'read' | 'open'>;

/** Operations on the files of one task. */
export class SandboxOperations implements Service<typeof SandboxApi> {
  constructor(private readonly files: Readonly<Record<SandboxView, ReadableFiles>>) {}

  async root() {
    orNotFound((await this.files.ALL.exists()) || undefined);
    return { root: this.files.ALL.root };
  }

  async list({ path, view }: Args<typeof SandboxApi, 'list'>) {
    return orNotFound(await this.files[view].list(path));
  }

  async read({ path, offset, length, view }: Args<typeof SandboxApi, 'read'>): Promise<FileBytes> {
    const { data, size, mtime } = orNotFound(await this.files[view].read(path, offset, length));
    return { size, mtime, length: data.length, content: streamOf(data) };
  }

  /** As many bytes as the file has now: a log that grows meanwhile does not keep the transfer open. */
  async download({ path, offset, length: wanted, view }: Args<typeof SandboxApi, 'download'>): Promise<FileBytes> {
    const { handle, size, mtime } = orNotFound(await this.files[view].open(path));
    const length = Math.max(0, Math.min(wanted ?? Infinity, size - offset));
    if (length > 0)
      return { size, mtime, length, content: handle.createReadStream({ start: offset, end: offset + length - 1 }) };
    await handle.close();
    return { size, mtime, length, content: streamOf() };
  }
}

async function* streamOf(...chunks: Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

export function orNotFound<T>(value: T | undefined): T {
  if (value === undefined) throw new HttpErrorException(404, 'Not found');
  return value;
}
