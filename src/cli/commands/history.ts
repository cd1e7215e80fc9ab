import type { TaskIdHistory, TaskState } from 'muster-client';
import { CliError } from '../exit-codes.js';
import { stateCell } from '../output/output.js';
import { isMissing, isRefusal } from '../remote/refusal.js';
import { remote, type Session } from '../remote/session.js';
import { type Define, examples } from '../run.js';
import { knownWord, shownDuration, shownState, shownTime, timeMillis, wholeNumber } from '../words.js';

interface Flags {
  deploys?: boolean;
  changes?: boolean;
  deploy?: string;
  runId?: string;
  host?: string;
  state?: string;
  after?: string;
  before?: string;
  count?: string;
  page?: string;
}

/** Prints tasks, deploys or changes; or everything about one task. */
export function history(...[command, run]: Parameters<Define>): void {
  command
    .argument('[what]', 'id of a request or a task; default: all tasks')
    .option('--deploys', 'show the deploys of the request')
    .option('--changes', 'show the changes of the request, with their authors')
    .option('--deploy <id>', 'only tasks of this deploy')
    .option('--run-id <id>', 'only tasks of this run')
    .option('--host <host>', 'only tasks on this host')
    .option('--state <state>', 'only tasks in this state: finished, failed, killed, lost, ...')
    .option('--after <time>', 'only tasks started after this time: 2026-01-31T12:00:00Z, or 2h for two hours ago')
    .option('--before <time>', 'only tasks started before this time')
    .option('--count <number>', 'number of rows, newest first (20)')
    .option('--page <number>', 'page of so many rows (1)');
  examples(
    command,
    'muster history',
    'muster history web --deploys',
    'muster history web --changes',
    'muster history greet --state finished --after 1d --count 5',
    'muster history $(muster ps web -q | head -n 1)',
  );
  remote<Flags, [string?]>(command, run, async (session, flags, what) => {
    if ((flags.deploys || flags.changes) && what === undefined)
      throw new CliError('usage', '--deploys and --changes need a request: muster history <request> --deploys');
    const pages = {
      count: wholeNumber('--count', flags.count ?? '20', 1, 1_000),
      page: wholeNumber('--page', flags.page ?? '1', 1, 1_000_000),
    };
    if (flags.deploys) return deploys(session, what!, pages);
    if (flags.changes) return changes(session, what!, pages);
    if (what !== undefined && (await isTask(session.api, what))) return task(session, what);
    return tasks(session, what, flags, pages);
  });
}

/** requestId-deployId-startedAt-instanceNo-host-rackId; neither host nor rack has a hyphen. */
export const looksLikeTask = (id: string): boolean => /^.+-[^-]+-\d{12,15}-\d+-[^-]+-[^-]+$/.test(id);

/** A request may be called as a task could be: what is no task, and is a request, is meant as one. */
export const isTask = async (api: Session['api'], id: string): Promise<boolean> =>
  looksLikeTask(id) && ((await isThere(api.history.task({ taskId: id }))) || !(await isRequest(api, id)));

export const isRequest = (api: Session['api'], requestId: string): Promise<boolean> =>
  isThere(api.requests.simple({ requestId }));

const isThere = (answer: Promise<unknown>): Promise<boolean> =>
  answer.then(
    () => true,
    (cause: unknown) => {
      if (isRefusal(cause)) return false;
      throw cause;
    },
  );

interface Pages {
  count: number;
  page: number;
}

async function tasks({ api, out }: Session, requestId: string | undefined, flags: Flags, pages: Pages): Promise<void> {
  const state = await knownWord('--state', flags.state, 'TaskState');
  const query = {
    ...pages,
    ...(flags.deploy !== undefined && { deployId: flags.deploy }),
    ...(flags.runId !== undefined && { runId: flags.runId }),
    ...(flags.host !== undefined && { host: flags.host }),
    ...(state !== undefined && { lastTaskStatus: state as TaskState }),
    ...(flags.after !== undefined && { startedAfter: timeMillis('--after', flags.after) }),
    ...(flags.before !== undefined && { startedBefore: timeMillis('--before', flags.before) }),
  };
  const found = await api.history.tasks({ ...query, ...(requestId !== undefined && { requestId }) });
  if (requestId !== undefined) await refuseUnknown(api, requestId, found);
  await out.answer(found, async () => {
    const reasons = await reasonsOf(api, found.slice(0, mostReasons));
    return out.table(
      ['TASK', 'STATE', 'STARTED', 'DURATION', 'RUN', 'REASON'],
      found.map(({ taskId, lastTaskState, updatedAt, runId }) => [
        taskId.id,
        stateCell(shownState(lastTaskState)),
        shownTime(taskId.startedAt),
        shownDuration(updatedAt - taskId.startedAt),
        runId,
        reasons.get(taskId.id),
      ]),
    );
  });
}

