import { HttpErrorException, type Args, type Service } from 'rest-contract';
import type { SandboxApi, TaskApi } from './agent-api.js';
import type { FileBytes } from './file-bytes.js';
import { SandboxFiles } from './sandbox-files.js';
import { taskStatistics } from './statistics.js';
import type { TaskRun } from './task-run.js';

/** What the agent tells about one task. */
export class TaskOperations implements Service<typeof TaskApi> {
  constructor(
    private readonly run: TaskRun | undefined,
    private readonly sandboxRoot: string,
  ) {}

  async statistics() {
    return orNotFound(this.run?.isRunning ? await taskStatistics(this.run, Date.now()) : undefined);
  }

  sandbox(): Service<typeof SandboxApi> {
    return new SandboxOperations(new SandboxFiles(this.sandboxRoot));
  }
}

class SandboxOperations implements Service<typeof SandboxApi> {
  constructor(private readonly files: SandboxFiles) {}

  async root() {
    orNotFound(await this.files.list(''));
    return { root: this.files.root };
  }

  async list({ path }: Args<typeof SandboxApi, 'list'>) {
    return orNotFound(await this.files.list(path));
  }

  async read({ path, offset, length }: Args<typeof SandboxApi, 'read'>): Promise<FileBytes> {
    const { data, size, mtime } = orNotFound(await this.files.read(path, offset, length));
    return { size, mtime, length: data.length, content: streamOf(data) };
  }

  /** As many bytes as the file has now: a log that grows meanwhile does not keep the transfer open. */
  async download({ path, offset, length: wanted }: Args<typeof SandboxApi, 'download'>): Promise<FileBytes> {
    const { handle, size, mtime } = orNotFound(await this.files.open(path));
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

function orNotFound<T>(value: T | undefined): T {
  if (value === undefined) throw new HttpErrorException(404, 'Not found');
  return value;
}
