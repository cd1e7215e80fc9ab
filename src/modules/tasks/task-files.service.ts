import { Injectable } from '@nestjs/common';
import { posix } from 'node:path';
import type { SandboxView } from '../../cluster/cluster-driver.js';
import { parseTaskId } from '../../core/task-id.js';
import { SchedulerError } from '../../platform/errors.js';
import type { SentFile } from '../../platform/http/send-file.js';
import { sandboxPath, TaskSandboxes, type OpenSandbox } from '../sandbox/task-sandboxes.service.js';

/** Files of tasks by machine and absolute path. Only files in the sandbox of a task of that machine can be had. */
@Injectable()
export class TaskFiles {
  constructor(private readonly sandboxes: TaskSandboxes) {}

  async find(slaveHostname: string, path: string, view: SandboxView): Promise<SentFile> {
    const nowhere = new SchedulerError('FILE_NOT_FOUND', `No task on slave '${slaveHostname}' has a file '${path}'`);
    const sandbox = await this.sandboxOf(slaveHostname, path, view);
    const inside = sandbox && pathInside(sandbox, path);
    if (!inside) throw nowhere;
    // Nothing of it is read: this only tells whether it is there and how long it is.
    const found = await sandbox.download(inside, 0, 0);
    if (!found) throw nowhere;
    found.stream.destroy();
    return {
      name: posix.basename(inside),
      size: found.size,
      mtime: found.mtime,
      open: async (offset, length) => {
        const part = await sandbox.download(inside, offset, length);
        if (!part) throw nowhere;
        return part.stream;
      },
    };
  }

  /** The folder of a sandbox carries the id of its task, encoded like a part of a URL. */
  private async sandboxOf(slaveHostname: string, path: string, view: SandboxView): Promise<OpenSandbox | undefined> {
    for (const part of new Set(path.split('/').map(decoded))) {
      if (!parseTaskId(part)) continue;
      const sandbox = await this.open(part, view);
      if (sandbox?.slaveHostname === slaveHostname) return sandbox;
    }
    return undefined;
  }

  private async open(taskId: string, view: SandboxView): Promise<OpenSandbox | undefined> {
    try {
      return await this.sandboxes.open(taskId, view);
    } catch (cause) {
      // A machine that cannot be reached is worth telling; that there is no such task is for the caller to say.
      if (cause instanceof SchedulerError && cause.code !== 'MACHINE_NOT_FOUND') return undefined;
      throw cause;
    }
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a percent sign that encodes nothing
  }
}

function pathInside({ root }: OpenSandbox, path: string): string | undefined {
  return path.startsWith(`${root}/`) ? sandboxPath(path.slice(root.length)) : undefined;
}
