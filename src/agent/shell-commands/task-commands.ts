import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type {
  ShellCommandOrder,
  ShellCommandReport,
  TaskCheck,
  TaskCheckAnswer,
} from '../../cluster/cluster-driver.js';
import type { AgentContext } from '../agent-context.js';
import { ensureFolder, messageOf } from '../../platform/files.js';
import { withSignal } from '../../platform/async.js';
import { CommandRecord } from './command-record.js';
import { type CommandPlan, CommandRun, killCommand, taskEnded, type ReportUpdate } from './command-run.js';
import { type InvalidCommand, isInvalid } from './command-words.js';
import { type LineEnd, type LineLimits, runLine } from './line-run.js';

/** The task that commands run in. */
interface CommandedTask {
  taskId: string;
  /** Directory of its control files. */
  directory: { path: string };
  plan(order: ShellCommandOrder, record: CommandRecord): Promise<CommandPlan | InvalidCommand>;
  planLine(line: string, mark: string): Promise<CommandPlan | InvalidCommand>;
  /** Resolves when it is on disk. */
  report(report: ShellCommandReport): Promise<void>;
}

const interrupted = 'The agent ended before the command did';
const tooOld = 'It came after so many newer commands that it may have run before';

/** The commands that users run in one task. Each is on disk before it begins, and begins once at most. */
export class TaskCommands {
  private readonly running = new Map<string, { run: CommandRun; finished: Promise<void> }>();
  private readonly lines = new Set<Promise<LineEnd>>();
  private readonly closing = new AbortController();
  private isClosed = false;
  private hasBegun = false;

  constructor(
    private readonly context: Pick<AgentContext, 'log' | 'stopping'>,
    private readonly task: CommandedTask,
  ) {}

  /** Resolves when it is on disk. False: the task is ending, and the command will never run. */
  async accept(order: ShellCommandOrder): Promise<boolean> {
    if (this.isClosed) return false;
    this.hasBegun = true;
    const record = CommandRecord.of(this.task.directory, order);
    const run = new CommandRun(order, record, this.reporterOf(order));
    const saved = record.save(order);
    const finished = saved
      .then(() => this.carryOut(order, record, run))
      .catch((cause: unknown) => this.noticeFailure(cause))
      .finally(() => this.running.delete(record.path));
    this.running.set(record.path, { run, finished });
    await saved;
    return true;
  }

  /** True when there may be processes of the task's user that were none of the task's. */
  get hasRunAny(): boolean {
    return this.hasBegun;
  }

  /** One that the agent itself asks for. Resolves when it has ended, however it did. */
  async runToEnd(command: Pick<ShellCommandOrder, 'name' | 'options'>): Promise<void> {
    const order = { ...command, taskId: this.task.taskId, timestamp: Date.now() };
    if (await this.accept(order)) await this.running.get(CommandRecord.of(this.task.directory, order).path)?.finished;
  }

  /** A line of its deploy, of which nothing is kept. It ends with the task, and when `signal` says so. */
  async runLine(line: string, limits: LineLimits, signal?: AbortSignal): Promise<LineEnd> {
    if (this.isClosed) return { kind: 'failed', reason: taskEnded };
    this.hasBegun = true;
    const mark = await this.newMark();
    const plan = await this.task.planLine(line, mark);
    if (isInvalid(plan)) return { kind: 'failed', reason: plan.invalid };
    const end = withSignal([signal, this.closing.signal], (stop) => runLine(plan, mark, limits, stop));
    this.lines.add(end);
    return end.finally(() => this.lines.delete(end));
  }

  /** Answers how the command of a check has ended. */
  async check({ command, ...limits }: TaskCheck): Promise<TaskCheckAnswer> {
    const end = await this.runLine(command, limits);
    return end.kind === 'ended'
      ? { outcome: 'ENDED', exitCode: end.exitCode, output: end.output }
      : { outcome: 'FAILED', reason: end.reason };
  }

  private async newMark(): Promise<string> {
    const directory = join(this.task.directory.path, 'commands');
    await ensureFolder(directory, 0o700);
    return join(directory, `line-${randomUUID()}`);
  }

  /** No further one is accepted; those that run are killed. Resolves when what became of them is on disk. */
  async endAll(): Promise<void> {
    this.close();
    for (const { run } of this.running.values()) run.end(taskEnded);
    await this.settled();
    await Promise.all(this.lines);
  }

  /** The agent stops: they are killed, and the next agent tells what became of them. */
  detach(): void {
    this.close();
    for (const { run } of this.running.values()) run.end(interrupted);
  }

  private close(): void {
    this.isClosed = true;
    this.closing.abort();
  }

  async settled(): Promise<void> {
    await Promise.all([...this.running.values()].map(({ finished }) => finished));
  }

  /** Fails the commands of an earlier agent: their results are unknown, and they are not begun again. */
  async failInterrupted(): Promise<void> {
    for (const record of await CommandRecord.list(this.task.directory)) {
      this.hasBegun = true;
      if (this.running.has(record.path)) continue;
      const { order, ended } = await record.read();
      if (ended) continue;
      await killCommand(record.path, () => undefined);
      await this.reporterOf(order)('FAILED', interrupted);
      await record.markEnded(order);
    }
    await CommandRecord.removeOld(this.task.directory);
  }

  private async carryOut(order: ShellCommandOrder, record: CommandRecord, run: CommandRun): Promise<void> {
    const report = this.reporterOf(order);
    const { updateType, message, file } = await this.outcome(order, record, run);
    if (this.context.stopping.aborted) return;
    await report(updateType, message, file);
    await record.markEnded(order);
    await CommandRecord.removeOld(this.task.directory);
  }

  private async outcome(
    order: ShellCommandOrder,
    record: CommandRecord,
    run: CommandRun,
  ): Promise<{ updateType: 'INVALID' | 'FINISHED' | 'FAILED'; message: string; file?: string }> {
    try {
      const plan = await this.task.plan(order, record);
      if (isInvalid(plan)) return { updateType: 'INVALID', message: plan.invalid };
      if (await record.isTooOld()) return { updateType: 'INVALID', message: tooOld };
      return await run.execute(plan);
    } catch (cause) {
      return { updateType: 'FAILED', message: messageOf(cause) };
    }
  }

  private reporterOf({ name, timestamp }: ShellCommandOrder): ReportUpdate {
    return (updateType, message, outputFilename) =>
      this.task.report({ name, timestamp, updateType, message, outputFilename });
  }

  private noticeFailure(cause: unknown): void {
    const { log, stopping } = this.context;
    if (!stopping.aborted) log.error(`Task ${this.task.taskId}: a command is left to the next agent`, cause);
  }
}
