import { spawn, type ChildProcess } from 'node:child_process';
import { constants, open, type FileHandle } from 'node:fs/promises';
import { constants as machine } from 'node:os';
import { join, relative } from 'node:path';
import type { ShellCommandOrder, ShellCommandReport } from '../../cluster/cluster-driver.js';
import { errorCode, messageOf } from '../files.js';
import { cut } from '../outcome.js';
import type { RunAs } from '../run-as.js';
import { killCommand } from './command-processes.js';
import type { CommandRecord } from './command-record.js';
import { outputFileName } from './command-words.js';

/** A command line of any length is told, but not all of it. */
const longestMessage = 1_000;

/** What a command that can be run needs. */
export interface CommandPlan {
  words: string[];
  environment: Record<string, string>;
  /** Where it runs, and where its output goes. */
  folder: string;
  /** The task's. */
  sandboxRoot: string;
  runAs: RunAs | undefined;
  /** Longest run; 0: no limit. */
  timeoutMillis: number;
}

/** Tells one update. Resolves when it is on disk. */
export type Tell = (
  updateType: ShellCommandReport['updateType'],
  message: string,
  outputFilename?: string,
) => Promise<void>;

/** One run of a command, which whoever started it may end before its time. */
export class CommandRun {
  private child: ChildProcess | undefined;
  private isOver = false;
  private killing: Promise<void> | undefined;
  /** Why it was ended before its time. */
  private endedBecause: string | undefined;

  constructor(
    private readonly order: ShellCommandOrder,
    private readonly record: CommandRecord,
    private readonly tell: Tell,
  ) {}

  /** Kills it, or lets it never begin. The first reason counts. */
  end(because: string): void {
    this.endedBecause ??= because;
    this.kill();
  }

  /** From ACKED to its last update but that. Answers how it ended. */
  async execute(plan: CommandPlan): Promise<{ updateType: 'FINISHED' | 'FAILED'; message: string; file?: string }> {
    const path = join(plan.folder, outputFileName(this.order));
    const file = relative(plan.sandboxRoot, path);
    const output = await createOutput(path, plan.runAs);
    try {
      const line = plan.words.join(' ');
      await this.tell('ACKED', cut(line, longestMessage), file);
      await output.appendFile(`${new Date().toISOString()} ${line}\n`);
      const ended = await this.start(plan, output, file);
      if (this.endedBecause !== undefined) return { updateType: 'FAILED', message: this.endedBecause, file };
      return { ...ended, file };
    } finally {
      await output.close();
    }
  }

  private async start(
    plan: CommandPlan,
    output: FileHandle,
    file: string,
  ): Promise<{ updateType: 'FINISHED' | 'FAILED'; message: string }> {
    // Nothing is awaited from this look until the process is there: no end can come in between unseen.
    if (this.endedBecause !== undefined) return { updateType: 'FAILED', message: this.endedBecause };
    const [program = '', ...words] = plan.words;
    const child = spawn(program, words, {
      cwd: plan.folder,
      env: plan.environment,
      // A session of its own: its processes can be told from all others.
      detached: true,
      stdio: ['ignore', output.fd, output.fd],
    });
    this.child = child;
    const gone = whenGone(child);
    const { timeoutMillis } = plan;
    const tooLong = () => this.end(`Killed: it took longer than ${timeoutMillis} ms`);
    const timer = timeoutMillis > 0 ? setTimeout(tooLong, timeoutMillis) : undefined;
    try {
      if (child.pid !== undefined) await this.tell('STARTED', `Process ${child.pid}`, file);
      return await gone;
    } finally {
      clearTimeout(timer);
      this.isOver = true;
      // What it has left behind ends with it.
      this.kill();
      await this.killing;
    }
  }

  private kill(): void {
    const pid = this.child?.pid;
    if (pid === undefined) return;
    // Once the first process has gone, its number may be given to somebody else's session.
    const killed = killCommand(this.record.path, () => (this.isOver ? undefined : pid));
    this.killing = Promise.all([this.killing, killed]).then(() => undefined);
  }
}

/** Never through a link, never into a file that is there: the folder is the task's. */
async function createOutput(path: string, runAs: RunAs | undefined): Promise<FileHandle> {
  const { O_WRONLY, O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  const output = await open(path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW, 0o644);
  if (runAs) await output.chown(runAs.uid, runAs.gid);
  return output;
}

function whenGone(child: ChildProcess): Promise<{ updateType: 'FINISHED' | 'FAILED'; message: string }> {
  return new Promise((resolve) => {
    child.once('error', (cause) => {
      const message = errorCode(cause) === 'ENOENT' ? `There is no program '${child.spawnfile}'` : messageOf(cause);
      resolve({ updateType: 'FAILED', message });
    });
    child.once('exit', (code, signal) => resolve({ updateType: 'FINISHED', message: exitText(code, signal) }));
  });
}

function exitText(code: number | null, signal: NodeJS.Signals | null): string {
  if (signal === null) return `Exit code ${code ?? 0}`;
  const number = machine.signals[signal];
  return `Exit code ${128 + number} (signal ${number})`;
}