/** Lists of tasks have no reasons: each is a call. */
const mostReasons = 50;
const callsAtOnce = 5;

/** Why tasks failed or were killed, with their exit codes, by the ids of the tasks. */
async function reasonsOf(api: Session['api'], tasks: readonly TaskIdHistory[]): Promise<Map<string, string>> {
  const reasons = new Map<string, string>();
  const left = tasks.filter(({ lastTaskState }) => lastTaskState !== 'TASK_FINISHED').map(({ taskId }) => taskId.id);
  const work = async (): Promise<void> => {
    for (let taskId = left.shift(); taskId !== undefined; taskId = left.shift()) {
      const found = await api.history.task({ taskId }).catch(() => undefined);
      const message = found?.taskUpdates.at(-1)?.statusMessage;
      if (message !== undefined) reasons.set(taskId, message);
    }
  };
  await Promise.all(Array.from({ length: callsAtOnce }, work));
  return reasons;
}

/**
 * Refuses a request that does not exist where nothing was found: it may be misspelt. Removed ones have a history still.
 */
async function refuseUnknown(api: Session['api'], requestId: string, found: readonly unknown[]): Promise<void> {
  if (found.length > 0) return;
  await api.requests.simple({ requestId }).catch(async (cause: unknown) => {
    if (!isMissing(cause) || (await api.history.changes({ requestId, count: 1 })).length === 0) throw cause;
  });
}

async function deploys({ api, out }: Session, requestId: string, pages: Pages): Promise<void> {
  const found = await api.history.deploys({ requestId, ...pages });
  await refuseUnknown(api, requestId, found);
  await out.answer(found, () =>
    out.table(
      ['DEPLOY', 'STATE', 'STARTED', 'DURATION', 'WHO', 'MESSAGE'],
      found.map(({ deployMarker: marker, deployResult: result }) => [
        marker.deployId,
        stateCell(result?.deployState ?? 'WAITING'),
        shownTime(marker.timestamp),
        result && shownDuration(result.timestamp - marker.timestamp),
        marker.user,
        result?.message ?? marker.message,
      ]),
    ),
  );
}

async function changes({ api, out }: Session, requestId: string, pages: Pages): Promise<void> {
  const found = await api.history.changes({ requestId, ...pages });
  await refuseUnknown(api, requestId, found);
  await out.answer(found, () =>
    out.table(
      ['WHEN', 'CHANGE', 'WHO', 'INSTANCES', 'MESSAGE'],
      found.map((each) => [
        shownTime(each.createdAt),
        each.eventType,
        each.user,
        each.request?.instances,
        each.message,
      ]),
    ),
  );
}

async function task({ api, out }: Session, taskId: string): Promise<void> {
  const found = await api.history.task({ taskId }).catch((cause: unknown) => {
    if (isMissing(cause)) throw new CliError('notFound', `No task with id '${taskId}'`);
    throw cause;
  });
  await out.answer(found, () => {
    out.table(
      ['WHEN', 'STATE', 'MESSAGE'],
      found.taskUpdates.map(({ timestamp, taskState, statusMessage }) => [
        shownTime(timestamp),
        stateCell(shownState(taskState)),
        statusMessage,
      ]),
    );
    if (found.programs)
      out.table(
        ['SINCE', 'PROGRAM', 'ROLE', 'STATE', 'STARTS', 'MESSAGE'],
        found.programs.map(({ timestamp, name, role, state, starts, message }) => [
          shownTime(timestamp),
          name,
          role,
          state,
          starts,
          message,
        ]),
      );
  });
}
