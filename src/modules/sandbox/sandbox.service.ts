import { Inject, Injectable } from '@nestjs/common';
import type { SandboxEntry, SandboxView } from '../../cluster/cluster-driver.js';
import { type ChunkChoice, type FileChunk, readChunk } from '../../core/files/file-chunk.js';
import { SchedulerError } from '../../platform/errors.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { LineSearch } from './line-search.service.js';
import { sandboxPath, TaskSandboxes, type OpenSandbox } from './task-sandboxes.service.js';

/** One folder of a task. A file's path on the machine is fullPathToRoot/currentDirectory/name. */
export interface SandboxListing {
  files: SandboxEntry[];
  fullPathToRoot: string;
  currentDirectory: string;
  slaveHostname: string;
}

export interface ReadChoice extends ChunkChoice {
  path: string;
  /** Keep only lines that match this regular expression. */
  grep?: string;
}

/** Looks into the files of tasks. */
@Injectable()
export class SandboxService {
  constructor(
    private readonly sandboxes: TaskSandboxes,
    private readonly lines: LineSearch,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** A folder that is not there is empty: clients ask for the logs of tasks that have not begun to write any. */
  async browse(taskId: string, path: string | undefined, view: SandboxView): Promise<SandboxListing> {
    const sandbox = await this.sandboxes.open(taskId, view);
    const asked = inside(taskId, path ?? (this.settings.sandboxDefaultsToTaskId ? taskId : ''));
    const { found: files, at } = await lookup(taskId, asked, (folder) => sandbox.list(folder));
    return {
      files: (files ?? []).toSorted((a, b) => (a.name < b.name ? -1 : 1)),
      fullPathToRoot: sandbox.root,
      currentDirectory: at,
      slaveHostname: sandbox.slaveHostname,
    };
  }

  async read(taskId: string, choice: ReadChoice, view: SandboxView, caller: string): Promise<FileChunk> {
    const sandbox = await this.sandboxes.open(taskId, view);
    const asked = inside(taskId, choice.path);
    const { found: chunk } = await lookup(taskId, asked, (path) =>
      readChunk(this.withOffset(choice), (offset, length) => sandbox.read(path, offset, length)),
    );
    if (!chunk) throw await this.noSuchFile(sandbox, asked);
    return choice.grep === undefined || chunk.data === ''
      ? chunk
      : { ...chunk, data: await this.lines.search(caller, chunk.data, choice.grep) };
  }

  /** Older clients that follow a file ask for its length by leaving the offset out. */
  private withOffset(choice: ReadChoice): ReadChoice {
    return this.settings.compatibility === '1.5' ? { ...choice, offset: choice.offset ?? -1 } : choice;
  }

  private async noSuchFile(sandbox: OpenSandbox, path: string): Promise<SchedulerError> {
    const { found } = await lookup(sandbox.taskId, path, (folder) => sandbox.list(folder));
    if (found === undefined) return fileNotFound(sandbox.taskId, path);
    const message = `path is a directory: '${path}'`;
    return SchedulerError.invalid('INVALID_PARAMETER', [{ field: 'path', rule: 'file', message }]);
  }
}

function inside(taskId: string, path: string): string {
  const found = sandboxPath(path);
  if (found === undefined) throw fileNotFound(taskId, path);
  return found;
}

/**
 * Finds the file or directory at a path. Clients begin paths with the id of the task, as a directory that not every
 * executor makes: without it, the id stands for the sandbox itself.
 */
async function lookup<Found>(
  taskId: string,
  path: string,
  ask: (path: string) => Promise<Found | undefined>,
): Promise<{ found: Found | undefined; at: string }> {
  const found = await ask(path);
  const [first, ...rest] = path.split('/');
  if (found !== undefined || first !== taskId) return { found, at: path };
  const below = rest.join('/');
  const foundBelow = await ask(below);
  return foundBelow === undefined ? { found, at: path } : { found: foundBelow, at: below };
}

const fileNotFound = (taskId: string, path: string): SchedulerError =>
  new SchedulerError('FILE_NOT_FOUND', `Task '${taskId}' has no file '${path}'`);
