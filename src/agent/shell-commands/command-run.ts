import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import { existsSync } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { constants as machine } from 'node:os';
import { join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ShellCommandOrder, ShellCommandReport } from '../../cluster/cluster-driver.js';
import { backOffMillis } from '../../core/back-off.js';
import { errorCode, messageOf, cut } from '../../platform/files.js';
import type { ProcessStat } from '../processes/process-identity.js';
import { allProcesses, signal, variableOf } from '../processes/processes.js';
import { cleanEnvironment, type RunAs } from '../processes/run-as.js';
import { createFileBelow, openDirectoryBelow, pathOf } from '../sandbox/below.js';
import { beyondShells, launcherScript, launcherWords, writeForUser } from '../shim/launcher.js';
import type { CommandRecord } from './command-record.js';
import { outputFileName } from './command-words.js';

/** A command line of any length is told, but not all of it. */
const longestMessage = 1_000;

/** Plan of a command that can be run. */
export interface CommandPlan {
  words: string[];
  environment: Record<string, string>;
  /** Directory in which it runs and writes its output. */
  directory: string;
  /**
   * Path of that directory where the words of `runAs` lead, with other files than here. Absent: they lead nowhere else.
   */
  inside?: string;
  /** The task's. */
  sandboxRoot: string;
  /** undefined: the agent's own user. */
  runAs: RunAs | undefined;
  /** The shell that becomes the command, where its user has to change first. */
  shell: string;
  /** Longest run; 0: no limit. */
  timeoutMillis: number;
  /**
   * True if the end of the command by SIGKILL was the end of the task, with which it went. Absent: it outlives the
   * task's processes.
   */
  isTaskOver?(): Promise<boolean>;
}

/** Reason of the failure of a command that ended with its task. */
export const taskEnded = 'The task ended';

/** Tells one update. Resolves when it is on disk. */
export type ReportUpdate = (
  updateType: ShellCommandReport['updateType'],
  message: string,
  outputFilename?: string,
) => Promise<void>;

/** One run of a command, which its caller may end early. */
export class CommandRun {
  private child: ChildProcess | undefined;
  private isOver = false;
  private killing: Promise<void> | undefined;
  /** Reason why it was ended before its time. */
  private endedBecause: string | undefined;

  constructor(
    private readonly order: ShellCommandOrder,
    private readonly record: CommandRecord,
    private readonly report: ReportUpdate,
  ) {}

  /** Kills it, or lets it never begin. The first reason counts. */
  end(because: string): void {
    this.endedBecause ??= because;
    this.kill();
  }

  /** From ACKED to its last update but that. Answers how it ended. */
  async execute(plan: CommandPlan): Promise<{ updateType: 'FINISHED' | 'FAILED'; message: string; file?: string }> {
    const file = relative(plan.sandboxRoot, join(plan.directory, outputFileName(this.order)));
    const directory = await openDirectoryBelow(plan.sandboxRoot, relative(plan.sandboxRoot, plan.directory), 'NONE');
    if (!directory) return { updateType: 'FAILED', message: 'The folder of the task is gone' };
    try {
      const launcher = plan.runAs && (await openLauncher(`${this.record.path}.launcher`, plan, plan.runAs));
      try {
        return await this.executeIn({ directory: directory.handle, launcher }, plan, file);
      } finally {
        await launcher?.close();
      }
    } finally {
      await directory.handle.close();
    }
  }

  private async executeIn(open: OpenFiles, plan: CommandPlan, file: string): ReturnType<CommandRun['execute']> {
    const output = await createFileBelow(plan.sandboxRoot, file, 0o644);
    try {
      const line = plan.words.join(' ');
      await this.report('ACKED', cut(line, longestMessage), file);
      await output.appendFile(`${new Date().toISOString()} ${line}\n`);
      const { isKilled, ...ended } = await this.start(plan, open, output, file);
      if (this.endedBecause === undefined && isKilled && (await plan.isTaskOver?.())) this.endedBecause = taskEnded;
      if (this.endedBecause !== undefined) return { updateType: 'FAILED', message: this.endedBecause, file };
      return { ...ended, file };
    } finally {
      await output.close();
    }
  }

