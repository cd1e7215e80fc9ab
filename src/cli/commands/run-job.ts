import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { RunNowRequest, SchedulerTaskState } from 'muster-client';
import { beyondTasks, CliError, exitCodes } from '../exit-codes.js';
import { remote, type Session } from '../remote/session.js';
import { FollowedFile } from '../remote/followed-file.js';
import { type Define, examples } from '../run.js';
import { timeMillis } from '../words.js';

export const runJob: Record<string, Define> = { run: define };

interface Flags {
  detach?: boolean;
  quiet?: boolean;
  killOnInterrupt?: boolean;
  runId?: string;
  message?: string;
  env?: string[];
  at?: string;
  json?: boolean;
}

function define(...[command, run]: Parameters<Define>): void {
  command
    .argument('<request>', 'a job: ON_DEMAND, or SCHEDULED to run it now')
    .argument('[arguments...]', 'after those of its deploy; write -- before the first that begins with -')
    .option('-d, --detach', 'do not wait: print the id of the run')
    .option('-q, --quiet', 'do not print what the task prints')
    .option('--kill-on-interrupt', 'Ctrl-C kills the task; unless given it runs on')
    .option('--run-id <id>', 'by which the run is found again')
    .option('--env <NAME=value...>', 'variables in place of, or beside, those of the deploy')
    .option('--at <time>', 'not now, such as 2026-01-31T12:00:00Z')
    .option('-m, --message <text>', 'why; kept in the history');
  command.addHelpText(
    'after',
    `\nExits with the exit code of the task. What goes wrong before there is one: the codes of docs/cli.md and ${beyondTasks},` +
      ` such as ${beyondTasks + exitCodes.notFound} for an unknown request.`,
  );
  examples(command, 'muster run greet Ada Grace', 'muster run greet --detach --run-id nightly-1 -- --loud Ada');
  remote<Flags, [string, string[]]>(command, run, async (session, flags, requestId, words) => {
    const runId = flags.runId ?? randomUUID();
    const body: RunNowRequest = {
      runId,
      ...(words.length > 0 && { commandLineArgs: words }),
      ...(flags.message !== undefined && { message: flags.message }),
      ...(flags.env && { envOverrides: variables(flags.env) }),
      ...(flags.at !== undefined && { runAt: timeMillis('--at', flags.at) }),
    };
    const answer = await session.api.requests.run({ requestId, minimal: true, body });
    if (flags.detach) return session.out.answer(answer, () => runId);
    return attend(session, { requestId, runId }, flags);
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

const firstLookMillis = 25;
const longestLookMillis = 500;
/** Until then a wait is not worth a word. */
const patienceMillis = 3_000;

/** Prints what the task prints until it has ended, and answers its exit code. */
async function attend(session: Session, key: { requestId: string; runId: string }, flags: Flags): Promise<number> {
  const { api, out } = session;
  const interrupt = new AbortController();
  const stop = (): void => {
    // The second one does not wait for anything.
    if (interrupt.signal.aborted) process.exit(exitCodes.interrupted);
    interrupt.abort();
  };
  process.on('SIGINT', stop).on('SIGTERM', stop);
  const showsLogs = !flags.quiet && !out.isJson;
  let files: FollowedFile[] = [];
  const begin = Date.now();
  let explained = false;
  try {
    for (let pause = firstLookMillis; ; pause = Math.min(pause * 1.3, longestLookMillis)) {
      const state = await api.track.run(key);
      const taskId = state.taskId?.id;
      if (interrupt.signal.aborted) return await detach(session, key, state, flags);
      if (taskId !== undefined && showsLogs) {
        if (files.length === 0) {
          files = [new FollowedFile(session, taskId, 'stdout'), new FollowedFile(session, taskId, 'stderr')];
        }
        for (const [index, file] of files.entries()) {
          for (const text of await file.more()) (index === 0 ? process.stdout : process.stderr).write(text);
        }
      }
      if (isOver(state)) {
        for (const [index, file] of files.entries()) {
          for (const text of await file.more()) (index === 0 ? process.stdout : process.stderr).write(text);
        }
        return await end(session, key, state);
      }
      if (taskId === undefined && state.pendingTaskId && !explained && Date.now() - begin > patienceMillis) {
        explained = true;
        const { message } = await api.tasks.explain({ pendingTaskId: state.pendingTaskId.id });
        out.note(`${key.requestId} waits: ${message}`);
      }
      await delay(pause, undefined, { signal: interrupt.signal }).catch(() => undefined);
    }
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}

const ends = new Set([
  'TASK_FINISHED',
  'TASK_FAILED',
  'TASK_KILLED',
  'TASK_LOST',
  'TASK_LOST_WHILE_DOWN',
  'TASK_ERROR',
]);
const isOver = ({ currentState }: SchedulerTaskState): boolean => currentState !== undefined && ends.has(currentState);

async function end(
  { out }: Session,
  { requestId, runId }: { requestId: string; runId: string },
  state: SchedulerTaskState,
): Promise<number> {
  const last = state.taskHistory.at(-1);
  const text = last?.statusMessage ?? '';
  const told = /^Exit code (\d+)/.exec(text)?.[1];
  const exitCode = told === undefined ? undefined : Number(told);
  await out.answer(
    { requestId, runId, taskId: state.taskId?.id, state: state.currentState, message: text, exitCode },
    () => undefined,
  );
  if (state.currentState === 'TASK_FINISHED') return exitCodes.done;
  // One that counts as failed although it ended with 0 is no success.
  if (state.currentState === 'TASK_FAILED' && exitCode) return exitCode;
  throw new CliError('badEnd', `${state.taskId?.id ?? runId} ended as ${state.currentState}: ${text}`);
}

async function detach(
  { api, out }: Session,
  { requestId, runId }: { requestId: string; runId: string },
  { taskId, pendingTaskId }: SchedulerTaskState,
  { killOnInterrupt }: Flags,
): Promise<number> {
  if (!killOnInterrupt) {
    const next = taskId ? `muster logs ${taskId.id} -f` : `muster history ${requestId} --run-id ${runId}`;
    out.note(`\n${requestId} runs on: ${next}`);
    return exitCodes.interrupted;
  }
  if (taskId) await api.tasks.kill({ taskId: taskId.id, body: { message: 'Ctrl-C' } });
  else if (pendingTaskId) await api.tasks.removeScheduled({ scheduledTaskId: pendingTaskId.id });
  out.note(`\n${taskId?.id ?? requestId} is being killed`);
  return exitCodes.interrupted;
}
