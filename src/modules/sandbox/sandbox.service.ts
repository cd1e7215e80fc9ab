import { Inject, Injectable } from '@nestjs/common';
import type { SandboxEntry, SandboxView } from '../../cluster/cluster-driver.js';
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
    const offset = choice.offset ?? -1;
    const length = choice.length ?? -1;
    const sizeOnly = offset === -1 || length === 0;
    const wanted = length === -1 ? maxChunkBytes : Math.min(length, maxChunkBytes);
    const { found: part } = await lookup(taskId, asked, (path) =>
      sizeOnly ? sandbox.read(path, 0, 0) : sandbox.read(path, offset, wanted),
    );
    if (!part) throw await this.noSuchFile(sandbox, asked);
    if (sizeOnly || offset >= part.size) return { data: '', offset: part.size, nextOffset: part.size };
    const chunk = toFileChunk(part.data, offset);
    return choice.grep === undefined
      ? chunk
      : { ...chunk, data: await this.lines.search(caller, chunk.data, choice.grep) };
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
 * What is at a path, and where. Clients begin paths with the id of the task, as a folder that not every executor makes: without
 * it, the id stands for the sandbox itself.
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

/** A part of a file as text. offset: byte position of its first byte; nextOffset: of the byte after its last one. */
export interface FileChunk {
  data: string;
  offset: number;
  nextOffset: number;
}

const isContinuation = (byte: number): boolean => (byte & 0b1100_0000) === 0b1000_0000;
/** How many bytes a character has that begins with this byte; 1 for bytes that begin none. */
const characterLength = (lead: number): number => (lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1);

/** Bytes at the start that continue a character begun before the chunk. */
function danglingAtStart(bytes: Buffer): number {
  let count = 0;
  while (count < 3 && count < bytes.length && isContinuation(bytes[count]!)) count += 1;
  return count;
}

/** Bytes at the end that begin a character which is not complete yet. */
function danglingAtEnd(bytes: Buffer): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back]!;
    if (isContinuation(byte)) continue;
    return characterLength(byte) > back ? back : 0;
  }
  return 0;
}

// The byte order mark is kept: removing it would make the text shorter than the bytes it stands for.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * Makes valid text of bytes read at an offset of a UTF-8 file. Fragments of characters at both ends are cut, so that
 * reading on at nextOffset gives every character once; other invalid bytes become U+FFFD.
 */
export function toFileChunk(bytes: Buffer, offset: number): FileChunk {
  const start = offset === 0 ? 0 : danglingAtStart(bytes);
  const end = bytes.length - danglingAtEnd(bytes.subarray(start));
  // Nothing but fragments: step over them, or a reader would ask for the same bytes without end.
  if (start >= end) return { data: '', offset: offset + bytes.length, nextOffset: offset + bytes.length };
  return { data: decoder.decode(bytes.subarray(start, end)), offset: offset + start, nextOffset: offset + end };
}
