import { setTimeout as delay } from 'node:timers/promises';
import type { TaskIdHistory } from 'muster-client';
import { CliError, exitCodes } from '../exit-codes.js';
import { plain, terminalLog } from '../../core/terminal-text.js';
import { isMissing, isRefusal } from '../remote/refusal.js';
import { remote, type Session } from '../remote/session.js';
import { type Define, examples } from '../run.js';
import { wholeNumber } from '../words.js';
import { taskOf } from './change.js';
import { isTask } from './history.js';

export const sandbox: Record<string, Define> = { logs, ls, cat, shell };

interface LogsFlags {
  follow?: boolean;
  stderr?: boolean;
  file?: string;
  lines?: string;
  instance?: string;
  runId?: string;
  raw?: boolean;
}

const lookEveryMillis = 250;
const lookForTasksEveryMillis = 2_000;
const colours = ['cyan', 'magenta', 'yellow', 'green', 'blue'] as const;

function logs(...[command, run]: Parameters<Define>): void {
  command
    .argument('<what...>', 'ids of tasks, or of requests for all their tasks')
    .option('-f, --follow', 'follow the output, also of new tasks of the requests')
    .option('--stderr', 'show stderr instead of stdout')
    .option('--file <path>', 'show another file of the sandbox')
    .option('-n, --lines <number>', 'only this many lines at the end of each file')
    .option('--instance <number>', 'only this instance of the requests')
    .option('--run-id <id>', 'only the task of this run, running or ended')
    .option('--raw', 'print all bytes on a terminal, even those that control it');
  examples(
    command,
    'muster logs web',
    'muster logs web --instance 2 -n 20',
    'muster logs web worker -f',
    'muster logs greet --stderr',
    'muster logs greet --run-id nightly-1',
  );
  remote<LogsFlags, [string[]]>(command, run, async (session, flags, what) => {
    const path = flags.file ?? (flags.stderr ? 'stderr' : 'stdout');
    const lines = flags.lines === undefined ? undefined : wholeNumber('--lines', flags.lines, 0, 100_000);
    const { look, hasRequests } = await sourcesOf(session, what, flags);
    const known = new Map<string, Source>();
    const printing: Promise<void>[] = [];
    const lookForTasks = async (): Promise<void> => {
      const fresh = (await look()).filter(({ taskId }) => !known.has(taskId.id));
      const isMany = known.size + fresh.length > 1 || (flags.follow === true && hasRequests);
      for (const { taskId } of fresh) {
        const name = `${taskId.requestId}.${taskId.instanceNo}`;
        const colour = colours[known.size % colours.length]!;
        const source = { taskId: taskId.id, name, colour, path, lines, rest: '' };
        known.set(taskId.id, source);
        const printed = print(session, source, isMany, flags);
        // Side by side as they come, or one after the other.
        if (flags.follow) printing.push(printed);
        else await printed;
      }
    };
    await lookForTasks();
    if (known.size === 0 && !flags.follow) {
      const run = flags.runId === undefined ? '' : ` of run ${flags.runId} yet`;
      throw new CliError('notFound', `${what.join(', ')}: there is no task${run} to show`);
    }
    // Followed are requests until Ctrl-C; tasks, and the task of a run, until they have ended.
    const isOver = () => flags.runId !== undefined && known.size > 0;
    while (flags.follow && hasRequests && !isOver()) {
      const pause = delay(lookForTasksEveryMillis);
      // One that cannot be read ends all of it at once.
      await Promise.race([pause, Promise.all(printing).then(() => pause)]);
      await lookForTasks();
    }
    await Promise.all(printing);
    return exitCodes.done;
  });
}

interface Source {
  taskId: string;
  name: string;
  colour: (typeof colours)[number];
  path: string;
  lines: number | undefined;
  /** A line that has not ended yet, where several are shown side by side. */
  rest: string;
}

/** Tasks by their ids; of a request those that run, or, where none does, the last one that ran; of a run its newest task. */
async function sourcesOf({ api, out }: Session, what: readonly string[], { instance, runId }: LogsFlags) {
  const wanted = instance === undefined ? undefined : wholeNumber('--instance', instance, 1, 1_000_000);
  const areTasks = await Promise.all(what.map((each) => isTask(api, each)));
  const ids = what.filter((_each, index) => areTasks[index]);
  const requests = what.filter((_each, index) => !areTasks[index]);
  for (const requestId of runId === undefined ? requests : []) {
    const [last] = await api.history.tasksOfRequest({ requestId, count: 1 });
    // Removed ones have a history still.
    if (!last) await api.requests.simple({ requestId });
  }
  const tasks = await Promise.all(
    ids.map(async (taskId) => ({ taskId: (await api.history.task({ taskId })).task.taskId })),
  );
  const told = new Set<string>();
  const lastTask = async (requestId: string): Promise<TaskIdHistory[]> => {
    const ended = await api.history.tasksOfRequest({ requestId, count: 1 });
    for (const { taskId, runId: run } of ended) {
      // Many may have run: it is said which one this is, and how another is named.
      if (!told.has(taskId.id) && run !== undefined)
        out.note(`${requestId}: no task is running; this is the last one, of run ${run} (--run-id <id> shows another)`);
      told.add(taskId.id);
    }
    return ended;
  };
  const look = async (): Promise<Pick<TaskIdHistory, 'taskId'>[]> => {
    const found: Pick<TaskIdHistory, 'taskId'>[] = [...tasks];
    for (const requestId of requests) {
      if (runId !== undefined) {
        const { taskId } = await api.track.run({ requestId, runId });
        if (taskId) found.push({ taskId });
        continue;
      }
      const active = await api.history.activeTasksOfRequest({ requestId });
      const shown = active.length > 0 ? active : await lastTask(requestId);
      found.push(...shown.filter(({ taskId }) => wanted === undefined || taskId.instanceNo === wanted));
    }
    return found.sort((a, b) => a.taskId.instanceNo - b.taskId.instanceNo);
  };
  return { look, hasRequests: requests.length > 0 };
}

