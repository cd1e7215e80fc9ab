import { Inject, Injectable, Logger } from '@nestjs/common';
import { toFileChunk } from '../../core/files/file-chunk.js';
import type { LogTail } from '../../core/mail/index.js';
import type { Request } from '../../core/model/request.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { LineSearch } from '../sandbox/line-search.service.js';
import { sandboxPath, TaskSandboxes, type OpenSandbox } from '../sandbox/task-sandboxes.service.js';

/** As callers of the API have one: all searches for mails take turns with those of each of them. */
const searcher = 'mails';
/** Prefix that some executors put before the name of a log once its task has ended. */
const whenFinished = 'tail_of_finished_';

type Expression = Pick<Request, 'taskLogErrorRegex' | 'taskLogErrorRegexCaseSensitive'>;

/** Reads the ends of logs from the sandboxes of tasks: as callers of the API do, without what was written for a task's start. */
@Injectable()
export class LogTails {
  private readonly log = new Logger(LogTails.name);

  constructor(
    private readonly sandboxes: TaskSandboxes,
    private readonly lines: LineSearch,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** One for each file that mails show, in their order. Never fails: what cannot be read is not available. */
  async read(taskId: string, request: Expression): Promise<LogTail[]> {
    const { taskEmailTailFiles = [] } = this.settings.smtp ?? {};
    const files = taskEmailTailFiles.map((name) => name.replaceAll(/\$(?:MESOS_)?TASK_ID\b/g, () => taskId));
    if (files.length === 0) return [];
    const unavailable = (file: string): LogTail => ({ file, text: undefined, isAtError: false });
    let sandbox: OpenSandbox;
    try {
      sandbox = await this.sandboxes.open(taskId, 'OF_TASK');
    } catch (cause) {
      this.log.debug(`The files of task '${taskId}' cannot be read for a mail: ${String(cause)}`);
      return files.map(unavailable);
    }
    return Promise.all(
      files.map(async (file) => {
        try {
          return (await this.tail(sandbox, file, request)) ?? unavailable(file);
        } catch (cause) {
          this.log.debug(`'${file}' of task '${taskId}' cannot be read for a mail: ${String(cause)}`);
          return unavailable(file);
        }
      }),
    );
  }

  private async tail(sandbox: OpenSandbox, file: string, request: Expression): Promise<LogTail | undefined> {
    for (const name of [file, besides(file)]) {
      const path = sandboxPath(name);
      const found = path === undefined || path === '' ? undefined : await this.tailOf(sandbox, path, request);
      if (found) return { file: name, ...found };
    }
    return undefined;
  }

  private async tailOf(
    sandbox: OpenSandbox,
    path: string,
    request: Expression,
  ): Promise<Pick<LogTail, 'text' | 'isAtError'> | undefined> {
    const most = this.settings.smtp!.taskLogLength;
    const known = await sandbox.read(path, 0, 0);
    if (!known) return undefined;
    const error = await this.firstError(sandbox, path, request);
    const offset = error ?? Math.max(0, known.size - most);
    const part = await sandbox.read(path, offset, most);
    if (!part) return undefined;
    const bytes = part.data.subarray(0, most);
    // A character that the offset cuts in two is left out; of an error the offset is its first byte.
    return { text: toFileChunk(bytes, error === undefined ? offset : 0).data, isAtError: error !== undefined };
  }

  /** Byte at which the first match begins. */
  private async firstError(sandbox: OpenSandbox, path: string, request: Expression): Promise<number | undefined> {
    const { smtp } = this.settings;
    const expression = request.taskLogErrorRegex ?? smtp!.taskLogErrorRegex;
    if (!expression) return undefined;
    const heedsCase = request.taskLogErrorRegexCaseSensitive ?? smtp!.taskLogErrorRegexCaseSensitive;
    const part = await sandbox.read(path, 0, smtp!.maxTaskLogSearchOffset);
    if (!part) return undefined;
    // Byte for byte, so that places in the text are places in the file; what is looked for is put the same way.
    const text = part.data.subarray(0, smtp!.maxTaskLogSearchOffset).toString('latin1');
    const bytes = Buffer.from(heedsCase ? expression : `(?i)${expression}`).toString('latin1');
    return this.lines.findFirst(searcher, text, bytes);
  }
}

const besides = (file: string): string => file.replace(/[^/]+$/, (name) => `${whenFinished}${name}`);