  private async start(plan: CommandPlan, open: OpenFiles, output: FileHandle, file: string): Promise<CommandEnd> {
    // Nothing is awaited from this look until the process is there: no end can come in between unseen.
    if (this.endedBecause !== undefined) return { updateType: 'FAILED', message: this.endedBecause };
    const missing = missingProgram(plan);
    if (missing !== undefined) return { updateType: 'FAILED', message: noProgram(missing) };
    const child = spawnCommand(plan, open, output.fd);
    this.child = child;
    const gone = whenGone(child);
    const { timeoutMillis } = plan;
    const tooLong = () => this.end(`Killed: it took longer than ${timeoutMillis} ms`);
    const timer = timeoutMillis > 0 ? setTimeout(tooLong, timeoutMillis) : undefined;
    try {
      if (child.pid !== undefined) await this.report('STARTED', `Process ${child.pid}`, file);
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
    // Once the first process has gone, its number may be given to another session.
    const killed = killCommand(this.record.path, () => (this.isOver ? undefined : pid));
    this.killing = Promise.all([this.killing, killed]).then(() => undefined);
  }
}

/** `isKilled`: by SIGKILL. */
interface CommandEnd {
  updateType: 'FINISHED' | 'FAILED';
  message: string;
  isKilled?: boolean;
}

/**
 * Open files that a command is started with: its directory, and its launcher if it gets another user than the agent's.
 */
interface OpenFiles {
  directory: FileHandle;
  launcher: FileHandle | undefined;
}

/** In a session of its own: its processes can be told from all others. */
export function spawnCommand(
  plan: CommandPlan,
  { directory, launcher }: OpenFiles,
  output: number | 'pipe',
): ChildProcess {
  const stdio: StdioOptions = ['ignore', output, output];
  const [program = '', ...words] = plan.words;
  const cwd = pathOf(directory);
  if (!launcher) return spawn(program, words, { cwd, env: plan.environment, detached: true, stdio });
  // Until the user has changed there is nothing of the task in the environment that could mean anything to a program.
  const { [commandVariable]: mark } = plan.environment;
  const [first = '', ...others] = [
    ...(plan.runAs?.prefix ?? []),
    ...launcherWords(plan.shell),
    plan.inside ?? '.',
    '',
    '',
    ...plan.words,
  ];
  return spawn(first, others, {
    cwd,
    env: { ...beyondShells(plan.environment), ...cleanEnvironment, [commandVariable]: mark },
    detached: true,
    stdio: [...stdio, launcher.fd],
  });
}

const noProgram = (program: string): string => `There is no program '${program}'`;

/** Finds a missing program beforehand: the program that changes the user would only report an exit with 127. */
const missingProgram = ({ words: [program = ''], inside }: CommandPlan): string | undefined =>
  inside === undefined && program.includes('/') && !existsSync(program) ? program : undefined;

/** Removed at once: it is needed as an open file only. */
export async function openLauncher(path: string, { environment }: CommandPlan, runAs: RunAs): Promise<FileHandle> {
  writeForUser(path, launcherScript(environment, 'AS_THEY_ARE'), runAs);
  try {
    return await open(path, 'r');
  } finally {
    await rm(path);
  }
}

function whenGone(child: ChildProcess): Promise<CommandEnd> {
  return new Promise((resolve) => {
    child.once('error', (cause) => {
      const message = errorCode(cause) === 'ENOENT' ? noProgram(child.spawnfile) : messageOf(cause);
      resolve({ updateType: 'FAILED', message });
    });
    child.once('exit', (code, signal) =>
      resolve({ updateType: 'FINISHED', message: exitText(code, signal), isKilled: signal === 'SIGKILL' }),
    );
  });
}

function exitText(code: number | null, signal: NodeJS.Signals | null): string {
  if (signal === null) return `Exit code ${code ?? 0}`;
  const number = machine.signals[signal];
  return `Exit code ${128 + number} (signal ${number})`;
}

/** Name of the variable by which the processes of a command are known: the path of its record. */
export const commandVariable = 'CLUSTER_COMMAND';

const firstPauseMillis = 2;
const lastPauseMillis = 100;

/** A process that SIGKILL does not end hangs in the kernel. */
const giveUpAfterMillis = 30_000;

/** The live processes of a command. `session`: the number of its session while that is known to be its own. */
const processesOf = (mark: string, session: number | undefined): ProcessStat[] =>
  allProcesses().filter(
    (found) =>
      found.session === session || (found.pid !== process.pid && variableOf(found.pid, commandVariable) === mark),
  );

/** SIGKILL until nothing is left. */
export async function killCommand(mark: string, session: () => number | undefined): Promise<void> {
  const begun = performance.now();
  for (let checks = 1; ; checks++) {
    const left = processesOf(mark, session());
    if (left.length === 0 || performance.now() > begun + giveUpAfterMillis) return;
    for (const found of left) signal(found, 'SIGKILL');
    await delay(backOffMillis(checks, firstPauseMillis, lastPauseMillis));
  }
}