async function print(session: Session, source: Source, isMany: boolean, { raw, follow = false, file }: LogsFlags) {
  const { api, out } = session;
  const { taskId, path, lines } = source;
  const { tailLog } = await import('muster-client');
  try {
    for await (const piece of tailLog(api, { taskId, path, lines, follow })) {
      if (out.isJson || isMany) {
        const all = (source.rest + piece).split('\n');
        source.rest = all.pop()!;
        for (const line of all) printLine(session, source, line);
      } else out.log(piece, { raw });
    }
  } catch (cause) {
    // A task that has just been launched has printed nothing yet.
    const isYetToCome = isMissing(cause) || (isRefusal(cause) && cause.code === 'SANDBOX_NOT_READY');
    if (!isYetToCome || file !== undefined) throw cause;
  }
  if (source.rest !== '') printLine(session, source, source.rest);
}

function printLine({ out }: Session, { taskId, name, colour }: Source, line: string): void {
  out.each({ taskId, line }, () => {
    // Beside other tasks no line may reach beyond its own.
    const shown = out.isTerminal ? terminalLog(line).replaceAll('\n', ' ') : line;
    return `${out.paint(colour, plain(name))} ${shown}`;
  });
}

const instanceOption = ['--instance <number>', 'instance of the request'] as const;

function ls(...[command, run]: Parameters<Define>): void {
  command
    .argument('<task>', 'id of a task or a request')
    .argument('[path]', 'directory in the sandbox', '')
    .option(...instanceOption);
  examples(command, 'muster ls web --instance 1', 'muster ls web --instance 1 logs', 'muster ls greet');
  remote<{ instance?: string }, [string, string]>(command, run, async ({ api, out }, { instance }, id, path) => {
    const taskId = await anyTaskOf(api, id, instance);
    const folder = await api.sandbox.browse({ taskId, path });
    await out.answer(folder, () =>
      out.table(
        ['MODE', 'SIZE', 'CHANGED', 'NAME'],
        folder.files.map(({ mode, size, mtime, name }) => [mode, size, new Date(mtime * 1_000).toISOString(), name]),
      ),
    );
  });
}

function cat(...[command, run]: Parameters<Define>): void {
  command
    .argument('<task>', 'id of a task or a request')
    .argument('<path>', 'path of a file in the sandbox')
    .option(...instanceOption)
    .option('--raw', 'print all bytes on a terminal, even those that control it');
  examples(command, 'muster cat web stdout --instance 1', 'muster cat greet stdout > greeting.txt');
  remote<{ instance?: string; raw?: boolean }, [string, string]>(command, run, async (session, flags, id, path) => {
    const { api, out } = session;
    const taskId = await anyTaskOf(api, id, flags.instance);
    const { fullPathToRoot, slaveHostname } = await api.sandbox.browse({ taskId, path: '' });
    const bytes = await api.tasks.download({ slaveHostname, path: `${fullPathToRoot}/${path}` });
    for await (const piece of bytes) out.log(piece, flags);
  });
}

/** One that runs, or else the last one that did. */
async function anyTaskOf(api: Session['api'], id: string, instance: string | undefined): Promise<string> {
  try {
    return await taskOf(api, id, instance);
  } catch (cause) {
    if (!(cause instanceof CliError) || cause.outcome !== 'notFound') throw cause;
    const found = await api.history.tasksOfRequest({ requestId: id, count: instance === undefined ? 1 : 100 });
    const wanted = found.find(({ taskId }) => instance === undefined || taskId.instanceNo === Number(instance));
    if (!wanted) throw cause;
    return wanted.taskId.id;
  }
}

function shell(...[command, run]: Parameters<Define>): void {
  command
    .argument('<task>', 'id of a task or a request')
    .argument('<name>', 'of the command, as the settings of the service have it')
    .argument('[options...]', 'options of the command; write -- before the first that begins with -')
    .option(...instanceOption);
  examples(command, 'muster shell web jstack --instance 1');
  remote<{ instance?: string }, [string, string, string[]]>(command, run, async (session, flags, id, name, options) => {
    const { api, out } = session;
    const taskId = await taskOf(api, id, flags.instance);
    const { timestamp } = await api.tasks.runShellCommand({
      taskId,
      body: { name, ...(options.length > 0 && { options }) },
    });
    for (;;) {
      const updates = await api.tasks.shellCommandUpdates({ taskId, commandName: name, commandTimestamp: timestamp });
      const last = updates.find(({ updateType }) => /^(FINISHED|FAILED|INVALID)$/.test(updateType));
      if (!last) {
        await delay(lookEveryMillis);
        continue;
      }
      const file = updates.find(({ outputFilename }) => outputFilename !== undefined)?.outputFilename;
      if (out.isJson) await out.answer(updates, () => undefined);
      else if (file !== undefined) {
        const { tailLog } = await import('muster-client');
        for await (const text of tailLog(api, { taskId, path: file, follow: false })) out.log(text);
      }
      if (last.updateType !== 'FINISHED')
        throw new CliError('badEnd', `${name}: ${last.updateType}: ${last.message ?? ''}`);
      return exitCodes.done;
    }
  });
}
