import type { EndedRun, RunNowRequest, SchedulerTaskState } from 'muster-client';
import { beyondTasks, CliError, exitCodes } from '../exit-codes.js';
import { remote, type Session } from '../remote/session.js';
import { type Define, examples } from '../run.js';
import { timeMillis } from '../words.js';

export const runJob: Record<string, Define> = { run: define };

interface Flags {
  detach?: boolean;
  quiet?: boolean;
  killOnInterrupt?: boolean;
  runId?: string;
  attach?: boolean;
  message?: string;
  env?: string[];
  at?: string;
  json?: boolean;
}

function define(...[command, run]: Parameters<Define>): void {
  command
    .argument('<request>', 'an ON_DEMAND job, or a SCHEDULED job to run now')
    .argument('[arguments...]', 'added to the arguments of the deploy; write -- before the first that begins with -')
    .option('-d, --detach', 'print the id of the run, and do not wait')
    .option('-q, --quiet', 'do not print the output of the task')
    .option('--kill-on-interrupt', 'kill the task on Ctrl-C; by default it continues')
    .option('--run-id <id>', 'id of this run, which no earlier run of the request may have')
    .option('--attach', 'with --run-id: if that run exists, wait for it and start no other')
    .option('--env <NAME=value...>', 'variables that add to or replace those of the deploy')
    .option('--at <time>', 'start time, such as 2026-01-31T12:00:00Z; default: now')
    .option('-m, --message <text>', 'reason, kept in the history');
  command.addHelpText(
    'after',
    `\nExits with the exit code of the task. Without a task: a code of docs/cli.md plus ${beyondTasks},` +
      ` such as ${beyondTasks + exitCodes.notFound} for an unknown request.`,
  );
  examples(
    command,
    'muster run greet Ada Grace',
    'muster run greet --detach --run-id nightly-1 -- --loud Ada',
    'muster run greet --run-id nightly-1 --attach',
  );
  remote<Flags, [string, string[]]>(command, run, async (session, flags, requestId, words) => {
    const { attach = false, runId } = flags;
    if (attach && runId === undefined) throw new CliError('usage', '--attach needs the --run-id of the run');
    const asked: RunNowRequest = {
      ...(runId !== undefined && { runId }),
      ...(words.length > 0 && { commandLineArgs: words }),
      ...(flags.message !== undefined && { message: flags.message }),
      ...(flags.env && { envOverrides: variables(flags.env) }),
      ...(flags.at !== undefined && { runAt: timeMillis('--at', flags.at) }),
    };
    const { startRun } = await import('muster-client');
    const started = await startRun(session.api, { requestId, ...asked }, { attach });
    if (started.attached) session.out.note(`${requestId}: there is a run ${started.runId}, and no other was started`);
    if (flags.detach) return session.out.answer(started, () => started.runId);
    const { runId: name, askedAt } = started;
    return attend(session, { requestId, runId: name, ...(askedAt !== undefined && { askedAt }) }, flags);
  });
}

function variables(given: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    given.map((text) => {
      const at = text.indexOf('=');
      if (at < 1) throw new CliError('usage', `--env must be NAME=value, not '${text}'`);
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}

/** Until then a wait is not worth a word. */
const patienceMillis = 3_000;

interface Key {
  requestId: string;
  runId: string;
  askedAt?: number;
}

/** Prints what the task prints until it has ended, and answers its exit code. */
async function attend(session: Session, key: Key, flags: Flags): Promise<number> {
  const { api, out } = session;
  const { endOfRun, watchRun } = await import('muster-client');
  const interrupt = new AbortController();
  const stop = (): void => {
    // The second one does not wait for anything.
    if (interrupt.signal.aborted) process.exit(exitCodes.interrupted);
    interrupt.abort();
  };
  process.on('SIGINT', stop).on('SIGTERM', stop);
  const ended = new AbortController();
  const logs = new Map<string, Promise<unknown>>();
  let state: SchedulerTaskState | undefined;
  const word = setTimeout(() => void tellWhyItWaits(session, key, state), patienceMillis);
  try {
    for await (state of watchRun(api, key, { signal: interrupt.signal })) {
      const taskId = state.taskId?.id;
      if (taskId === undefined || flags.quiet || out.isJson || logs.has(taskId)) continue;
      // One that is tried again is another task with another log.
      const both = (['stdout', 'stderr'] as const).map((name) => print(session, taskId, name, ended.signal));
      logs.set(taskId, Promise.all(both));
    }
    ended.abort();
    await Promise.all(logs.values());
    return await end(session, key, endOfRun(key.runId, state!));
  } catch (cause) {
    if (!interrupt.signal.aborted) throw cause;
    return await detach(session, key, await api.track.run(key), flags);
  } finally {
    clearTimeout(word);
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}

async function print({ api, out }: Session, taskId: string, name: 'stdout' | 'stderr', ended: AbortSignal) {
  const { tailLog } = await import('muster-client');
  try {
    for await (const text of tailLog(api, { taskId, path: name, ended })) {
      out.log(text, { to: name });
    }
  } catch (cause) {
    // The task runs on, and how it ends is what was asked for.
    out.note(`What ${taskId} prints on ${name} cannot be read: ${(cause as Error).message}`);
  }
}

async function tellWhyItWaits({ api, out }: Session, { requestId }: Key, state: SchedulerTaskState | undefined) {
  if (!state?.pendingTaskId || state.taskId) return;
  const why = await api.tasks.explain({ pendingTaskId: state.pendingTaskId.id }).catch(() => undefined);
  if (why) out.note(`${requestId} waits: ${why.message}`);
}

async function end({ out }: Session, { requestId, runId }: Key, ended: EndedRun): Promise<number> {
  const { state, message = '', exitCode } = ended;
  const taskId = ended.taskId?.id;
  await out.answer({ requestId, runId, taskId, state, message, exitCode }, () => undefined);
  if (ended.succeeded) return exitCodes.done;
  // One that counts as failed although it ended with 0 is no success.
  if (state === 'TASK_FAILED' && exitCode) return exitCode;
  throw new CliError('badEnd', `${taskId ?? runId} ended as ${state}: ${message}`);
}

async function detach(
  { api, out }: Session,
  { requestId, runId }: Key,
  { taskId, pendingTaskId }: SchedulerTaskState,
  { killOnInterrupt }: Flags,
): Promise<number> {
  if (!killOnInterrupt) {
    const next = taskId ? `muster logs ${taskId.id} -f` : `muster history ${requestId} --run-id ${runId}`;
    out.note(`\n${requestId} runs on: ${next}`);
    return exitCodes.interrupted;
  }
  if (taskId) await api.tasks.kill({ taskId: taskId.id, body: { message: 'Ctrl-C' } });
  else if (pendingTaskId) await api.tasks.removeScheduled({ pendingTaskId: pendingTaskId.id });
  out.note(`\n${taskId?.id ?? requestId} is being killed`);
  return exitCodes.interrupted;
}
