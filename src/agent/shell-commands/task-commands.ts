import { userInfo } from 'node:os';
import { join, relative } from 'node:path';
import type { ShellCommandOrder } from '../../cluster/cluster-driver.js';
import type { LaunchSpec } from '../../core/model/launch.js';
import type { AgentContext } from '../agent-context.js';
import type { TaskContainer } from '../containers/task-container.js';
import { engineEnvironment } from '../containers/engine.js';
import { messageOf } from '../files.js';
import { sandboxVariable } from '../machine/processes.js';
import type { ShellCommandSetting } from '../../platform/settings/local-settings.js';
import type { RunAs } from '../machine/run-as.js';
import type { Sandbox } from '../sandbox/sandbox-layout.js';
import { existsBelow, openFileBelow } from '../sandbox/below.js';
import { taskEnvironment } from '../shim/command.js';
import type { StatusReports } from '../tasks/status-reports.js';
import type { TaskFolder } from '../tasks/task-folder.js';
import { CommandRecord } from './command-record.js';
import { type CommandPlan, CommandRun, commandVariable, killCommand, type Tell } from './command-run.js';
import { commandWords, findCommand, type InvalidCommand, isInvalid } from './command-words.js';

/** What commands need to know of the task they run in. */
interface CommandedTask {
  spec: LaunchSpec;
  sandbox: Sandbox;
  folder: TaskFolder;
  /** undefined: the agent's own user. */
  runAs: RunAs | undefined;
  reports: StatusReports;
  /** undefined: it does not run (yet, or any more). */
  mainPid(): number | undefined;
  /** It runs in this one. */
  container: TaskContainer | undefined;
}

/** As it is seen from inside. */
const firstInContainer = 1;
const taskEnded = 'The task ended';
const interrupted = 'The agent ended before the command did';

/** The commands that users run in one task. Each is on disk before it begins, and begins once at most. */
export class TaskCommands {
  private readonly running = new Map<string, { run: CommandRun; finished: Promise<void> }>();
  private isClosed = false;
  private hasBegun = false;

  constructor(
    private readonly context: AgentContext,
    private readonly task: CommandedTask,
  ) {}

  /** Resolves when it is on disk. False: the task is ending, and the command will never run. */
  async accept(order: ShellCommandOrder): Promise<boolean> {
    if (this.isClosed) return false;
    this.hasBegun = true;
    const record = CommandRecord.of(this.task.folder, order);
    const run = new CommandRun(order, record, this.tellOf(order));
    const saved = record.save(order);
    const finished = saved
      .then(() => this.carryOut(order, record, run))
      .catch((cause: unknown) => this.noticeFailure(cause))
      .finally(() => this.running.delete(record.path));
    this.running.set(record.path, { run, finished });
    await saved;
    return true;
  }

  /** Whether there may be processes of the task's user that were none of the task's. */
  get hasRunAny(): boolean {
    return this.hasBegun;
  }

  /** One that the agent itself asks for. Resolves when it has ended, however it did. */
  async runToEnd(command: Pick<ShellCommandOrder, 'name' | 'options'>): Promise<void> {
    const order = { ...command, taskId: this.task.spec.taskId, timestamp: Date.now() };
    if (await this.accept(order)) await this.running.get(CommandRecord.of(this.task.folder, order).path)?.finished;
  }

  /** No further one is accepted; those that run are killed. Resolves when what became of them is on disk. */
  async endAll(): Promise<void> {
    this.isClosed = true;
    for (const { run } of this.running.values()) run.end(taskEnded);
    await this.settled();
  }

  /** The agent stops: they are killed, and the next agent tells what became of them. */
  detach(): void {
    this.isClosed = true;
    for (const { run } of this.running.values()) run.end(interrupted);
  }

  async settled(): Promise<void> {
    await Promise.all([...this.running.values()].map(({ finished }) => finished));
  }

  /** Those of an earlier agent: it is not known what became of them, and they are not begun again. */
  async failInterrupted(): Promise<void> {
    for (const record of await CommandRecord.list(this.task.folder)) {
      this.hasBegun = true;
      if (this.running.has(record.path)) continue;
      const { order, ended } = await record.read();
      if (ended) continue;
      await killCommand(record.path, () => undefined);
      await this.tellOf(order)('FAILED', interrupted);
      await record.markEnded(order);
    }
  }

