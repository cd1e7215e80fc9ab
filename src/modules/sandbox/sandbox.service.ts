import { Inject, Injectable } from '@nestjs/common';
import type { SandboxEntry } from '../../cluster/cluster-driver.js';
import { SchedulerError } from '../../platform/errors.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { toFileChunk, type FileChunk } from './file-chunk.js';
import { grepLines } from './grep.js';
import { sandboxPath } from './sandbox-path.js';
import { TaskSandboxes, type OpenSandbox } from './task-sandboxes.service.js';

/** One folder of a task. A file's path on the machine is fullPathToRoot/currentDirectory/name. */
export interface SandboxListing {
  files: SandboxEntry[];
  fullPathToRoot: string;
  currentDirectory: string;
  slaveHostname: string;
}

export interface ReadChoice {
  path: string;
  /** Absent or -1: only say how long the file is. */
  offset?: number;
  /** Absent or -1: to the end. */
  length?: number;
  /** Keep only lines that match this regular expression. */
  grep?: string;
}

/** Most bytes of one read; more has to be asked for again. */
const maxChunkBytes = 65_536;

/** Looks into the files of tasks. */
@Injectable()
export class SandboxService {
  constructor(
    private readonly sandboxes: TaskSandboxes,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** A folder that is not there is empty: clients ask for the logs of tasks that have not begun to write any. */
  async browse(taskId: string, path?: string): Promise<SandboxListing> {
    const sandbox = await this.sandboxes.open(taskId);
    const currentDirectory = inside(taskId, path ?? (this.settings.sandboxDefaultsToTaskId ? taskId : ''));
    const files = (await sandbox.list(currentDirectory)) ?? [];
    return {
      files: files.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
      fullPathToRoot: sandbox.root,
      currentDirectory,
      slaveHostname: sandbox.slaveHostname,
    };
  }

  async read(taskId: string, choice: ReadChoice): Promise<FileChunk> {
    const sandbox = await this.sandboxes.open(taskId);
    const path = inside(taskId, choice.path);
    const offset = choice.offset ?? -1;
    const length = choice.length ?? -1;
    const sizeOnly = offset === -1 || length === 0;
    const wanted = length === -1 ? maxChunkBytes : Math.min(length, maxChunkBytes);
    const part = sizeOnly ? await sandbox.read(path, 0, 0) : await sandbox.read(path, offset, wanted);
    if (!part) throw await this.noSuchFile(sandbox, path);
    if (sizeOnly || offset >= part.size) return { data: '', offset: part.size, nextOffset: part.size };
    const chunk = toFileChunk(part.data, offset);
    return choice.grep === undefined ? chunk : { ...chunk, data: grepLines(chunk.data, choice.grep) };
  }

  private async noSuchFile(sandbox: OpenSandbox, path: string): Promise<SchedulerError> {
    if ((await sandbox.list(path)) === undefined) return fileNotFound(sandbox.taskId, path);
    const message = `path is a directory: '${path}'`;
    return SchedulerError.invalid('INVALID_PARAMETER', [{ field: 'path', rule: 'file', message }]);
  }
}

function inside(taskId: string, path: string): string {
  const found = sandboxPath(path);
  if (found === undefined) throw fileNotFound(taskId, path);
  return found;
}

const fileNotFound = (taskId: string, path: string): SchedulerError =>
  new SchedulerError('FILE_NOT_FOUND', `Task '${taskId}' has no file '${path}'`);