  private async carryOut(order: ShellCommandOrder, record: CommandRecord, run: CommandRun): Promise<void> {
    const tell = this.tellOf(order);
    const { updateType, message, file } = await this.outcome(order, record, run);
    if (this.context.stopping.aborted) return;
    await tell(updateType, message, file);
    await record.markEnded(order);
  }

  private async outcome(
    order: ShellCommandOrder,
    record: CommandRecord,
    run: CommandRun,
  ): Promise<{ updateType: 'INVALID' | 'FINISHED' | 'FAILED'; message: string; file?: string }> {
    try {
      const plan = await this.plan(order, record);
      if (isInvalid(plan)) return { updateType: 'INVALID', message: plan.invalid };
      return await run.execute(plan);
    } catch (cause) {
      return { updateType: 'FAILED', message: messageOf(cause) };
    }
  }

  private async plan(order: ShellCommandOrder, record: CommandRecord): Promise<CommandPlan | InvalidCommand> {
    const { context, task } = this;
    const { settings } = context;
    const mainPid = task.mainPid();
    if (mainPid === undefined) return { invalid: 'The task has no process' };
    const command = findCommand(order, settings.shellCommands);
    if (isInvalid(command)) return command;
    const { runAs } = task;
    const folder = task.sandbox.executor?.folder ?? task.sandbox.root;
    const pid =
      (await taskPid(task.sandbox.root, join(relative(task.sandbox.root, folder), settings.shellCommandPidFile))) ??
      (task.container ? firstInContainer : mainPid);
    if (typeof pid !== 'number') return pid;
    const user = runAs?.name ?? userInfo().username;
    if (task.container) return this.planInContainer(task.container, command, order, { pid, user }, folder, record);
    return {
      words: commandWords(command, order.options, { pid, user }, settings),
      environment: this.environment(folder, record),
      folder,
      sandboxRoot: task.sandbox.root,
      runAs,
      timeoutMillis: settings.shellCommandTimeoutMillis,
    };
  }

  /** The engine's program is the agent's, and has nothing of the task in its environment. */
  private async planInContainer(
    container: TaskContainer,
    command: ShellCommandSetting,
    order: ShellCommandOrder,
    who: { pid: number; user: string },
    folder: string,
    record: CommandRecord,
  ): Promise<CommandPlan | InvalidCommand> {
    const { settings } = this.context;
    if (container.mainPid === undefined) return { invalid: 'The task has no process' };
    const mark = { [commandVariable]: record.path };
    const inside = { TASK_SANDBOX_DIR: settings.containers.sandboxPath, ...mark };
    const exec = await container.execWords(Object.entries(inside).map(([name, value]) => `${name}=${value}`));
    return {
      words: commandWords(command, order.options, who, settings, exec),
      environment: { ...engineEnvironment(), ...mark },
      folder,
      sandboxRoot: this.task.sandbox.root,
      runAs: undefined,
      timeoutMillis: settings.shellCommandTimeoutMillis,
    };
  }

  /** That of the task, except by what its own processes are known: a command is none of them. */
  private environment(folder: string, record: CommandRecord): Record<string, string> {
    const { spec, sandbox, runAs } = this.task;
    const { [sandboxVariable]: _ofTask, ...environment } = taskEnvironment(spec, sandbox, runAs, this.context);
    return { ...environment, TASK_SANDBOX_DIR: folder, [commandVariable]: record.path };
  }

  private tellOf({ name, timestamp }: ShellCommandOrder): Tell {
    return (updateType, message, outputFilename) =>
      this.task.reports.sendCommand({ name, timestamp, updateType, message, outputFilename });
  }

  private noticeFailure(cause: unknown): void {
    const { log, stopping } = this.context;
    if (!stopping.aborted) log.error(`Task ${this.task.spec.taskId}: a command is left to the next agent`, cause);
  }
}

const longestPid = 32;

/** The process that commands are about, where the task itself names one in a file; undefined: it does not. */
async function taskPid(root: string, path: string): Promise<number | undefined | InvalidCommand> {
  if (!(await existsBelow(root, path))) return undefined;
  const opened = await openFileBelow(root, path, 'NONE');
  if (!opened) return { invalid: `${path} is not a file that can be read` };
  try {
    const { buffer, bytesRead } = await opened.handle.read(Buffer.alloc(longestPid), 0, longestPid, 0);
    const text = buffer.toString('latin1', 0, bytesRead).trim();
    return /^[1-9]\d{0,9}$/.test(text) ? Number(text) : { invalid: `${path} does not hold a process id` };
  } finally {
    await opened.handle.close();
  }
}
